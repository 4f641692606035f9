"""Holes between offsets are explained, or nothing is judged on firm ground."""

import pytest

from lab.verify.checks import AllRead
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(AllRead().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "nothing was read"),
        ({"partitions": 2}, Outcome.UNKNOWN, "nothing was read"),
        (
            {"partitions": 2, "source_rows": 9, "target_rows": 9},
            Outcome.PASS,
            "9 and 9 records were read, as expected",
        ),
        (
            {"partitions": 2, "source_rows": 9, "target_rows": 14, "of_other_sources": 5},
            Outcome.PASS,
            "9 and 14 records were read, as expected; 5 of them are of other sources",
        ),
        (
            {"partitions": 2, "source_rows": 9, "target_rows": 8, "target_unread": 1},
            Outcome.UNKNOWN,
            "1 records too few of the target were read, and nothing explains it",
        ),
        (
            {"partitions": 2, "source_rows": 11, "source_unread": -2, "target_rows": 8, "target_unread": 1},
            Outcome.UNKNOWN,
            "2 records too many of the source and 1 records too few of the target "
            "were read, and nothing explains it",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert AllRead().judge(NONE | counts) == (outcome, told)
