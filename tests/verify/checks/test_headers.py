"""Base64 is recognised, since Connect's default converter makes it."""

import pytest

from lab.verify.checks import HeadersKept
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(HeadersKept().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record is in both topics"),
        ({"compared": 9}, Outcome.PASS, "9 records have the headers that they had"),
        ({"compared": 9, "changed": 2}, Outcome.FAIL, "2 of 9 records have other headers"),
        (
            {"compared": 9, "changed": 2, "base64": 2},
            Outcome.FAIL,
            "2 of 9 records have other headers; 2 are in base64, as by SimpleHeaderConverter",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert HeadersKept().judge(NONE | counts) == (outcome, told)
