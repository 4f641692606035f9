"""Durations, and how a record is printed."""

import pytest

from lab.cli import data
from lab.errors import BadInput
from lab.kafka import Record


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("90", 90), ("1.5m", 90), ("2h", 7200), ("0.5s", 0.5)]
)
def test_durations_have_units(text: str, seconds: float) -> None:
    assert data._seconds(text) == seconds


@pytest.mark.parametrize("text", ["0", "0s", "-1s", "5x", "s", "", "1 s", "nan", "٣s" * 2])
def test_what_is_no_duration_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        data._seconds(text)

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
