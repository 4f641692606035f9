"""MM2's own records: offset syncs, checkpoints and heartbeats, decoded from Kafka's binary formats.

Text is a 16-bit length and UTF-8, integers are big-endian and signed; the values of checkpoints and
heartbeats begin with a 16-bit version, so far always 0. `lab.offsets` reads the same formats as Spark
columns, for checks that judge many.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from lab.errors import LabError
from lab.kafka import Record

T = TypeVar("T")

VERSION: Final = 0


class NotDecodable(LabError):
    """A record is not what MM2 writes into that topic."""


@dataclass(frozen=True, kw_only=True)
class OffsetSync:
    """The record at `upstream` in a source partition stands at `downstream` on the target.

    `topic` is the name on the source. `offset` is the sync's own place in its topic.
    """

    topic: str
    partition: int
    upstream: int
    downstream: int
    offset: int
    written_ms: int | None


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A group that has committed `upstream` on the source may go on at `downstream` on the target.

    `topic` is the name on the target.
    """

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int
    metadata: str
    offset: int
    written_ms: int | None


@dataclass(frozen=True, kw_only=True)
class Heartbeat:
    """`timestamp_ms` is the worker's clock; in a mirrored copy `written_ms` is the same."""

    source: str
    target: str
    timestamp_ms: int
    offset: int
    written_ms: int | None


def newest(records: Iterable[Record]) -> list[Record]:
    """The last of each key, as compaction leaves them; a tombstone takes its key away."""
    last: dict[bytes | None, Record] = {}
    for record in records:
        last.pop(record.key, None)  # so that what is left stands in the order of the log
        last[record.key] = record
    return [record for record in last.values() if record.value is not None]


def decoded(decode: Callable[[Record], T | None], records: Iterable[Record]) -> Iterator[T]:
    """What the records carry, without tombstones; `decode` is one of the next three."""
    for record in records:
        if (found := decode(record)) is not None:
            yield found


def offset_sync(record: Record) -> OffsetSync | None:
    """The sync that a record carries; None for a tombstone."""
    fields = _plain("offset sync", record, sync_fields)
    return None if fields is None else OffsetSync(**fields)


def checkpoint(record: Record) -> Checkpoint | None:
    """The checkpoint that a record carries; None for a tombstone."""
    fields = _plain("checkpoint", record, checkpoint_fields)
    return None if fields is None else Checkpoint(**fields)


def heartbeat(record: Record) -> Heartbeat | None:
    """The heartbeat that a record carries; None for a tombstone."""
    fields = _plain("heartbeat", record, heartbeat_fields)
    return None if fields is None else Heartbeat(**fields)


# -- the formats: fields in the order in which they stand in key and value -----------------------------


class Fields(Protocol):
    """Takes one field after the other from the bytes of a key or a value: their values, or columns."""

    def integer(self, size: int) -> Any: ...
    def text(self) -> Any: ...
    def version(self) -> None: ...


Format = Callable[[Fields, Fields], dict[str, Any]]


def sync_fields(key: Fields, value: Fields) -> dict[str, Any]:
    return {
        "topic": key.text(),
        "partition": key.integer(4),
        "upstream": value.integer(8),
        "downstream": value.integer(8),
    }


def checkpoint_fields(key: Fields, value: Fields) -> dict[str, Any]:
    value.version()
    return {
        "group": key.text(),
        "topic": key.text(),
        "partition": key.integer(4),
        "upstream": value.integer(8),
        "downstream": value.integer(8),
        "metadata": value.text(),
    }


def heartbeat_fields(key: Fields, value: Fields) -> dict[str, Any]:
    value.version()
    return {"source": key.text(), "target": key.text(), "timestamp_ms": value.integer(8)}


# -- in plain Python ---------------------------------------------------------------------------------


def _plain(kind: str, record: Record, fields: Format) -> dict[str, Any] | None:
    if record.value is None:
        return None
    key, value = _Reader(kind, record, record.key), _Reader(kind, record, record.value)
    return {**fields(key, value), "offset": record.offset, "written_ms": record.timestamp_ms}


class _Reader:
    """Takes one field after the other from the bytes of a key or a value."""

    def __init__(self, kind: str, record: Record, data: bytes | None) -> None:
        self._kind, self._data, self._at = kind, data or b"", 0
        self._where = f"partition {record.partition}, offset {record.offset}"

    def integer(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def text(self) -> str:
        size = self.integer(2)
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            raise self._wrong("holds a name that is not UTF-8") from error

    def version(self) -> None:
        if (version := self.integer(2)) != VERSION:
            raise self._wrong(f"has version {version}, only version {VERSION} is known")

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size] if size >= 0 else b""
        if len(taken) != size:
            raise self._wrong(f"ends after {len(self._data)} bytes, within a field")
        self._at += size
        return taken

    def _wrong(self, what: str) -> NotDecodable:
        return NotDecodable(
            f"the {self._kind} at {self._where} {what}",
            "is this MM2's own topic, and a version of it we know?",
        )
