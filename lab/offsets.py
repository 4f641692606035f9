"""MM2's own records: offset syncs, checkpoints and heartbeats, decoded from Kafka's binary formats.

Once in plain Python, for commands that show a few of them, and once as Spark columns, for checks that
judge many. Both read the same formats: text is a 16-bit length and UTF-8, integers are big-endian and
signed; the values of checkpoints and heartbeats begin with a 16-bit version, so far always 0.
"""

from dataclasses import dataclass
from typing import Final

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
    if record.value is None:
        return None
    key, value = _Reader("offset sync", record, record.key), _Reader("offset sync", record, record.value)
    return OffsetSync(
        topic=key.text(),
        partition=key.integer(4),
        upstream=value.integer(8),
        downstream=value.integer(8),
        offset=record.offset,
        written_ms=record.timestamp_ms,
    )


def checkpoint(record: Record) -> Checkpoint | None:
    """The checkpoint that a record carries; None for a tombstone."""
    if record.value is None:
        return None
    key, value = _Reader("checkpoint", record, record.key), _Reader("checkpoint", record, record.value)
    value.version()
    return Checkpoint(
        group=key.text(),
        topic=key.text(),
        partition=key.integer(4),
        upstream=value.integer(8),
        downstream=value.integer(8),
        metadata=value.text(),
        offset=record.offset,
        written_ms=record.timestamp_ms,
    )


def heartbeat(record: Record) -> Heartbeat | None:
    """The heartbeat that a record carries; None for a tombstone."""
    if record.value is None:
        return None
    key, value = _Reader("heartbeat", record, record.key), _Reader("heartbeat", record, record.value)
    value.version()
    return Heartbeat(
        source=key.text(),
        target=key.text(),
        timestamp_ms=value.integer(8),
        offset=record.offset,
        written_ms=record.timestamp_ms,
    )


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
    topic, after_topic = _text(f.col("key"), f.lit(1))
    return _decoded(
        records,
        "offset sync",
        f.length("value") == 16,
        topic=topic,
        partition=_integer(f.col("key"), after_topic, 4).cast("int"),
        upstream=_integer(f.col("value"), f.lit(1), 8),
        downstream=_integer(f.col("value"), f.lit(9), 8),
    )


def checkpoints(records: DataFrame) -> DataFrame:
    """Checkpoints from the records of their topic: group, topic, partition, upstream, downstream,
    metadata, position, written_ms; otherwise as `offset_syncs`.
    """
    group, after_group = _text(f.col("key"), f.lit(1))
    topic, after_topic = _text(f.col("key"), after_group)
    return _decoded(
        records,
        f"checkpoint of version {VERSION}",
        _integer(f.col("value"), f.lit(1), 2) == VERSION,
        group=group,
        topic=topic,
        partition=_integer(f.col("key"), after_topic, 4).cast("int"),
        upstream=_integer(f.col("value"), f.lit(3), 8),
        downstream=_integer(f.col("value"), f.lit(11), 8),
        metadata=_text(f.col("value"), f.lit(19))[0],
    )


def heartbeats(records: DataFrame) -> DataFrame:
    """Heartbeats from the records of their topic: source, target, timestamp_ms, position, written_ms;
    otherwise as `offset_syncs`.
    """
    source, after_source = _text(f.col("key"), f.lit(1))
    target, _ = _text(f.col("key"), after_source)
    return _decoded(
        records,
        f"heartbeat of version {VERSION}",
        (_integer(f.col("value"), f.lit(1), 2) == VERSION) & (f.length("value") == 10),
        source=source,
        target=target,
        timestamp_ms=_integer(f.col("value"), f.lit(3), 8),
    )


def _decoded(records: DataFrame, kind: str, known: Column, **fields: Column) -> DataFrame:
    refusal = f.raise_error(
        f.concat(f.lit(f"no {kind} at partition "), "partition", f.lit(", offset "), "offset")
    )
    decoded = f.when(known, f.struct(*(column.alias(name) for name, column in fields.items())))
    return (
        records.where(f.col("value").isNotNull())
        .select(
            decoded.otherwise(refusal).alias("decoded"),
            f.col("offset").alias("position"),
            f.unix_millis("timestamp").alias("written_ms"),
        )
        .select("decoded.*", "position", "written_ms")
    )


def _text(data: Column, at: Column) -> tuple[Column, Column]:
    """The text that begins at a byte, counted from 1, and the byte after it."""
    size = _integer(data, at, 2).cast("int")
    return f.substring(data, at + 2, size).cast("string"), at + 2 + size


def _integer(data: Column, at: Column, size: int) -> Column:
    """A big-endian integer as a signed long."""
    digits = f.hex(f.substring(data, at, f.lit(size)))
    if size == 8:
        return f.conv(digits, 16, -10).cast("long")  # a negative base makes `conv` write signed numbers
    unsigned = f.conv(digits, 16, 10).cast("long")
    return f.when(unsigned >= 2 ** (8 * size - 1), unsigned - 2 ** (8 * size)).otherwise(unsigned)
