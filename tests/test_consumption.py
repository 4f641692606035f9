"""What the counts of a consumption mean; whether they are counted rightly needs Spark: scenarios/."""

import pytest

from lab.consumption import NoneForeign, NoneSkipped, ProcessingOrder, ReadAgain, checks
from lab.consumption.judging import _NAMES
from lab.verify.verdict import Outcome

BOTH = ("old", "new")
TWICE = {"processed": 9, "repeated": 2, "again": 3, "again_on_old": 1, "again_on_new": 2, "most": 3}


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record was acknowledged"),
        ({"unsure": 3}, Outcome.UNKNOWN, "no record was acknowledged"),
        (
            {"acked": 9, "skipped": 9},
            Outcome.UNKNOWN,
            "none of 9 acknowledged records was processed anywhere",
        ),
        (
            {"acked": 9, "processed": 8, "skipped": 1},
            Outcome.FAIL,
            "1 of 9 acknowledged records were never processed",
        ),
        ({"acked": 9, "processed": 9}, Outcome.PASS, "all 9 acknowledged records were processed"),
        (
            {"acked": 9, "processed": 9, "unsure": 2},
            Outcome.PASS,
            "all 9 acknowledged records were processed; 2 more, whose ack was lost, too",
        ),
    ],
)
def test_skipped(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    check = NoneSkipped()

    assert check.judge(dict.fromkeys(("acked", "processed", "skipped", "unsure"), 0) | counts) == (
        outcome,
        told,
    )


@pytest.mark.parametrize(
    ("allowed", "counts", "outcome", "told"),
    [
        (None, {}, Outcome.UNKNOWN, "no record of a ledger was processed"),
        (0, {"processed": 9}, Outcome.PASS, "each of 9 records was processed once"),
        (None, TWICE, Outcome.PASS, "2 of 9 records were processed again, 3 times: 1 on old, 2 on new"),
        (3, TWICE, Outcome.PASS, "2 of 9 records were processed again, 3 times: 1 on old, 2 on new"),
        (
            2,
            TWICE,
            Outcome.FAIL,
            "2 of 9 records were processed again, 3 times: 1 on old, 2 on new; 2 were allowed",
        ),
    ],
)
def test_read_again(allowed: int | None, counts: dict[str, int], outcome: Outcome, told: str) -> None:
    check = ReadAgain(clusters=BOTH, allowed=allowed)

    assert check.judge(dict.fromkeys(TWICE, 0) | counts) == (outcome, told)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({}, Outcome.UNKNOWN, "no record of a ledger was processed"),
        (
            {"compared": 9, "inverted": 2},
            Outcome.FAIL,
            "2 of 9 records were processed after a later one of their partition",
        ),
        ({"compared": 9}, Outcome.PASS, "9 records were processed in the order of their partitions"),
        (
            {"compared": 9, "replayed": 3},
            Outcome.PASS,
            "9 records were processed in the order of their partitions; 3 were replayed later",
        ),
    ],
)
def test_processing_order(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    none = dict.fromkeys(("compared", "inverted", "replayed"), 0)

    assert ProcessingOrder().judge(none | counts) == (outcome, told)


@pytest.mark.parametrize(
    ("counts", "outcome", "told"),
    [
        ({"processed": 0, "foreign": 0}, Outcome.UNKNOWN, "no record was processed"),
        ({"processed": 9, "foreign": 1}, Outcome.FAIL, "1 of 9 processed records are in no ledger"),
        ({"processed": 9, "foreign": 0}, Outcome.PASS, "all 9 processed records are in the ledgers"),
    ],
)
def test_foreign(counts: dict[str, int], outcome: Outcome, told: str) -> None:
    assert NoneForeign().judge(counts) == (outcome, told)


def test_all_are_asked_and_have_names_of_their_own() -> None:
    asked = checks(BOTH, allowed_again=7)

    assert [check.name for check in asked] == ["skipped", "read_again", "processing_order", "foreign"]
    assert asked[1] == ReadAgain(clusters=BOTH, allowed=7)
    assert {check.table for check in asked} == {"consumption"}


def test_columns_are_read_from_their_types() -> None:
    produced, processed = _NAMES.values()

    assert produced[:3] == ["case", "stream", "generation"]
    assert processed[-2:] == ["at_ms", "committed"]
