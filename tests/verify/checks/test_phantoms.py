"""Aborted records are phantoms only where MM2 is to read committed."""

import pytest

from lab.verify.checks import NoPhantoms
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(NoPhantoms().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "the target has no record that could be judged"),
        ({"on_target": 3, "unjudged": 3}, Outcome.UNKNOWN, "the target has no record that could be judged"),
        ({"on_target": 9}, Outcome.PASS, "all 9 records on the target came from the source"),
        (
            {"on_target": 9, "unjudged": 2, "aborted": 1},
            Outcome.PASS,
            "all 7 records on the target came from the source; 1 records of aborted "
            "transactions among them; 2 are from before what the source still has",
        ),
        ({"on_target": 9, "foreign": 1}, Outcome.FAIL, "1 records the source never had"),
        (
            {"on_target": 9, "foreign": 1, "returned": 2},
            Outcome.FAIL,
            "1 records the source never had; 2 records stand in the source more "
            "often than they were sent, as a mirror in a circle does it",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert NoPhantoms().judge(NONE | counts) == (outcome, told)


def test_a_mirror_that_reads_committed_has_no_aborted_record() -> None:
    counts = NONE | {"on_target": 9, "aborted": 2}

    assert NoPhantoms(read_committed=True).judge(counts) == (
        Outcome.FAIL,
        "2 records of aborted transactions were mirrored",
    )
