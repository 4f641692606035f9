"""What is missing is told apart by where it was lost."""

import pytest

from lab.verify.checks import NoLoss
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(NoLoss().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "0 records were owed, at least 1 are needed to judge"),
        ({"owed": 9}, Outcome.PASS, "all 9 records arrived"),
        (
            {"owed": 9, "gone_from_both": 2},
            Outcome.UNKNOWN,
            "2 of 9 records were deleted from both topics before the check",
        ),
        (
            {"owed": 9, "lost": 3, "not_mirrored": 3, "tail": 1},
            Outcome.FAIL,
            "3 of 9 records are missing: 3 are in the source but were not mirrored; 2 in holes, 1 at the end",
        ),
        (
            {
                "owed": 9,
                "lost": 4,
                "never_in_source": 1,
                "gone_from_source": 2,
                "not_mirrored": 1,
                "gone_from_target": 2,
            },
            Outcome.FAIL,
            "4 of 9 records are missing: 1 never reached the source topic, 2 were "
            "deleted from the source before they were mirrored, 1 are in the source"
            " but were not mirrored; 4 in holes, 0 at the end",
        ),
        (
            {"owed": 9, "gone_from_target": 2},
            Outcome.UNKNOWN,
            "2 of 9 records are older than all that the target still has, and it has "
            "deleted its beginning: whether they were ever there cannot be known",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert NoLoss().judge(NONE | counts) == (outcome, told)


def test_fewer_records_than_asked_for_prove_nothing() -> None:
    assert NoLoss(minimum=10).judge(NONE | {"owed": 9}) == (
        Outcome.UNKNOWN,
        "9 records were owed, at least 10 are needed to judge",
    )
