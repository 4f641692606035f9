"""Several verdicts together are as bad as the worst of them."""

import pytest

from lab.verify.verdict import Outcome, worst

PASS, UNKNOWN, FAIL, NOT_APPLICABLE = Outcome


@pytest.mark.parametrize(
    ("outcomes", "together"),
    [
        ([], UNKNOWN),
        ([NOT_APPLICABLE], UNKNOWN),
        ([PASS], PASS),
        ([PASS, NOT_APPLICABLE], PASS),
        ([PASS, UNKNOWN], UNKNOWN),
        ([UNKNOWN, NOT_APPLICABLE], UNKNOWN),
        ([FAIL, UNKNOWN, PASS], FAIL),
        ([FAIL, NOT_APPLICABLE], FAIL),
    ],
)
def test_the_worst_counts_and_what_does_not_apply_is_left_out(
    outcomes: list[Outcome], together: Outcome
) -> None:
    assert worst(outcomes) is together
    assert worst(reversed(outcomes)) is together


@pytest.mark.parametrize(("outcome", "code"), [(PASS, 0), (FAIL, 1), (UNKNOWN, 3), (NOT_APPLICABLE, 3)])
def test_only_pass_is_success(outcome: Outcome, code: int) -> None:
    assert outcome.exit_code == code
