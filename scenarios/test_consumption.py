"""What a migrating application did with every record is told rightly, and planted defects are found.

Claim, over generated histories of producers that move and applications that follow them: a record that was
skipped, one processed out of order, one of the moved producer that overtakes the old one's, and one that is
in no ledger each make their check fail, and no other; records read again are counted on their cluster and
are no disorder; all counts are those of an oracle in plain Python; and without evidence nothing is PASS.
"""

from collections.abc import Sequence

import pytest

from lab.consumption import checks, per_record
from lab.harness import Lab
from lab.spark import SparkSession
from lab.verify.checks import run_checks
from lab.verify.verdict import Outcome, Verdict
from scenarios.verifier.processing import CLUSTERS, DEFECTS, Defect, History, clean, oracle, tables

pytestmark = pytest.mark.topology("spark-only")

CLEAN, EACH_DEFECT = 60, 12


def judged(spark: SparkSession, histories: Sequence[History]) -> dict[int, dict[str, Verdict]]:
    produced, processed = (spark.createDataFrame(table) for table in tables(list(histories)))
    table = per_record(produced, processed, CLUSTERS)
    found = run_checks({"consumption": table}, checks(CLUSTERS), [history.case for history in histories])
    return {case: {verdict.check: verdict for verdict in verdicts} for case, verdicts in found.items()}


@pytest.fixture(scope="module")
def planted(request: pytest.FixtureRequest) -> list[tuple[History, Defect | None, dict[str, int]]]:
    seed = 1_000 * int(request.config.getoption("--seed"))
    found: list[tuple[History, Defect | None, dict[str, int]]] = [
        (clean(case, seed + case, again=case % 9), None, {}) for case in range(CLEAN)
    ]
    for defect in DEFECTS:
        for _ in range(EACH_DEFECT):
            history = clean(len(found), seed + len(found))
            found.append((history, defect, defect.spoil(history)))
    return found


@pytest.fixture(scope="module")
def verdicts(
    lab: Lab, planted: list[tuple[History, Defect | None, dict[str, int]]]
) -> dict[int, dict[str, Verdict]]:
    return judged(lab.spark, [history for history, _, _ in planted])


def test_each_defect_fails_its_check_and_no_other(
    verdicts: dict[int, dict[str, Verdict]], planted: list[tuple[History, Defect | None, dict[str, int]]]
) -> None:
    wrong, nameless = [], []
    for history, defect, expected in planted:
        found = verdicts[history.case]
        failed = {name for name, verdict in found.items() if verdict.outcome is not Outcome.PASS}
        counts = {name: n for verdict in found.values() for name, n in verdict.counts.items()}
        should = {defect.check} - {None} if defect else set()
        if failed != should or not expected.items() <= counts.items():
            wrong.append((history.case, defect, failed, expected, counts))
        nameless += [(history.case, name) for name in failed if not found[name].first]

    assert wrong == []
    assert nameless == []


def test_an_oracle_in_plain_python_counts_the_same(
    verdicts: dict[int, dict[str, Verdict]], planted: list[tuple[History, Defect | None, dict[str, int]]]
) -> None:
    of = {
        "skipped": ("acked", "skipped", "unsure"),
        "read_again": ("processed", "repeated", "again", *(f"again_on_{alias}" for alias in CLUSTERS)),
        "processing_order": ("inverted",),
        "foreign": ("foreign",),
    }
    wrong = []
    for history, _, _ in planted:
        said = oracle(history)
        for check, names in of.items():
            counts = verdicts[history.case][check].counts
            wrong += [
                (history.case, check, name, counts[name], said[name])
                for name in names
                if counts[name] != said[name]
            ]

    assert wrong == []


def test_without_evidence_nothing_is_pass(lab: Lab) -> None:
    unread, unsent = clean(0, 1), clean(1, 2)
    unread.processed, unsent.produced = [], []

    found = judged(lab.spark, [unread, unsent])

    assert {verdict.outcome for verdict in found[0].values()} == {Outcome.UNKNOWN}
    assert {name: str(verdict.outcome) for name, verdict in found[1].items()} == {
        **dict.fromkeys(("skipped", "read_again", "processing_order"), "UNKNOWN"),
        "foreign": "FAIL",
    }
