"""MM2's own records as Spark columns, for checks that judge many; lab.mm2_records has the formats."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.mm2_records import VERSION, Format, checkpoint_fields, heartbeat_fields, sync_fields


def offset_syncs(records: DataFrame) -> DataFrame:
    """Syncs from the records of their topic: topic, partition, upstream, downstream, position, written_ms.

    `position` is the place in the log of MM2's topic. Tombstones are left out; a record that is no
    offset sync fails the job when a column of it is used.
    """
    return _decoded(records, "offset sync", sync_fields, size=16)


def checkpoints(records: DataFrame) -> DataFrame:
    """Checkpoints from the records of their topic: group, topic, partition, upstream, downstream,
    metadata, position, written_ms; otherwise as `offset_syncs`.
    """
    return _decoded(records, "checkpoint", checkpoint_fields)


def heartbeats(records: DataFrame) -> DataFrame:
    """Heartbeats from the records of their topic: source, target, timestamp_ms, position, written_ms;
    otherwise as `offset_syncs`.
    """
    return _decoded(records, "heartbeat", heartbeat_fields, size=10)


def _decoded(records: DataFrame, kind: str, fields: Format, *, size: int | None = None) -> DataFrame:
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
