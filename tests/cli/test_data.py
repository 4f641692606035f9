"""Durations, and how a record is printed."""

import json

import pytest

from lab.cli import data, options
from lab.cli.program import exit_code
from lab.errors import BadInput
from lab.kafka import Record
from lab.project import runs_folder
from lab.workload import Tally

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1.5m", 90), ("2h", 7200), ("0.5s", 0.5)])
def test_durations_have_units(text: str, seconds: float) -> None:
    assert options.seconds(text) == seconds


@pytest.mark.parametrize("text", ["90", "0", "0s", "-1s", "5x", "s", "", "1 s", "nan", "٣s" * 2])
def test_what_is_no_duration_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        options.seconds(text)

    assert caught.value.message == f'"{text}" is not a duration'
    assert caught.value.hint == "a positive number with s, m or h, e.g. 90s"


def record(key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]) -> Record:
    return Record(partition=1, offset=7, timestamp_ms=0, key=key, value=value, headers=headers)


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (record(None, b"one"), "1/7  one"),
        (record(b"k", b"one"), "1/7  k: one"),
        (record(b"k", None), "1/7  k: None"),
        (record(None, b"\xff\x00a"), "1/7  \\xff\x00a"),
        (record(None, b"one", ("lab-id", b"cafe-0-1"), ("e", None)), "1/7  one  [lab-id=cafe-0-1 e=None]"),
    ],
)
def test_a_record_is_a_line(shown: Record, line: str) -> None:
    assert data._line(shown) == line


def test_a_record_is_an_object() -> None:
    assert data._row(record(b"k", None, ("h", b"\xff"))) == {
        "partition": 1,
        "offset": 7,
        "timestamp_ms": 0,
        "key": "k",
        "value": None,
        "headers": [["h", "\\xff"]],
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tombstones"], "tombstones need keys"),
        (["--rate", "0"], "a rate of 0.0 records per second is not positive"),
        (["--records", "0"], "Invalid value for '--records': not a number of 1 or more"),
        (["--size", "0"], "a size of 0 bytes is not 1 to 10000000"),
        (["--compression", "zip"], 'no compression "zip"; known: none, gzip, snappy, lz4, zstd'),
        (["--seed", "-1"], "a seed of -1 is not 0 to 2^63 - 1"),
        (["--for", "0s"], '"0s" is not a duration'),
    ],
)
def test_a_workload_that_cannot_be_is_refused_before_anything_is_there(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert exit_code(["produce", "orders", *options]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}\n")
    assert not runs_folder().exists()


def test_what_was_not_acked_or_was_interrupted_is_an_error() -> None:
    tally = Tally(sent=5, acked=3, failed=1, first_error="message too large")

    assert data._shortcoming(Tally(sent=5, acked=5), interrupted=False) is None
    short = data._shortcoming(tally, interrupted=False)
    assert short is not None
    assert (short.message, short.hint, short.exit_code) == (
        "not acked: 2 records",
        "message too large",
        1,
    )
    stopped = data._shortcoming(Tally(sent=5, acked=5), interrupted=True)
    assert stopped is not None
    assert (stopped.message, stopped.exit_code) == ("producing was interrupted", 130)


def test_one_object_of_what_comes_has_an_end(capsys: Captured) -> None:
    assert exit_code(["consume", "orders", "--latest", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "--latest with --json needs --max"


def test_some_take_a_number_for_seconds() -> None:
    assert options.seconds("90", unit="s") == 90
    assert options.seconds("2m", unit="s") == 120
