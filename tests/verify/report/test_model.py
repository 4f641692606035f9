"""What is read from a verdict, what may be absent, and what is refused with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.errors import BadInput
from lab.verify.report import parse, read
from lab.verify.verdict import Outcome
from tests.verify.report.inputs import bare, full


def test_everything_is_read() -> None:
    report = parse(json.dumps(full()))

    assert report.outcome is Outcome.FAIL
    assert [verdict.outcome for verdict in report.verdicts] == ["PASS", "FAIL", "UNKNOWN", "n/a"]
    assert report.verdicts[1].first[0] == {"partition": 1, "offset": 52_000}
    assert report.partitions[1].t_rows == 1993
    assert report.samples[1].lag == 20
    assert report.latency_ms is not None
    assert report.latency_ms.histogram[1].upper_ms == 10
    assert report.latency_ms.histogram[-1].upper_ms is None
    assert report.latency_ms.marks == [("p50", 14.2), ("p95", 88.0), ("p99", 240.5)]
    assert report.trouble is not None
    assert [partition.total for partition in report.trouble.partitions] == [9, 12, 0]
    assert report.faults[0].end == report.faults[0].begin + 10


def test_topic_and_outcome_are_enough() -> None:
    report = parse(json.dumps(bare()))

    assert (report.source, report.target, report.verdicts, report.trouble) == ("source", "target", (), None)


def test_null_is_absent() -> None:
    nothing = dict.fromkeys(("remote", "series", "samples", "latency_ms", "trouble", "faults", "partitions"))

    assert parse(json.dumps(bare(**nothing))) == parse(json.dumps(bare()))


def test_keys_of_a_later_version_are_passed_over() -> None:
    assert parse(json.dumps(bare(later=1))) == parse(json.dumps(bare()))


def test_a_fault_may_have_no_end() -> None:
    report = parse(json.dumps(bare(faults=[{"name": "pause", "from": 1, "to": None}])))

    assert report.faults[0].end is None


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"outcome": "GREEN"}, "outcome: "),
        ({"samples": [{"at": 1, "source": 2}]}, "samples.0.target: Field required"),
        ({"series": {"source": [[1, 2], [3]]}}, "series.source.1.1: Field required"),
        ({"samples": [{"at": float("nan"), "source": 1, "target": 1}]}, "samples.0.at: "),
        (
            {"trouble": {"bins": 3, "partitions": [{"partition": 4, "missing": [1, 2]}]}},
            "trouble: Value error, partition 4 has 2 bins of missing, not 3",
        ),
        ({"trouble": {"bins": 0}}, "trouble.bins: "),
        ({"latency_ms": {"histogram": [[5, -1]]}}, "latency_ms.histogram.0.count: "),
    ],
)
def test_a_problem_names_its_place(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(json.dumps(bare() | changes))

    assert refused.value.message.startswith(f'"verdict.json" is no verdict: {place}')
    assert refused.value.hint == 'verify the topic again with "lab verify"'


def test_three_problems_are_told_and_the_rest_counted() -> None:
    with pytest.raises(BadInput, match=r"stages\.2\.seconds: .*; and 2 more$"):
        parse(json.dumps(bare(stages=[{"name": "x"}] * 5)))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"topic": "orders", "outcome'])
def test_what_is_torn_is_no_json(text: str) -> None:
    with pytest.raises(BadInput, match=r'^"verdict.json" is not JSON: '):
        parse(text)


@pytest.mark.parametrize("text", ["[]", "null", "3", '"PASS"'])
def test_other_json_is_no_verdict(text: str) -> None:
    with pytest.raises(BadInput, match=r'^"verdict.json" is no verdict: all of it: '):
        parse(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_bytes(b"\xff\xfe")

    for name in ("verdict.json", "none.json"):
        with pytest.raises(BadInput, match=f'^"{name}" cannot be read: '):
            read(tmp_path / name)
