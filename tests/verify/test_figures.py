"""Latencies become percentiles and buckets, trouble becomes bins: what follows the one job."""

from lab.verify.checks import STANDARD
from lab.verify.figures import BINS, _in_bins, latency_ms, untroubled
from lab.verify.report import parse
from lab.verify.report.model import Latency, Trouble
from lab.verify.verdict import Outcome, Verdict


def test_latencies_become_percentiles_and_buckets() -> None:
    found = latency_ms({3: 90, 40: 8, 700: 2})

    assert found is not None
    assert (found["p50"], found["p95"], found["p99"]) == (3, 40, 700)
    assert [pair for pair in found["histogram"] if pair[1]] == [[5, 90], [50, 8], [1000, 2]]
    assert Latency.model_validate(found).histogram[0].upper_ms == -1


def test_a_target_ahead_of_its_source_has_a_bucket_of_its_own() -> None:
    found = latency_ms({-40: 1, 0: 2, 1: 3})

    assert found is not None
    assert found["histogram"][:3] == [[-1, 1], [0, 2], [1, 3]]


def test_no_stamped_record_is_no_latency() -> None:
    assert latency_ms({}) is None


def test_trouble_lies_in_bins_of_its_partition() -> None:
    partitions = [
        {"partition": 0, "s_rows": 50, "t_rows": 40},
        {"partition": 1, "s_rows": 0, "t_rows": 7},
    ]
    found = _in_bins(
        partitions,
        {
            "missing": [[0, 3, 10], [0, None, 2]],
            "foreign": [[5, BINS - 1, 1]],
        },
    )
    read = Trouble.model_validate(found)

    assert found["without_place"] == 2
    assert [(p.partition, p.records, p.total) for p in read.partitions] == [(0, 50, 10), (1, 7, 0), (5, 0, 1)]
    assert read.partitions[0].bins("missing")[3] == 10
    assert read.partitions[2].bins("foreign")[BINS - 1] == 1


def test_a_clean_topic_has_partitions_and_no_trouble() -> None:
    found = _in_bins([{"partition": 0, "s_rows": 5, "t_rows": 5}], {})

    report = parse('{"topic": "orders", "outcome": "PASS"}').model_copy(
        update={"trouble": Trouble.model_validate(found)}
    )
    assert report.trouble is not None
    assert [p.total for p in report.trouble.partitions] == [0]


def verdicts(**others: Outcome) -> list[Verdict]:
    return [
        Verdict(check=check.name, outcome=others.get(check.name, Outcome.PASS), meaning="")
        for check in STANDARD
    ]


def test_trouble_is_looked_for_unless_every_check_that_is_drawn_says_that_there_is_none() -> None:
    assert untroubled(verdicts())
    assert untroubled(verdicts(ledger=Outcome.FAIL)), "it is not drawn"
    assert not untroubled([])
    assert not untroubled([v for v in verdicts() if v.check != "loss"])
    for check in ("loss", "duplicates", "order", "payload", "headers", "phantoms"):
        assert not untroubled(verdicts(**{check: Outcome.FAIL}))
        assert not untroubled(verdicts(**{check: Outcome.UNKNOWN}))


def test_repeated_records_are_drawn_also_where_they_are_allowed() -> None:
    allowed = Verdict(check="duplicates", outcome=Outcome.PASS, meaning="", counts={"duplicated": 3})
    assert not untroubled([*(v for v in verdicts() if v.check != "duplicates"), allowed])
