"""Wrong verdicts are told by family, and a failing history is made small."""

from collections.abc import Sequence

from scenarios.verifier.truth.judge import Label, judge
from scenarios.verifier.truth.logs import Copy, Knobs, Truth
from scenarios.verifier.truth.mirror import history
from scenarios.verifier.truth.report import Case, Wrong, dump, families, report_of, wrong
from scenarios.verifier.truth.shrink import shrunk, smaller


def case(truth: Truth, verdict: str) -> Case:
    checks = {"loss": (verdict, "a sentence"), "order": ("PASS", "another")}
    judgement = judge(truth, ledger=False)
    return Case(truth=truth, ledger=False, judgement=judgement, verdict=verdict, checks=checks)


def plain(seed: int = 5, partitions: int = 2) -> Truth:
    return history(seed, lambda _: Knobs(partitions=partitions, records=6, values=1_000))


def without_first() -> Truth:
    truth = plain()
    del truth.target[0].copies[0]
    return truth


def test_only_a_wrong_verdict_is_wrong() -> None:
    clean, faulty = plain(), without_first()

    assert judge(clean, ledger=False).label is Label.CLEAN
    assert judge(faulty, ledger=False).label is Label.FAULTY
    assert [wrong(case(clean, v)) for v in ("PASS", "FAIL")] == [None, Wrong.FAILED]
    assert [wrong(case(faulty, v)) for v in ("PASS", "FAIL")] == [Wrong.PASSED, None]
    assert wrong(case(clean, "UNKNOWN")) is wrong(case(faulty, "UNKNOWN")) is Wrong.NEEDLESS_UNKNOWN


def test_unknown_is_right_where_the_target_has_deleted_what_is_missing() -> None:
    truth = plain()
    truth.target[0].start = 2

    assert judge(truth, ledger=False).label is Label.CLEAN
    assert wrong(case(truth, "UNKNOWN")) is None
    assert wrong(case(truth, "FAIL")) is Wrong.FAILED


def test_families_name_what_is_wrong_and_what_said_so() -> None:
    cases = [
        case(plain(), "FAIL"),
        case(plain(6), "FAIL"),
        case(without_first(), "PASS"),
        case(plain(), "PASS"),
    ]

    found = {name: len(family) for name, family in families(cases).items()}

    assert found == {
        ("FAIL on a clean history", "loss", "no ledger"): 2,
        ("PASS on a faulty history", "loss", "no ledger"): 1,
    }
    assert report_of(cases, cases[:3]).startswith("3 of 4 verdicts are wrong")


def test_a_dump_shows_both_logs_and_how_to_reproduce_it() -> None:
    shown = dump(case(without_first(), "PASS"))

    assert "--seed 5 (without a ledger)" in shown
    assert "truth faulty: {'loss': 1}" in shown
    assert shown.count("='") == sum(len(s.slots) for s in plain().source.values()) * 2 - 1


def test_a_failing_history_shrinks_to_what_makes_it_fail() -> None:
    truth = plain(partitions=3)
    foreign = Copy(content=plain(7).target[0].copies[0].content)
    truth.target[1].copies.insert(2, foreign)

    def failing(some: Sequence[Truth]) -> Sequence[bool]:
        return [any(c.origin is None for t in truth.target.values() for c in t.copies) for truth in some]

    small = shrunk(truth, failing)

    assert [target.copies for target in small.target.values()] == [[foreign]]
    assert [source.slots for source in small.source.values()] == [[]]


def test_what_is_left_of_a_clean_history_is_clean() -> None:
    """Without a record and its copies the others stand where they stood; without a copy one is lost."""
    labels = {judge(truth, ledger=False).label for truth in smaller(plain())}
    without_copies = sum(len(target.copies) for target in plain().target.values())

    assert labels == {Label.CLEAN, Label.FAULTY}
    faulty = [t for t in smaller(plain()) if judge(t, ledger=False).label is Label.FAULTY]
    assert len(faulty) == without_copies
