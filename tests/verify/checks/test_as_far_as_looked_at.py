"""What a verdict says where so many blocks differ that only the first were looked at."""

from lab.verify.checks.check import as_far_as_looked_at
from lab.verify.verdict import Outcome, Verdict

NONE = {"details": 0, "content": 0}
PASS = Verdict(check="loss", outcome=Outcome.PASS, meaning="all 90 records arrived", counts={"owed": 90})
FAIL = Verdict(check="headers", outcome=Outcome.FAIL, meaning="3 of 90 records have other headers")


def test_where_all_was_looked_at_the_verdict_stays() -> None:
    assert as_far_as_looked_at(PASS, NONE) is PASS
    assert as_far_as_looked_at(FAIL, NONE) is FAIL
    assert as_far_as_looked_at(PASS, {}) is PASS


def test_where_contents_are_not_known_nothing_passes() -> None:
    found = as_far_as_looked_at(PASS, {"details": 40, "content": 40})

    assert found.outcome is Outcome.UNKNOWN
    assert found.meaning.startswith("40 records stand in blocks that differ, and were not looked at")
    assert found.counts == {"owed": 90, "not_looked_at": 40}


def test_where_only_headers_are_not_known_contents_pass() -> None:
    assert as_far_as_looked_at(PASS, {"details": 40, "content": 0}) is PASS


def test_what_was_found_is_a_lower_bound() -> None:
    found = as_far_as_looked_at(FAIL, {"details": 40, "content": 0})

    assert found.outcome is Outcome.FAIL
    assert found.meaning == "at least 3 of 90 records have other headers"
    assert found.counts["not_looked_at"] == 40
