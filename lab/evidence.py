"""Evidence: what one scan of both topics and the ledger leaves, one row per record id.

Checks never see records, only this table: per id how often, where and with what content the record
stands in the source and in the target topic, and what the ledger says of it. All frames carry a
column `case`, so that many small histories are judged in one job; a real verification has case 0.

A record's id is found where it survived: in the payload when the rest of the payload confirms it, else
in the header `lab-id` (also when a converter has base64-encoded it), else in a payload that is damaged.
Only ids of `runs` count, those whose ledgers are known. Any other record is known by its key and value,
so that two topics can be compared without a ledger; equal records then share an id and are counted.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from lab.records import HEADER

RECORD_COLUMNS: Final = (
    "case int, partition int, offset long, timestamp long, timestamp_type int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
LEDGER_COLUMNS: Final = (
    "case int, run string, producer int, sequence long, outcome int, transaction int, committed boolean, "
    "partition int, offset long"
)
PARTITION_COLUMNS: Final = (
    "case int, partition int, s_start long, s_end long, s_holes long, "
    "t_start long, t_end long, t_holes long, ledger boolean, compacted boolean"
)
OWED_COLUMNS: Final = "case int, partition int, s_owed long"
FOLDER: Final = "/var/lib/spark/evidence"  # at the Spark server
_NO: Final = f.lit(False)
_PIECE: Final = 400_000  # records per shuffle partition: their groups fit in the memory of one task


@dataclass(frozen=True, kw_only=True)
class Histories:
    """What is judged: records of both sides, the ledger, and where each partition began and ended.

    `partitions` are the offsets that the brokers named before the scan, nothing outside them is read,
    and how many of the offsets between may hold no record: markers of transactions, records aborted or
    compacted away; null where any number may. `ledger` and `compacted` are the same in all rows of a case.
    """

    source: DataFrame
    target: DataFrame
    ledger: DataFrame
    partitions: DataFrame
    runs: Sequence[str] = ()  # those of the ledger
    # Where the source's partitions ended before the target's end was named: what came later, while a producer
    # was at work, may be on the target or not. None: nothing came later.
    owed: DataFrame | None = None
    compacted: bool = False  # whether any case is
    rows: int = 0  # about how many, to choose the number of tasks


@contextmanager
def evidence(histories: Histories, folder: str = FOLDER) -> Iterator[Mapping[str, DataFrame]]:
    """The evidence tables "records", "partitions" and "keys", kept at the server while the block runs."""
    path = f"{folder}/{uuid.uuid4().hex}"
    spark = histories.source.sparkSession
    try:
        _one_row_per_id(histories).write.parquet(f"{path}/ids")
        ids = spark.read.parquet(f"{path}/ids")
        _facts(ids, _with_owed(histories)).write.parquet(f"{path}/partitions")
        partitions = spark.read.parquet(f"{path}/partitions")
        _inverted(ids, partitions).write.parquet(f"{path}/inverted")
        named = ids.withColumn("id", _name(histories.runs))
        last = _last_of_keys(named, partitions).where(f.lit(histories.compacted))
        records = _records(named, partitions, spark.read.parquet(f"{path}/inverted"), last)
        yield {"records": records, "partitions": partitions, "keys": last}
    finally:
        # No file is left of the data: an empty frame takes its place, which is all that a client can do.
        for table in ("ids", "partitions", "inverted"):
            spark.range(0).write.mode("overwrite").parquet(f"{path}/{table}")


# -- one row per id --------------------------------------------------------------------------------

_SOURCE, _TARGET, _LEDGER = 0, 1, 2
_ID: Final = ("case", "run", "producer", "number")


def _one_row_per_id(histories: Histories) -> DataFrame:
    """Per case and id: how often and where it stands on both sides, and what the ledger says.

    s_ is the source's, t_ the target's, l_ the ledger's; null where that side has no such record. Of what
    may differ between two copies both the smallest and the largest are kept: s_content, s_content_max.
    """
    ledger = histories.ledger.select(
        "case",
        _index(f.col("run"), histories.runs).alias("run"),
        "producer",
        f.col("sequence").alias("number"),
        f.lit(_LEDGER).alias("side"),
        "partition",
        "offset",
        f.col("outcome").cast("int").alias("outcome"),
        # nobody aborts what is in no transaction; of one whose end is unknown it stays null
        f.when(f.col("transaction").isNull(), f.lit(True)).otherwise(f.col("committed")).alias("committed"),
    )
    records = _identified(histories, _with_late(histories), _SOURCE).unionAll(
        _identified(histories, histories.target.withColumn("late", _NO), _TARGET)
    )
    # Before the groups, not after: each task's groups then fit in its memory, and rows travel once.
    pieces = max(4, histories.rows // _PIECE)
    everything = records.unionByName(ledger, allowMissingColumns=True).repartition(pieces, *_ID)
    on_ledger = f.col("side") == _LEDGER
    found = everything.groupBy(*_ID).agg(
        *_of_side("s", _SOURCE),
        *_of_side("t", _TARGET),
        f.count_if("late").alias("s_late"),
        *(
            f.max(f.when(on_ledger, f.col(c))).alias(f"l_{c}")
            for c in ("outcome", "committed", "partition", "offset")
        ),
    )
    cases = histories.partitions.groupBy("case").agg(
        f.max(f.col("s_start") > 0).alias("trimmed"),
        f.max("compacted").alias("compacted"),
        f.max("ledger").alias("ledger"),
    )
    return found.join(f.broadcast(cases), "case").withColumn("told_apart", _told_apart())


def _told_apart() -> Column:
    """Whether copies on the target are known to be of the records in the source that have this id.

    Of equal records that the lab did not make some may be left in the source and others gone from it.
    """
    complete = ~f.col("trimmed") & ~f.col("compacted") & (f.col("t_count") > f.col("s_count"))
    one = ~f.col("compacted") | (f.col("s_count") == 1)
    equal = (f.col("t_count") == f.col("s_count")) & one
    return (f.col("run") > 0) | ((f.col("s_late") == 0) & (complete | equal))


def _of_side(prefix: str, side: int) -> list[Column]:
    def smallest(column: str) -> Column:
        return f.min(f.when(f.col("side") == side, f.col(column)))

    def largest(column: str) -> Column:
        return f.max(f.when(f.col("side") == side, f.col(column)))

    found = [
        f.count_if(f.col("side") == side).alias(f"{prefix}_count"),
        smallest("offset").alias(f"{prefix}_first"),
        largest("offset").alias(f"{prefix}_last"),
        smallest("intact").alias(f"{prefix}_intact"),
        largest("encoded").alias(f"{prefix}_encoded"),
        largest("tombstone").alias(f"{prefix}_tombstone"),
        largest("stamped_by_broker").alias(f"{prefix}_stamped_by_broker"),
        smallest("key_hash").alias(f"{prefix}_key"),
    ]
    for column in ("partition", "content", "headers", "timestamp"):
        found.append(smallest(column).alias(f"{prefix}_{column}"))
        found.append(largest(column).alias(f"{prefix}_{column}_max"))
    return found


def _identified(histories: Histories, records: DataFrame, side: int) -> DataFrame:
    """Each record with its id, hashes of what must not change, and whether its payload is intact."""
    content = f.xxhash64(f.col("key").isNull(), "key", f.col("value").isNull(), "value")
    # With their number, since of a header that has no value only the key is hashed.
    headers = f.xxhash64(f.coalesce(f.size("headers"), f.lit(0)), "headers")
    found = _with_lab_id(records, histories.runs) if histories.runs else _without_lab_id(records)
    made_by_lab = f.col("lab_id").isNotNull()
    return found.select(
        "case",
        f.when(made_by_lab, _index(_part(1), histories.runs)).otherwise(0).alias("run"),
        f.when(made_by_lab, _part(2).cast("int")).otherwise(0).alias("producer"),
        f.when(made_by_lab, _part(3).cast("long")).otherwise(content).alias("number"),
        f.lit(side).alias("side"),
        "partition",
        "offset",
        "timestamp",
        (f.col("timestamp_type") == 1).alias("stamped_by_broker"),
        content.alias("content"),
        headers.alias("headers"),
        f.col("value").isNull().alias("tombstone"),
        f.when(made_by_lab, f.col("value").isNull() | f.col("confirmed")).alias("intact"),
        "encoded",
        "late",
        (f.xxhash64("key") if histories.compacted else f.lit(None).cast("long")).alias("key_hash"),
    )


def _without_lab_id(records: DataFrame) -> DataFrame:
    return records.select(
        "*", f.lit(None).cast("string").alias("lab_id"), _NO.alias("confirmed"), _NO.alias("encoded")
    )


def _with_lab_id(records: DataFrame, runs: Sequence[str]) -> DataFrame:
    pattern = rf"^({'|'.join(runs)})-(0|[1-9]\d{{0,8}})-(0|[1-9]\d{{0,17}})$"
    claimed = f.substring_index(f.col("value").cast("string"), " ", 1)
    header = f.col("named").cast("string")
    # Decoded only if it can be: a value that is no base64 costs an exception, for each of the records.
    decoded = f.when(
        header.rlike("^[A-Za-z0-9+/]{8,80}={0,2}$"), f.try_to_binary(header, f.lit("base64")).cast("string")
    )
    in_header = f.when(header.rlike(pattern), header).otherwise(f.when(decoded.rlike(pattern), decoded))
    return (
        records.withColumn("claimed", f.when(claimed.rlike(pattern), claimed))
        .withColumn("named", f.expr(f"get(filter(headers, h -> h.key = '{HEADER}'), 0).value"))
        .withColumn("confirmed", f.coalesce(f.col("value") == _payload(f.col("claimed")), _NO))
        .withColumn(
            "lab_id",
            f.when(f.col("confirmed"), f.col("claimed")).otherwise(f.coalesce(in_header, f.col("claimed"))),
        )
        .withColumn("encoded", f.coalesce((header != f.col("lab_id")) & (decoded == f.col("lab_id")), _NO))
    )


def _payload(identity: Column) -> Column:
    """What lab.records.payload makes of an id, as long as the value. In bytes: characters are slow."""
    size, taken = f.length("value"), f.length(identity) + 1
    filler = f.repeat(f.sha2(identity, 256), (size / 64 + 1).cast("int")).cast("binary")
    start = f.concat(identity, f.lit(" ")).cast("binary")
    whole = f.concat(start, f.substring(filler, f.lit(1), size - taken))
    return f.when(size > taken, whole).otherwise(identity.cast("binary"))


def _part(number: int) -> Column:
    return f.substring_index(f.substring_index("lab_id", "-", number), "-", -1)


def _index(run: Column, runs: Sequence[str]) -> Column:
    """Runs are numbered from 1: groups of numbers are faster than groups of texts."""
    return f.coalesce(f.array_position(f.array(*map(f.lit, runs)), run).cast("int"), f.lit(0))


# -- what follows from all rows --------------------------------------------------------------------


def _upstream(ids: DataFrame) -> DataFrame:
    """With `partition` and `offset`: where the record is or was in the source, as far as is known."""
    return ids.withColumn("partition", f.coalesce("s_partition", "l_partition", "t_partition")).withColumn(
        "offset", f.coalesce("s_first", "l_offset")
    )


def _with_late(histories: Histories) -> DataFrame:
    """The source's records; `late` are those that came after what is owed."""
    if histories.owed is None:
        return histories.source.withColumn("late", _NO)
    joined = histories.source.join(f.broadcast(histories.owed), ["case", "partition"], "left")
    return joined.withColumn("late", f.coalesce(f.col("offset") >= f.col("s_owed"), _NO)).drop("s_owed")


