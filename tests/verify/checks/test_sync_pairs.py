"""A pair is judged when both its records are still there."""

import pytest

from lab.verify.checks.sync_pairs import TrueSyncPairs
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(TrueSyncPairs().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "of 0 offset syncs none has both its records any more"),
        ({"pairs": 3}, Outcome.UNKNOWN, "of 3 offset syncs none has both its records any more"),
        ({"pairs": 3, "judged": 2}, Outcome.PASS, "2 of 3 offset syncs judged: each is one record"),
        (
            {"pairs": 5, "judged": 2, "outdated": 2},
            Outcome.PASS,
            "2 of 5 offset syncs judged: each is one record; 2 are of no use any more, since MM2 went back",
        ),
        (
            {"pairs": 3, "judged": 2, "different": 1},
            Outcome.FAIL,
            "of 2 offset syncs 1 name two different records and 0 point beyond the target's end: "
            "translated offsets are wrong",
        ),
        (
            {"pairs": 3, "judged": 1, "beyond_the_end": 1},
            Outcome.FAIL,
            "of 1 offset syncs 0 name two different records and 1 point beyond the target's end: "
            "translated offsets are wrong",
        ),
    ],
)
def test_a_pair_is_one_record(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert TrueSyncPairs().judge({**NONE, **counts}) == (outcome, told)


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert TrueSyncPairs(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE
