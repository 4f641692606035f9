"""Disorder fails; replays, equal records and compacted first copies are counted."""

import pytest

from lab.verify.checks import OrderKept
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(OrderKept().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record that can be told from others is on the target"),
        ({"equal": 3}, Outcome.UNKNOWN, "no record that can be told from others is on the target"),
        ({"compared": 9}, Outcome.PASS, "9 records are in the order of the source"),
        (
            {"compared": 9, "replayed": 2, "equal": 1, "late": 3},
            Outcome.PASS,
            "6 records are in the order of the source; 2 were repeated later; 1 "
            "kinds of equal records have no order; 3 are late, as copies whose "
            "first was compacted away",
        ),
        (
            {"compared": 9, "inverted": 1},
            Outcome.FAIL,
            "1 of 9 records stand after a later one of the source",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert OrderKept().judge(NONE | counts) == (outcome, told)
