"""Any copy too many fails, unless so many are allowed."""

import pytest

from lab.verify.checks import Duplicates
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(Duplicates().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record of the source is on the target"),
        ({"mirrored": 9}, Outcome.PASS, "no record is duplicated on the target (9 checked)"),
        (
            {"mirrored": 9, "duplicated": 2, "extra": 3, "most": 3},
            Outcome.FAIL,
            "2 of 9 records are duplicated on the target, 3 copies too many, up to 3 of one",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert Duplicates().judge(NONE | counts) == (outcome, told)


@pytest.mark.parametrize(
    ("fraction", "outcome"), [(0.1, Outcome.FAIL), (0.3, Outcome.PASS), (1.0, Outcome.PASS)]
)
def test_a_share_of_duplicates_may_be_allowed(fraction: float, outcome: Outcome) -> None:
    counts = {"mirrored": 10, "duplicated": 2, "extra": 3, "most": 3}

    assert Duplicates(allowed_fraction=fraction).judge(counts)[0] is outcome


def test_where_any_number_is_allowed_every_record_may_be_there_three_times() -> None:
    counts = {"mirrored": 10, "duplicated": 10, "extra": 20, "most": 3}

    assert Duplicates(allowed_fraction=1.0).judge(counts)[0] is Outcome.PASS