def _with_owed(histories: Histories) -> DataFrame:
    partitions = histories.partitions
    if histories.owed is None:
        return partitions.withColumn("s_owed", f.col("s_end"))
    joined = partitions.join(histories.owed, ["case", "partition"], "left")
    return joined.withColumn("s_owed", f.coalesce("s_owed", "s_end"))


def _facts(ids: DataFrame, partitions: DataFrame) -> DataFrame:
    """Each partition with the rows that were read of it, and how far mirroring came.

    mirrored_first, mirrored_last: the first and last offset in the source of what is on the target;
    t_mirrored_first: where on the target the first record stands that is still in the source.
    """
    elsewhere_too = f.coalesce(f.col("s_partition") != f.col("s_partition_max"), _NO)
    mirrored = (f.col("t_count") > 0) & ~elsewhere_too
    both = (f.col("s_count") > 0) & f.col("told_apart") & (f.col("t_partition") == f.col("t_partition_max"))
    upstream = (
        _upstream(ids)
        .groupBy("case", "partition")
        .agg(
            f.sum("s_count").alias("s_rows"),
            f.min(f.when(mirrored, f.col("offset"))).alias("mirrored_first"),
            f.max(f.when(mirrored, f.col("offset"))).alias("mirrored_last"),
        )
    )
    downstream = ids.groupBy("case", f.col("t_partition").alias("partition")).agg(
        f.sum("t_count").alias("t_rows"), f.min(f.when(both, f.col("t_first"))).alias("t_mirrored_first")
    )
    keys = ["case", "partition"]
    return (
        partitions.join(upstream, keys, "left")
        .join(downstream, keys, "left")
        .na.fill(0, ["s_rows", "t_rows"])
        .coalesce(1)
    )


