"""A failover by checkpoints skips nothing, or says what."""

import pytest

from lab.verify.checks.translation import SafeTranslation
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(SafeTranslation().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.NOT_APPLICABLE, "no consumer group has committed offsets of this topic"),
        ({"places": 2}, Outcome.UNKNOWN, "none of 2 group partitions has a checkpoint"),
        ({"places": 2, "checkpoints": 1}, Outcome.PASS, "going on at any of 1 checkpoints skips no record"),
        (
            {"places": 2, "checkpoints": 2, "unsafe": 1, "skipped": 7},
            Outcome.FAIL,
            "of 2 checkpoints 1 would skip records, 7 in all, and 0 point beyond the target's end",
        ),
        (
            {"places": 2, "checkpoints": 2, "beyond_the_end": 1},
            Outcome.FAIL,
            "of 2 checkpoints 0 would skip records, 0 in all, and 1 point beyond the target's end",
        ),
    ],
)
def test_a_checkpoint_skips_nothing(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert SafeTranslation().judge({**NONE, **counts}) == (outcome, told)


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert SafeTranslation(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE
