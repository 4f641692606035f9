"""Without a ledger there is nothing to ask, with an empty one too little."""

import pytest

from lab.verify.checks import LedgerHolds
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(LedgerHolds().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "the ledger has no acked record"),
        (
            {"without_ledger": 4},
            Outcome.NOT_APPLICABLE,
            "the topic has no ledger: what was sent is not known",
        ),
        ({"acked": 9}, Outcome.PASS, "9 acked records are in the source as they were sent"),
        (
            {"acked": 9, "deleted_since": 4},
            Outcome.PASS,
            "5 acked records are in the source as they were sent",
        ),
        (
            {"acked": 9, "deleted_since": 9},
            Outcome.UNKNOWN,
            "all acked records were deleted from the source before the check",
        ),
        ({"acked": 9, "missing": 1}, Outcome.FAIL, "of 9 acked records: 1 are not in the source"),
        (
            {"acked": 9, "moved": 1, "damaged": 2, "refused": 3, "unlisted": 4},
            Outcome.FAIL,
            "of 9 acked records: 1 are not where they were acked, 2 have another "
            "payload than was sent, 3 are there though they were refused, 4 are not"
            " in the ledger though it names all that were sent",
        ),
    ],
)
def test_what_counts_mean(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert LedgerHolds().judge(NONE | counts) == (outcome, told)
