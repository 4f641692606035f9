"""MM2's own records: offset syncs, checkpoints and heartbeats, decoded from Kafka's binary formats.

Once in plain Python, for commands that show a few of them, and once as Spark columns, for checks that
judge many. Both read the same formats: text is a 16-bit length and UTF-8, integers are big-endian and
signed; the values of checkpoints and heartbeats begin with a 16-bit version, so far always 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.errors import LabError
from lab.kafka import Record

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


def offset_sync(record: Record) -> OffsetSync | None:
    """The sync that a record carries; None for a tombstone."""
    fields = _plain("offset sync", record, _sync_fields)
    return None if fields is None else OffsetSync(**fields)


def checkpoint(record: Record) -> Checkpoint | None:
    """The checkpoint that a record carries; None for a tombstone."""
    fields = _plain("checkpoint", record, _checkpoint_fields)
    return None if fields is None else Checkpoint(**fields)


def heartbeat(record: Record) -> Heartbeat | None:
    """The heartbeat that a record carries; None for a tombstone."""
    fields = _plain("heartbeat", record, _heartbeat_fields)
    return None if fields is None else Heartbeat(**fields)


# -- the formats: fields in the order in which they stand in key and value -----------------------------


class _Fields(Protocol):
    """Takes one field after the other from the bytes of a key or a value: their values, or columns."""

    def integer(self, size: int) -> Any: ...
    def text(self) -> Any: ...
    def version(self) -> None: ...


_Format = Callable[[_Fields, _Fields], dict[str, Any]]


def _sync_fields(key: _Fields, value: _Fields) -> dict[str, Any]:
    return {
        "topic": key.text(),
        "partition": key.integer(4),
        "upstream": value.integer(8),
        "downstream": value.integer(8),
    }


def _checkpoint_fields(key: _Fields, value: _Fields) -> dict[str, Any]:
    value.version()
    return {
        "group": key.text(),
        "topic": key.text(),
        "partition": key.integer(4),
        "upstream": value.integer(8),
        "downstream": value.integer(8),
        "metadata": value.text(),
    }


def _heartbeat_fields(key: _Fields, value: _Fields) -> dict[str, Any]:
    value.version()
    return {"source": key.text(), "target": key.text(), "timestamp_ms": value.integer(8)}


# -- in plain Python ---------------------------------------------------------------------------------


def _plain(kind: str, record: Record, fields: _Format) -> dict[str, Any] | None:
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


# -- the same as DataFrames ------------------------------------------------------------------------


def offset_syncs(records: DataFrame) -> DataFrame:
    """Syncs from the records of their topic: topic, partition, upstream, downstream, position, written_ms.

    `position` is the place in the log of MM2's topic. Tombstones are left out; a record that is no
    offset sync fails the job when a column of it is used.
    """
    return _decoded(records, "offset sync", _sync_fields, size=16)


def checkpoints(records: DataFrame) -> DataFrame:
    """Checkpoints from the records of their topic: group, topic, partition, upstream, downstream,
    metadata, position, written_ms; otherwise as `offset_syncs`.
    """
    return _decoded(records, "checkpoint", _checkpoint_fields)


def heartbeats(records: DataFrame) -> DataFrame:
    """Heartbeats from the records of their topic: source, target, timestamp_ms, position, written_ms;
    otherwise as `offset_syncs`.
    """
    return _decoded(records, "heartbeat", _heartbeat_fields, size=10)


def _decoded(records: DataFrame, kind: str, fields: _Format, *, size: int | None = None) -> DataFrame:
    """The fields of each record as columns, where version and size of its value are the known ones."""
    key, value = _Columns(f.col("key")), _Columns(f.col("value"))
    columns = [column.alias(name) for name, column in fields(key, value).items()]
    known = value.known if size is None else value.known & (f.length("value") == size)
    if value.versioned:
        kind = f"{kind} of version {VERSION}"
    refusal = f.raise_error(
        f.concat(f.lit(f"no {kind} at partition "), "partition", f.lit(", offset "), "offset")
    )
    return (
        records.where(f.col("value").isNotNull())
        .select(
            f.when(known, f.struct(*columns)).otherwise(refusal).alias("decoded"),
            f.col("offset").alias("position"),
            f.unix_millis("timestamp").alias("written_ms"),
        )
        .select("decoded.*", "position", "written_ms")
    )


class _Columns:
    """What `_Reader` does, with columns."""

    def __init__(self, data: Column) -> None:
        self._data, self._at = data, f.lit(1)  # bytes are counted from 1
        self.known, self.versioned = f.lit(True), False

    def integer(self, size: int) -> Column:
        """A big-endian integer: up to 4 bytes as an int, 8 as a long."""
        digits = f.hex(f.substring(self._data, self._at, f.lit(size)))
        self._at += size
        if size == 8:
            return f.conv(digits, 16, -10).cast("long")  # a negative base makes `conv` write signed numbers
        unsigned = f.conv(digits, 16, 10).cast("long")
        negative = unsigned >= 2 ** (8 * size - 1)
        return f.when(negative, unsigned - 2 ** (8 * size)).otherwise(unsigned).cast("int")

    def text(self) -> Column:
        size = self.integer(2)
        taken = f.substring(self._data, self._at, size).cast("string")
        self._at += size
        return taken

    def version(self) -> None:
        self.known, self.versioned = self.integer(2) == VERSION, True
