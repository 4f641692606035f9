"""What is looked at record by record: blocks that differ, or all where one distance explains nothing."""

from typing import Any

import pytest

from lab.verify.evidence.closer import look_closer
from lab.verify.evidence.digests import BEYOND, BOTH, HEAD, OLDER, TAIL

SIZE = 10


def block(number: int, **changes: Any) -> dict[str, Any]:
    """A block of one partition that is the same on both sides, but for the changes."""
    first, last = number * SIZE, (number + 1) * SIZE - 1
    row: dict[str, Any] = {
        "case": 0,
        "partition": 0,
        "zone": BOTH,
        "late": False,
        "block": number,
        "s_n": SIZE,
        "t_n": SIZE,
        "s_first": first,
        "s_last": last,
        "t_first": first,
        "t_last": last,
        "distance": 0,
        "s_from": first,
        "t_until": last,
        "stamped": 0,
        "unlabelled": 0,
        "labelled": SIZE,
        "low": 0,
        "high": 3 * SIZE,
        "same_content": True,
        "same_headers": True,
        "same_timestamp": True,
        "same_label": True,
        "ledger": True,
        "compacted": False,
    }
    return row | changes


def three(**changes: Any) -> list[dict[str, Any]]:
    """Three blocks, of which the second is changed."""
    return [block(0), block(1, **changes), block(2)]


def test_where_all_is_the_same_nothing_is_looked_at() -> None:
    found = look_closer(three(), together=False)

    assert found.nothing
    assert not found.unlabelled


@pytest.mark.parametrize("what", ["content", "headers", "timestamp"])
def test_a_block_that_differs_is_looked_at_and_no_other(what: str) -> None:
    found = look_closer(three(**{f"same_{what}": False}), together=False)

    assert not found.whole
    assert found.blocks == {(0, 0, BOTH, False, 1)}
    assert found.ranges == {"s": {0: (10, 20)}, "t": {0: (10, 20)}}
    assert found.records == 2 * SIZE


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"t_n": SIZE - 1}, "records are missing or repeated"),
        ({"zone": BEYOND}, "the target has more records than the source"),
        ({"stamped": 1}, "the target stamps records itself"),
        ({"same_label": False}, "the source does not hold what the ledger says"),
        ({"s_n": SIZE - 1, "t_n": SIZE - 1}, "there are offsets without records"),
    ],
)
def test_what_one_distance_does_not_explain_is_looked_at_as_a_whole(
    changes: dict[str, Any], reason: str
) -> None:
    assert look_closer(three(), together=False).nothing

    assert look_closer(three(**changes), together=False).whole == {0: reason}


def test_a_compacted_topic_and_one_of_several_sources_are_looked_at_as_a_whole() -> None:
    compacted = [block(number, compacted=True) for number in range(3)]

    assert look_closer(compacted, together=False).whole == {0: "the topic is compacted"}
    assert look_closer(three(), together=True).whole == {0: "several sources go into the target topic"}


def test_one_case_changes_nothing_for_another() -> None:
    other = [row | {"case": 1} for row in three(t_n=0)]

    found = look_closer([*three(same_content=False), *other], together=False)

    assert list(found.whole) == [1]
    assert found.blocks == {(0, 0, BOTH, False, 1)}


def test_records_that_the_target_does_not_have_are_named() -> None:
    rows = [block(0, high=SIZE), block(1, zone=TAIL, t_n=0, high=SIZE), block(2, zone=HEAD, t_n=0, high=SIZE)]

    assert look_closer(rows, together=False).blocks == {(0, 0, TAIL, False, 1), (0, 0, HEAD, False, 2)}


def test_records_that_came_too_late_to_be_owed_are_not() -> None:
    rows = [block(0, high=SIZE), block(1, zone=TAIL, late=True, t_n=0, high=SIZE)]

    assert look_closer(rows, together=False).nothing


def test_older_records_are_looked_at_where_a_ledger_names_them() -> None:
    rows = [block(0, zone=OLDER, s_n=0, low=SIZE), block(1, low=SIZE), block(2, low=SIZE)]
    without = [row | {"ledger": False, "labelled": 0} for row in rows]
    rows, without = ([row | {"high": 3 * SIZE} for row in side] for side in (rows, without))

    assert look_closer(rows, together=False).blocks == {(0, 0, OLDER, False, 0)}
    assert look_closer(without, together=False).nothing


def test_more_old_records_than_the_source_has_deleted_are_looked_at_as_a_whole() -> None:
    rows = [
        block(0, zone=OLDER, s_n=0, t_first=3, low=SIZE, distance=-4),
        block(1, low=SIZE),
        block(2, low=SIZE),
    ]

    assert list(look_closer(rows, together=False).whole) == [0]


def test_older_records_with_the_times_of_what_is_still_there_may_be_copies() -> None:
    rows = [block(0, zone=OLDER, s_n=0, low=SIZE, t_until=SIZE), block(1, low=SIZE), block(2, low=SIZE)]
    rows = [row | {"ledger": False, "labelled": 0} for row in rows]

    assert look_closer([rows[0] | {"t_until": SIZE - 1}, *rows[1:]], together=False).nothing
    assert list(look_closer(rows, together=False).whole) == [0]


def test_of_many_blocks_the_first_are_looked_at() -> None:
    rows = [block(number, same_headers=False) for number in range(3)]

    found = look_closer(rows, together=False, limit=2 * SIZE)

    assert found.blocks == {(0, 0, BOTH, False, 0), (0, 0, BOTH, False, 1)}


def test_records_without_an_id_are_known_of() -> None:
    assert look_closer(three(same_content=False, unlabelled=1), together=False).unlabelled
    assert not look_closer(
        [block(0, unlabelled=1), *three(same_content=False)[1:]], together=False
    ).unlabelled
