"""What a dedicated MM2 wrote of itself: the last word counts, and of a start only what came since."""

import json
from typing import Any, cast

from lab.dedicated import Dedicated
from lab.kafka import Cluster, Record
from lab.mm2_dedicated import Pair

FLOW = Pair(source="source", target="target", enabled=True, heartbeats=False)
KILLED_MS = 5_000


def record(key: str, value: dict[str, Any] | None, written_ms: int) -> Record:
    return Record(
        partition=0,
        offset=0,
        timestamp_ms=written_ms,
        key=key.encode(),
        value=None if value is None else json.dumps(value).encode(),
        headers=(),
    )


def state(key: str, state: str, written_ms: int) -> Record:
    return record(key, {"state": state, "worker_id": "w"}, written_ms)


def _key(cluster: str, topic: str, partition: int) -> str:
    place = {"cluster": cluster, "partition": partition, "topic": topic}
    return json.dumps(["MirrorSourceConnector", place])


class Topics:
    def __init__(self, *states: Record) -> None:
        config = {"properties": {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"}}
        self._topics = {
            FLOW.status_topic: list(states),
            FLOW.configs_topic: [record("connector-MirrorSourceConnector", config, 1)],
            FLOW.offsets_topic: [
                record(_key("source", "a", 0), {"offset": 7}, 1),
                record(_key("source", "a", 0), {"offset": 41}, 2),
                record(_key("source", "a", 1), {"offset": 3}, 2),
                record(_key("source", "a", 1), None, 3),
                record(_key("another", "a", 0), {"offset": 99}, 3),
                record("tasks-fencing", {"tasks": 1}, 3),
            ],
        }

    def snapshot(self, topic: str) -> list[Record]:
        return self._topics[topic]


def said(*states: Record, since_ms: int = 0) -> list[tuple[str, str, list[str]]]:
    dedicated = Dedicated([FLOW], lambda _: cast(Cluster, Topics(*states)))
    found = dedicated.statuses(since_ms=since_ms)
    return [(status.name, status.state, [task.state for task in status.tasks]) for status in found]


CONNECTOR, TASK = "status-connector-MirrorSourceConnector", "status-task-MirrorSourceConnector-0"
NAME = "source->target MirrorSourceConnector"
BEFORE = (state(CONNECTOR, "RUNNING", 1_000), state(TASK, "RUNNING", 2_000))


def test_the_last_word_counts() -> None:
    assert said(*BEFORE) == [(NAME, "RUNNING", ["RUNNING"])]
    assert said(*BEFORE, state(TASK, "FAILED", 3_000)) == [(NAME, "RUNNING", ["FAILED"])]
    assert said(*BEFORE, record(CONNECTOR, None, 3_000)) == []


def test_what_was_written_before_a_start_says_nothing_of_it() -> None:
    """A worker that was killed takes nothing back."""
    assert said(*BEFORE, since_ms=KILLED_MS) == []
    again = state(CONNECTOR, "RUNNING", KILLED_MS)
    assert said(*BEFORE, again, since_ms=KILLED_MS) == [(NAME, "RUNNING", [])]


def test_what_a_direction_committed_is_read_from_its_own_topic() -> None:
    dedicated = Dedicated([FLOW], lambda _: cast(Cluster, Topics()))

    assert dedicated.committed("source", "target") == {("a", 0): 42}
    assert dedicated.committed("target", "source") == {}
