"""MM2 adds what it must and nothing else; what else is there is somebody else's."""

import pytest

from lab.verify.checks.acls import SameAcls
from lab.verify.verdict import Outcome

NONE = dict.fromkeys(SameAcls().counts(), 0)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.NOT_APPLICABLE, "the source has no ACL that MM2 would copy"),
        (
            {"others": 2},
            Outcome.NOT_APPLICABLE,
            "the source has no ACL that MM2 would copy; the target has 2 more of its own",
        ),
        ({"expected": 3}, Outcome.PASS, "all 3 ACLs that MM2 copies are there"),
        (
            {"expected": 3, "missing": 1},
            Outcome.FAIL,
            "of 3 ACLs that MM2 copies 1 are missing, and 0 were added since the last verdict that it "
            "must not copy",
        ),
        (
            {"expected": 3, "added": 1, "others": 1},
            Outcome.FAIL,
            "of 3 ACLs that MM2 copies 0 are missing, and 1 were added since the last verdict that it "
            "must not copy; the "
            "target has 1 more of its own",
        ),
    ],
)
def test_acls_are_those_that_mm2_copies(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert SameAcls().judge({**NONE, **counts}) == (outcome, told)


def test_the_question_does_not_arise_when_nothing_was_asked_of_mm2() -> None:
    assert SameAcls(applies=False).judge(NONE)[0] is Outcome.NOT_APPLICABLE


def test_an_acl_that_is_new_is_not_due() -> None:
    later = "will be judged after 12:10:10 UTC (sync.topic.acls.interval.seconds is 600)"
    check = SameAcls(later=later)

    assert check.judge({**NONE, "expected": 3, "not_due": 1}) == (
        Outcome.UNKNOWN,
        f"1 of 3 ACLs that MM2 copies are not on the target, since when is not known: {later}",
    )
    assert check.judge({**NONE, "expected": 3, "not_due": 1, "added": 1})[0] is Outcome.FAIL
