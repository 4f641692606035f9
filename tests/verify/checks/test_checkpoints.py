"""Checkpoints go back only with their group."""

import pytest

from lab.verify.checks.checkpoints import MonotonicCheckpoints
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(MonotonicCheckpoints().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "there is no checkpoint of this topic"),
        ({"checkpoints": 1}, Outcome.PASS, "none of 1 checkpoints goes back"),
        (
            {"checkpoints": 4, "followed": 3, "rewinds": 1},
            Outcome.PASS,
            "none of 4 checkpoints goes back, 1 after a rewind of the group",
        ),
        (
            {"checkpoints": 4, "followed": 3, "backwards": 2},
            Outcome.FAIL,
            "2 of 4 checkpoints go back although their groups did not",
        ),
    ],
)
def test_checkpoints_go_back_only_with_their_group(
    counts: dict[str, int], outcome: Outcome, told: str
) -> None:
    assert MonotonicCheckpoints().judge({**NONE, **counts}) == (outcome, told)


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert MonotonicCheckpoints(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE


def test_without_groups_there_is_nothing_to_write_checkpoints_of() -> None:
    alone = MonotonicCheckpoints(has_groups=False)

    assert alone.judge(NONE)[0] is Outcome.NOT_APPLICABLE
    assert alone.judge(NONE | {"checkpoints": 1})[0] is Outcome.PASS