def _inverted(ids: DataFrame, partitions: DataFrame) -> DataFrame:
    """Records whose first copy on the target stands after a later record of the source.

    A log that has lost its beginning may have lost first copies: what a replay brings again of records
    from before the first that is left is no inversion.
    """
    in_order = Window.partitionBy("case", "t_partition").orderBy("t_first")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    starts = partitions.select("case", f.col("partition").alias("t_partition"), "t_start")
    return (
        _upstream(ids)
        .where((f.col("t_count") > 0) & (f.col("s_count") <= 1) & f.col("offset").isNotNull())
        .where("told_apart")
        .where(
            (f.col("t_partition") == f.col("partition")) & (f.col("t_partition_max") == f.col("partition"))
        )
        .select(*_ID, "t_partition", "t_first", "offset")
        .withColumn("reached", f.max("offset").over(before))
        .withColumn("begun", f.first("offset").over(before))
        .where(f.col("offset") < f.col("reached"))
        .join(starts, ["case", "t_partition"])
        .where((f.col("t_start") == 0) | (f.col("offset") > f.col("begun")))
        .select(*_ID, f.lit(True).alias("inverted"))
    )


def _last_of_keys(ids: DataFrame, partitions: DataFrame) -> DataFrame:
    """Of each key of a compacted topic the last record on both sides: the evidence table "keys"."""

    def last(side: str) -> DataFrame:
        what = f.struct(
            f.col(f"{side}_last").alias("offset"),
            f.col(f"{side}_content_max").alias("content"),
            f.col(f"{side}_tombstone").alias("tombstone"),
            "id",
        )
        return (
            ids.where(f.col(f"{side}_count") > 0)
            .groupBy("case", f.col(f"{side}_partition").alias("partition"), f.col(f"{side}_key").alias("key"))
            .agg(f.max(what).alias(f"{side}"))
        )

    compacted = partitions.where("compacted").select("case", "partition", "s_start", "s_owed")
    return (
        last("s")
        .join(last("t"), ["case", "partition", "key"], "full")
        .join(f.broadcast(compacted), ["case", "partition"])
        .select(
            *("case", "partition", "key", "s_start", "s_owed"),
            *(f.col(f"{s}.{c}").alias(f"{s}_{c}") for s in "st" for c in ("offset", "content", "tombstone")),
            f.coalesce("s.id", "t.id").alias("id"),
        )
    )


