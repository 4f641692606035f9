"""What two offset syncs say of the records between them that the source has deleted."""

import pytest

from lab.verify.checks.skipped import NothingSkipped
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(NothingSkipped().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.NOT_APPLICABLE, "no two offset syncs span anything that the source has deleted"),
        (
            {"judged": 3},
            Outcome.PASS,
            "between 3 pairs of offset syncs over what the source has deleted since, no record was skipped",
        ),
        (
            {"judged": 3, "gaps": 1, "records": 5},
            Outcome.FAIL,
            "MM2 went on later than it had stopped: 5 records in 1 gaps between its offset syncs were not "
            "mirrored, and the source has deleted them",
        ),
        (
            {"judged": 3, "gaps": 1, "records": 5, "in_ledger": 4},
            Outcome.FAIL,
            "MM2 went on later than it had stopped: 5 records in 1 gaps between its offset syncs were not "
            "mirrored, and the source has deleted them; a ledger knows 4 of them, which loss names too",
        ),
        (
            {"judged": 3, "unclear": 2},
            Outcome.NOT_APPLICABLE,
            "of what the source has deleted since, 2 offsets that did not arrive may be markers, or "
            "compacted away",
        ),
    ],
)
def test_a_gap_between_syncs_is_records_unless_something_else_takes_offsets(
    counts: dict[str, int], outcome: Outcome, told: str
) -> None:
    assert NothingSkipped().judge({**NONE, **counts}) == (outcome, told)


def test_where_the_target_holds_more_than_mirrored_records_no_gap_proves_nothing() -> None:
    check = NothingSkipped(counts_records=False)

    assert check.judge({**NONE, "judged": 3})[0] is Outcome.NOT_APPLICABLE
    assert check.judge({**NONE, "judged": 3, "gaps": 1, "records": 5})[0] is Outcome.FAIL, "markers only hide"


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert NothingSkipped(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE
