"""Equal, or stamped by the target's brokers and no earlier."""

import pytest

from lab.verify.checks import TimestampKept
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(TimestampKept().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record is in both topics"),
        ({"compared": 9}, Outcome.PASS, "9 records have the timestamp that they had"),
        (
            {"compared": 9, "by_broker": 9},
            Outcome.PASS,
            "0 records have the timestamp that they had; 9 are stamped by the target, no earlier",
        ),
        ({"compared": 9, "changed": 1}, Outcome.FAIL, "1 of 9 records have another timestamp"),
        (
            {"compared": 9, "by_broker": 9, "earlier": 4},
            Outcome.FAIL,
            "the target stamped 4 of 9 records too early",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert TimestampKept().judge(NONE | counts) == (outcome, told)
