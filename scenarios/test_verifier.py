"""The checks find what is wrong, name it, and find nothing where nothing is.

Claim, over generated histories of a source, a target and a ledger: each planted defect fires its check,
which names the record, and no other check but the companions of the table of defects; of 200 clean
histories with replays, transactions, compaction, retention and several partitions none is found fault
with; outcomes and counts of 1,000 histories, some with two defects, are those of an oracle in plain
Python that shares no code with the checks; how the rows are spread over tasks changes nothing, and neither
do another source's records between them, if their runs are known.
"""

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

import pytest

from lab.harness import Lab
from lab.spark import SparkSession
from lab.verify.checks import STANDARD, Duplicates, NoPhantoms, run_checks
from lab.verify.evidence import evidence
from lab.verify.verdict import Outcome, Verdict
from scenarios.verifier import oracle
from scenarios.verifier.defects import DEFECTS, Defect, First
from scenarios.verifier.frames import frames
from scenarios.verifier.histories import OTHER_RUN, RUN, History, clean, merged

pytestmark = pytest.mark.topology("spark-only")

CLEAN = 200
EACH_DEFECT = 8
ALL = 1_000
SPREAD = 150  # cases that are judged once more, with their rows spread in another way

Verdicts = dict[str, Verdict]


class DuplicatesAllowed(Duplicates):
    name = "duplicates allowed"


class NoAbortedEither(NoPhantoms):
    name = "phantoms committed"


# All cases go through one pass, each with every setting; which setting counts is chosen afterwards.
CHECKS = (*STANDARD, DuplicatesAllowed(allowed_fraction=1.0), NoAbortedEither(read_committed=True))


@cache
def planted(seed: int) -> tuple[list[History], dict[int, tuple[Defect, First]]]:
    """1,000 histories: clean ones, each defect in several, and the rest with two defects at once."""
    histories = [clean(case, seed + case) for case in range(CLEAN)]
    expected: dict[int, tuple[Defect, First]] = {}
    number = CLEAN // 4
    for defect in DEFECTS:
        made = 0
        while made < EACH_DEFECT:
            number += 1
            history = clean(4 * number + defect.case, seed + number, defect.kind)
            with suppress(IndexError):  # nothing in it that this defect could spoil
                expected[history.case] = defect, defect.spoil(history, _random(seed + number))
                histories.append(history)
                made += 1
    while len(histories) < ALL:
        number += 1
        one, two = _random(seed + number).sample([d for d in DEFECTS if d.kind == DEFECTS[0].kind], 2)
        history = clean(4 * number + one.case, seed + number, one.kind)
        for defect in (one, two):
            # the first may have taken away what the second was to spoil
            with suppress(AssertionError, IndexError, StopIteration, ValueError):
                defect.spoil(history, _random(seed + number))
        histories.append(history)
    return histories, expected


def _random(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - repeatable is what it is to be


def judged(
    spark: SparkSession, histories: Sequence[History], pieces: int | None = None
) -> dict[int, Verdicts]:
    with evidence(frames(spark, histories, pieces)) as tables:
        found = run_checks(tables, CHECKS, [history.case for history in histories])
    return {history.case: _chosen(history, found[history.case]) for history in histories}


def _chosen(history: History, verdicts: list[Verdict]) -> Verdicts:
    by_name = {verdict.check: verdict for verdict in verdicts}
    allowed, committed = by_name.pop("duplicates allowed"), by_name.pop("phantoms committed")
    if history.duplicates_allowed:
        by_name["duplicates"] = replace(allowed, check="duplicates")
    if history.read_committed:
        by_name["phantoms"] = replace(committed, check="phantoms")
    return by_name


@pytest.fixture(scope="module")
def seed(request: pytest.FixtureRequest) -> int:
    return 1_000_000 * int(request.config.getoption("--seed"))


@pytest.fixture(scope="module")
def verdicts(lab: Lab, seed: int) -> dict[int, Verdicts]:
    return judged(lab.spark, planted(seed)[0])


def fine(verdict: Verdict) -> bool:
    return verdict.outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE)


def test_nothing_is_found_in_clean_histories(verdicts: dict[int, Verdicts]) -> None:
    alarms = [
        (case, v.check, v.meaning) for case in range(CLEAN) for v in verdicts[case].values() if not fine(v)
    ]

    assert alarms == []


def test_each_defect_fires_its_check_and_only_companions(verdicts: dict[int, Verdicts], seed: int) -> None:
    wrong = []
    for case, (defect, _) in planted(seed)[1].items():
        found = verdicts[case]
        if found[defect.check].outcome is not defect.outcome:
            wrong.append((defect.name, case, "is silent", found[defect.check].meaning))
        for check in found.keys() - {defect.check} - defect.also:
            if not fine(found[check]):
                wrong.append((defect.name, case, check, found[check].meaning))

    assert wrong == []


def test_each_defect_is_named(verdicts: dict[int, Verdicts], seed: int) -> None:
    wrong = []
    for case, (defect, first) in planted(seed)[1].items():
        named = verdicts[case][defect.check].first
        if first and (not named or not first.items() <= named[0].items()):
            wrong.append((defect.name, case, first, named[:2]))

    assert wrong == []


def test_every_check_has_three_defects() -> None:
    planted_for = [defect.check for defect in DEFECTS]

    assert [c.name for c in STANDARD if planted_for.count(c.name) < 3] == []
    assert len(DEFECTS) == len({defect.name for defect in DEFECTS})


def test_an_oracle_in_plain_python_says_the_same(verdicts: dict[int, Verdicts], seed: int) -> None:
    histories = [history for history in planted(seed)[0] if by_id_or_content(history)]
    wrong = []
    for history in histories:
        said = oracle.judge(history, (OTHER_RUN, RUN))
        found = {v.check: (str(v.outcome), dict(v.counts)) for v in verdicts[history.case].values()}
        wrong += [
            (history.case, check, found[check], said[check]) for check in said if found[check] != said[check]
        ]
        assert found.keys() == said.keys()

    assert len(histories) >= ALL // 2
    assert wrong == []


def by_id_or_content(history: History) -> bool:
    """Whether no record is known by its place alone, which the oracle knows nothing of."""
    return history.compacted or all(
        record.headers is not None and record.headers[0][0] == "lab-id"
        for record in (*history.source, *history.target)
    )


def test_how_rows_are_spread_changes_nothing(verdicts: dict[int, Verdicts], lab: Lab, seed: int) -> None:
    some = planted(seed)[0][:: ALL // SPREAD]

    again = judged(lab.spark, some, pieces=7)

    assert again == {history.case: verdicts[history.case] for history in some}


def test_another_sources_records_change_no_verdict(
    verdicts: dict[int, Verdicts], lab: Lab, seed: int
) -> None:
    some = planted(seed)[0][1 :: ALL // SPREAD]
    with_others = [merged(history, seed + history.case) for history in some]

    found = judged(lab.spark, [history for history, _ in with_others])

    wrong = []
    for history, added in with_others:
        for check, verdict in found[history.case].items():
            before = verdicts[history.case][check]
            expected = dict(before.counts)
            if check == "reading":
                expected["target_rows"] += added
                expected["of_other_sources"] = added
            if (verdict.outcome, dict(verdict.counts)) != (before.outcome, expected):
                wrong.append((history.case, check, verdict, before))
    assert sum(added for _, added in with_others) > ALL
    assert wrong == []
