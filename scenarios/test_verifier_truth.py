"""The verdict is right about histories whose truth is known, and UNKNOWN only where nobody can know it.

Claim, over simulated histories of a source, a mirror and a target, each judged with its ledger and without:
no history in which a reader of the target finds everything right is FAIL; none in which something is wrong
with a record that the source or its ledger still has is PASS; UNKNOWN is answered only where another
truth, clean instead of faulty or faulty instead of clean, leaves the same evidence to the byte. The same
for all logs of a few records with all mirrors of up to one event.

It holds where a ledger names all records or no two are equal, in topics of one source that are not compacted.
Elsewhere a share is judged wrongly that must not grow: of equal records without ids the places are not always
found after several restarts, or where the target stamps records; in compacted topics such records are known
by their content alone. UNKNOWN is said of all that a target may have deleted, also where its offsets are too
few for that. And a source that shows no two equal records, to the millisecond, is taken to have had no equal
of what it still has: of small logs whose records are all equal many break this rule.

`--seed 7` draws other histories. A seed of a million or more, as failures name it, is that one history:
it is judged alone, and with `--slow` made smaller as long as the verdict stays wrong.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from lab.harness import Lab
from lab.spark import SparkSession
from lab.verify.checks import STANDARD, Duplicates, NoPhantoms, run_checks
from lab.verify.evidence import LITTLE, evidence
from lab.verify.verdict import Verdict, worst
from scenarios.verifier.frames import frames
from scenarios.verifier.truth.enumerated import grouped, truths
from scenarios.verifier.truth.judge import Label, judge
from scenarios.verifier.truth.logs import Truth
from scenarios.verifier.truth.mirror import history
from scenarios.verifier.truth.reading import seen
from scenarios.verifier.truth.report import Case, Wrong, dump, report_of, wrong
from scenarios.verifier.truth.shrink import shrunk

pytestmark = pytest.mark.topology("spark-only")

SOME, MANY = 1_500, 20_000
AT_ONCE = 2_000
SMALL, ALL_SMALL = 3, 5  # records of the enumerated logs
# Of all verdicts, or of all kinds of evidence of small logs, those that may be wrong beyond what is claimed.
SHARES = {Wrong.FAILED: 0.005, Wrong.PASSED: 0.012, Wrong.NEEDLESS_UNKNOWN: 0.008}
SHARE_OF_SMALL = 0.1


class DuplicatesAllowed(Duplicates):
    name = "duplicates allowed"


class NoAbortedEither(NoPhantoms):
    name = "phantoms committed"


# All cases go through one pass with every setting; which one counts is chosen afterwards.
CHECKS = (*STANDARD, DuplicatesAllowed(allowed_fraction=1.0), NoAbortedEither(read_committed=True))


def judged(spark: SparkSession, some: Sequence[Truth], *, ledger: bool) -> list[Case]:
    """What the verifier answers to each, in passes of a few thousand."""
    found: list[Case] = []
    for begin in range(0, len(some), AT_ONCE):
        batch = some[begin : begin + AT_ONCE]
        read = frames(spark, [seen(truth, case, ledger=ledger) for case, truth in enumerate(batch)])
        read = replace(read, rows=LITTLE)  # kept in memory: twice as fast
        if not ledger:
            read = replace(read, runs=(), other_runs=())
        with evidence(read) as tables:
            verdicts = run_checks(tables, CHECKS, range(len(batch)))
        found += [_case(truth, verdicts[case], ledger=ledger) for case, truth in enumerate(batch)]
    return found


def _case(truth: Truth, verdicts: list[Verdict], *, ledger: bool) -> Case:
    by_name = {verdict.check: verdict for verdict in verdicts}
    allowed, committed = by_name.pop("duplicates allowed"), by_name.pop("phantoms committed")
    if truth.knobs.duplicates_allowed:
        by_name["duplicates"] = allowed
    if truth.knobs.read_committed:
        by_name["phantoms"] = committed
    return Case(
        truth=truth,
        ledger=ledger,
        judgement=judge(truth, ledger=ledger),
        verdict=str(worst(verdict.outcome for verdict in by_name.values())),
        checks={check: (str(verdict.outcome), verdict.meaning) for check, verdict in by_name.items()},
    )


def both_ways(spark: SparkSession, some: Sequence[Truth]) -> list[Case]:
    """With the ledger, where there is one, and without, where one source alone is mirrored into the topic."""
    with_ledger = [truth for truth in some if truth.knobs.ledger != "none"]
    without = [truth for truth in some if not truth.knobs.fan_in]
    return [*judged(spark, with_ledger, ledger=True), *judged(spark, without, ledger=False)]


@pytest.fixture(scope="module")
def seeds(request: pytest.FixtureRequest) -> range:
    seed = int(request.config.getoption("--seed"))
    return range(seed, seed + 1) if seed >= 1_000_000 else range(1_000_000 * seed, 1_000_000 * (seed + 1))


@pytest.fixture(scope="module")
def cases(lab: Lab, seeds: range) -> list[Case]:
    return both_ways(lab.spark, [history(seed) for seed in islice(seeds, SOME)])


def require_right(cases: Sequence[Case], kind: Wrong) -> None:
    """Fails with the report of what is wrong and claimed to be right, or of all that is if it is too much."""
    some = [case for case in cases if wrong(case) is kind]
    claimed = [case for case in some if told_apart(case) and not beyond_the_claim(case, kind)]
    if claimed or len(some) > SHARES[kind] * len(cases):
        raise AssertionError(report_of(cases, claimed or some))


def beyond_the_claim(case: Case, kind: Wrong) -> bool:
    """What the target may have deleted; and what is wrong with records alone that nobody has any more."""
    may_have_deleted = kind is Wrong.NEEDLESS_UNKNOWN and case.truth.knobs.target_trimmed
    return may_have_deleted or (kind is Wrong.PASSED and not case.judgement.faults)


def told_apart(case: Case) -> bool:
    """Whether each record can be told from all others, on a target that keeps what it was given."""
    knobs = case.truth.knobs
    contents = [s.content for source in case.truth.source.values() for s in source.slots if s.content]
    different = len(contents) == len({(c.key, c.value) for c in contents})
    named = case.ledger and knobs.ledger == "all"
    return not (knobs.compacted or knobs.fan_in or knobs.stamped) and (named or different)


def test_no_clean_history_fails(cases: list[Case]) -> None:
    require_right(cases, Wrong.FAILED)


def test_no_faulty_history_passes(cases: list[Case]) -> None:
    require_right(cases, Wrong.PASSED)


def test_unknown_has_a_twin(cases: list[Case]) -> None:
    require_right(cases, Wrong.NEEDLESS_UNKNOWN)


def test_the_claim_is_about_many(cases: list[Case], seeds: range) -> None:
    assert len(seeds) == 1 or sum(map(told_apart, cases)) > len(cases) / 5


def test_each_fault_fails_its_own_check(cases: list[Case]) -> None:
    """Where each record differs from all others and one thing alone is wrong with them."""
    some = [case for case in cases if case.verdict == "FAIL" and one_thing_wrong(case)]
    silent = [case for case in some if not set(case.answering("FAIL")) & own_checks(case)]

    assert len(cases) < SOME or len(some) > SOME / 50
    if silent:
        lines = [f"{len(silent):,} of {len(some):,} faults are found by other checks only"]
        raise AssertionError("\n".join(lines + [dump(case) for case in silent[:12]]))


def one_thing_wrong(case: Case) -> bool:
    """Nothing is deleted, and what is wrong has one name: without an id a changed or moved record is
    as well a lost one and a foreign one.
    """
    knobs = case.truth.knobs
    known = case.ledger and knobs.ledger == "all"
    whole = not (
        knobs.trimmed or knobs.target_trimmed or knobs.overtaken or knobs.begins_late or knobs.compacted
    )
    by_place = {"loss", "catch_up", "duplicates", "order"}
    faults = set(case.judgement.faults)
    contents = [s.content for source in case.truth.source.values() for s in source.slots if s.content]
    different = len(contents) == len({(c.key, c.value) for c in contents})
    one = case.judgement.label is Label.FAULTY and len(faults) == 1
    return whole and different and one and (known or faults <= by_place)


def own_checks(case: Case) -> set[str]:
    """What is missing at the end is lost as well."""
    faults = set(case.judgement.faults)
    return faults | {"loss"} if "catch_up" in faults else faults


def test_half_of_the_histories_are_clean(cases: list[Case], seeds: range) -> None:
    """Else the tests above would say little."""
    labels = [case.judgement.label for case in cases]

    assert len(seeds) == 1 or min(labels.count(Label.CLEAN), labels.count(Label.FAULTY)) > len(cases) / 4


@pytest.mark.slow
def test_the_smallest_wrong_history_is_shown_smaller(lab: Lab, cases: list[Case]) -> None:
    """Or the one that --seed names, which then fails. Nothing is to show where no verdict is wrong."""
    for case in sorted(filter(wrong, cases), key=lambda case: case.size)[:1]:

        def failing(some: Sequence[Truth], case: Case = case) -> Sequence[bool]:
            return [wrong(found) is wrong(case) for found in judged(lab.spark, some, ledger=case.ledger)]

        small = judged(lab.spark, [shrunk(case.truth, failing)], ledger=case.ledger)[0]
        assert wrong(small) is wrong(case)
        assert small.size <= case.size
        if len(cases) <= 2:
            raise AssertionError(f"{wrong(small)}\n{dump(small)}")


def small_truths(records: int) -> Iterator[tuple[Truth, set[Label]]]:
    """One of each group with equal evidence, and what is true of the members."""
    for members in grouped(truths(records), lambda truth: seen(truth, ledger=False)).values():
        yield members[0], {judge(truth, ledger=False).label for truth in members}


def require_right_about_small(spark: SparkSession, records: int) -> None:
    """Wrong is PASS where a member is faulty, FAIL where one is clean, UNKNOWN where all are the same."""
    some = list(small_truths(records))
    found = []
    for case, (_, labels) in zip(judged(spark, [t for t, _ in some], ledger=False), some, strict=True):
        both = {Label.CLEAN, Label.FAULTY} <= labels
        wrong_pass = case.verdict == "PASS" and Label.FAULTY in labels
        wrong_fail = case.verdict == "FAIL" and Label.CLEAN in labels
        if wrong_pass or wrong_fail or (case.verdict == "UNKNOWN" and not both and wrong(case)):
            found.append((f"{sorted(map(str, labels))} is {case.verdict}", dump(case)))
    if len(found) > SHARE_OF_SMALL * len(some):
        counts = Counter(what for what, _ in found)
        examples = dict(reversed(found))
        lines = [f"{count:,} {what}\n{examples[what]}" for what, count in counts.most_common()]
        raise AssertionError("\n".join([f"of {len(some):,} kinds of evidence:", *lines]))


def test_all_logs_of_a_few_records(lab: Lab) -> None:
    require_right_about_small(lab.spark, SMALL)


@pytest.mark.slow
def test_all_logs_of_some_more_records(lab: Lab) -> None:
    require_right_about_small(lab.spark, ALL_SMALL)


@pytest.mark.slow
def test_twenty_thousand_histories(lab: Lab, seeds: range) -> None:
    cases = both_ways(lab.spark, [history(seed) for seed in islice(seeds, MANY)])
    for kind in Wrong:
        require_right(cases, kind)
