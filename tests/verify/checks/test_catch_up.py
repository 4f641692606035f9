"""The end of each partition has arrived, or it is named."""

import pytest

from lab.verify.checks import CaughtUp
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(CaughtUp().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record was owed"),
        ({"owed": 5}, Outcome.PASS, "the target has the last record of every partition"),
        (
            {"owed": 5, "gone_from_target": 2},
            Outcome.UNKNOWN,
            "the target has deleted all that it had of a partition; 2 records may be among it",
        ),
        (
            {"owed": 5, "behind": 2, "partitions_behind": 1},
            Outcome.FAIL,
            "the last 2 records of 1 partition(s) are not on the target",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert CaughtUp().judge(NONE | counts) == (outcome, told)
