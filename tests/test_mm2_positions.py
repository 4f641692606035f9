"""Positions are read as the worker writes them: it stores the last offset that was read, we show the next."""

from typing import Any

from lab.mm2_positions import Position, assigned, committed, positions


def entry(topic: str, partition: int, offset: object) -> dict[str, Any]:
    return {"partition": {"cluster": "us", "topic": topic, "partition": partition}, "offset": offset}


def test_the_next_offset_is_shown_and_what_other_connectors_keep_is_none() -> None:
    checkpoints = {"partition": {"group": "g", "topic": "a", "partition": 0}, "offset": {"offset": 0}}
    heartbeats = {"partition": {"sourceClusterAlias": "us"}, "offset": {"offset": 0}}

    entries = [entry("a", 0, {"offset": 41}), entry("a", 1, None), checkpoints, heartbeats]
    assert committed(entries) == {("a", 0): 42, ("a", 1): None}


def test_positions_under_an_earlier_alias_of_the_source_are_left_out() -> None:
    entries = [entry("a", 0, {"offset": 41}), entry("a", 1, {"offset": 7})]
    entries[1]["partition"] = {"cluster": "old-us", "topic": "a", "partition": 0}

    assert committed(entries, source_alias="us") == {("a", 0): 42}
    assert committed(entries[::-1], source_alias="old-us") == {("a", 0): 8}


def test_tasks_say_which_partitions_they_mirror() -> None:
    configs = [
        {"task.assigned.partitions": "a-0,b-c-12"},
        {"task.assigned.partitions": "a-1"},
        {"task.assigned.partitions": ""},
        {},
    ]

    assert list(assigned(configs)) == [("a", 0), ("b-c", 12), ("a", 1)]


def test_positions_stand_beside_the_sources_ends() -> None:
    found = positions({("a", 0): 42, ("gone", 0): 7}, [("a", 1), ("a", 0)], {("a", 0): 50, ("a", 1): 3})

    assert found == [
        Position(topic="a", partition=0, committed=42, end=50),
        Position(topic="a", partition=1, committed=None, end=3),
        Position(topic="gone", partition=0, committed=7, end=None),
    ]
    assert [position.behind for position in found] == [8, None, None]
