"""A record in another partition is named."""

import pytest

from lab.verify.checks import PartitionKept
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(PartitionKept().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "the partition of no record is known on both sides"),
        ({"compared": 9}, Outcome.PASS, "9 records stand in the partition that they had"),
        ({"compared": 9, "moved": 1}, Outcome.FAIL, "1 of 9 records stand in another partition"),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert PartitionKept().judge(NONE | counts) == (outcome, told)