def _records(ids: DataFrame, partitions: DataFrame, inverted: DataFrame, last: DataFrame) -> DataFrame:
    """The evidence table "records": one row per id, with the facts of its source partition."""
    of_key = last.where(f.col("s_offset").isNotNull()).select(
        "case", "partition", f.col("key").alias("s_key"), f.col("s_offset").alias("last_of_key")
    )
    facts = partitions.select(
        *("case", "partition", "s_start", "s_owed", "s_end", "t_start"),
        *("mirrored_first", "mirrored_last", "t_mirrored_first"),
    )
    return (
        _upstream(ids)
        .withColumn("made_by_lab", f.col("run") > 0)
        .join(f.broadcast(facts), ["case", "partition"], "left")
        .join(inverted, list(_ID), "left")
        .join(of_key, ["case", "partition", "s_key"], "left")
        .withColumn("inverted", f.coalesce("inverted", _NO))
        .withColumn("superseded", f.coalesce(f.col("s_last") < f.col("last_of_key"), _NO))
    )


def _name(runs: Sequence[str]) -> Column:
    """For people: a lab's record by its id, any other by the hash of its content."""
    run = f.get(f.array(f.lit(""), *map(f.lit, runs)), f.col("run"))
    lab = f.concat_ws("-", run, "producer", "number")
    return f.when(f.col("run") > 0, lab).otherwise(f.concat(f.lit("content "), f.hex("number")))
