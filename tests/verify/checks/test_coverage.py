"""A group at the head has a checkpoint."""

import pytest

from lab.verify.checks.coverage import CheckpointCoverage
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(CheckpointCoverage().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.NOT_APPLICABLE, "no consumer group has committed offsets of this topic"),
        (
            {"places": 2},
            Outcome.UNKNOWN,
            "0 of 2 group partitions have a checkpoint, and none stands at the head",
        ),
        ({"places": 2, "covered": 1}, Outcome.PASS, "1 of 2 group partitions have a checkpoint"),
        (
            {"places": 2, "covered": 1, "uncovered_at_head": 1},
            Outcome.FAIL,
            "1 of 2 group partitions have a checkpoint; 1 without one stand at the head and would "
            "start anew on the target (MM2 looks for new groups every "
            "refresh.groups.interval.seconds)",
        ),
    ],
)
def test_a_group_at_the_head_has_a_checkpoint(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert CheckpointCoverage().judge({**NONE, **counts}) == (outcome, told)


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert CheckpointCoverage(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE


def test_a_group_that_is_new_is_not_due() -> None:
    later = "will be judged after 12:11:10 UTC (refresh.groups.interval.seconds is 600)"
    check = CheckpointCoverage(later=later)

    assert check.judge({**NONE, "places": 2, "covered": 1, "not_due": 1}) == (
        Outcome.UNKNOWN,
        f"1 of 2 group partitions have a checkpoint; 1 without one at the head: {later}",
    )


def test_a_checkpoint_that_stays_behind_its_group_is_wrong() -> None:
    assert CheckpointCoverage().judge({**NONE, "places": 2, "covered": 2, "stale": 1}) == (
        Outcome.FAIL,
        "2 of 2 group partitions have a checkpoint; 1 of groups behind the head have moved on for longer "
        "than MM2's interval, and their checkpoints have not",
    )
