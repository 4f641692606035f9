"""Compared where both sides have it, recomputed where only the target has it."""

import pytest

from lab.verify.checks import PayloadIntact
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(PayloadIntact().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record of the target could be compared"),
        ({"compared": 9}, Outcome.PASS, "9 records have the key and value that they had"),
        (
            {"compared": 9, "recomputed": 2},
            Outcome.PASS,
            "11 records have the key and value that they had; 2 of them are gone from the source",
        ),
        (
            {"recomputed": 2},
            Outcome.PASS,
            "2 records have the key and value that they had; 2 of them are gone from the source",
        ),
        ({"compared": 9, "changed": 1}, Outcome.FAIL, "1 of 9 records have another key or value"),
        (
            {"compared": 9, "changed": 3, "null_or_not": 2},
            Outcome.FAIL,
            "3 of 9 records have another key or value; for 2 of them one side has no value at all",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert PayloadIntact().judge(NONE | counts) == (outcome, told)
