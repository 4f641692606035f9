"""Only groups at the head are promised a bound."""

import pytest

from lab.verify.checks.tightness import TightTranslation
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(TightTranslation().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.NOT_APPLICABLE, "no group with a checkpoint stands at the head"),
        (
            {"behind": 2, "most_behind": 500},
            Outcome.NOT_APPLICABLE,
            "no group with a checkpoint stands at the head; 2 behind it would re-read up to 500",
        ),
        (
            {"at_head": 1, "most_at_head": 99},
            Outcome.PASS,
            "1 group partitions at the head would re-read up to 99 records",
        ),
        (
            {"at_head": 2, "loose": 1, "most_at_head": 100, "behind": 1, "most_behind": 3},
            Outcome.FAIL,
            "1 of 2 group partitions at the head would re-read 100 records, offset.lag.max is "
            "100; 1 behind it would re-read up to 3",
        ),
    ],
)
def test_only_at_the_head_is_a_bound_promised(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert TightTranslation().judge({**NONE, **counts}) == (outcome, told)


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert TightTranslation(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE


def test_a_group_that_has_just_committed_is_not_due() -> None:
    later = "will be judged after 12:01:10 UTC (emit.checkpoints.interval.seconds is 60)"
    check = TightTranslation(later=later)
    counts = {**NONE, "at_head": 2, "not_due": 1, "most_at_head": 999}

    assert check.judge(counts) == (
        Outcome.UNKNOWN,
        "1 of 2 group partitions at the head would re-read up to 999 records, and committed too lately for "
        f"newer checkpoints: {later}",
    )
    assert check.judge({**counts, "loose": 1})[0] is Outcome.FAIL
