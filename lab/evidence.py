"""Evidence: what one scan of both topics and the ledger leaves, one row per record id.

Checks never see records, only this table: per id how often, where and with what content the record
stands in the source and in the target topic, and what the ledger says of it. All frames carry a
column `case`, so that many small histories are judged in one job; a real verification has case 0.

A record's id is found where it survived: in the payload when the rest of the payload confirms it,
else in the header `lab-id` (also when a converter has base64-encoded it), else in a payload that is
damaged. A record that the lab did not make gets an id from its content, so that the two topics can
be compared without a ledger; equal records then share an id and are told apart by their number.
"""

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.workload import HEADER

RECORD_COLUMNS: Final = "case long, partition int, offset long, timestamp long, timestamp_type int, key binary, value binary, headers array<struct<key: string, value: binary>>"
LEDGER_COLUMNS: Final = "case long, run string, producer int, sequence long, outcome int, transaction int, committed boolean, partition int, offset long"
PARTITION_COLUMNS: Final = "case long, partition int, s_start long, s_end long, t_start long, t_end long"
ACKED, FAILED, OUTCOME_UNKNOWN = 1, 2, 3

_ID: Final = r"^[0-9a-f]{8}-\d+-\d+$"


@dataclass(frozen=True, kw_only=True)
class Histories:
    """What is judged: records of both sides, the ledger, and where each partition began and ended.

    `ledger` may be empty: for topics that the lab did not fill. `partitions` are the offsets that the
    brokers named before the scan; nothing outside them is read.
    """

    source: DataFrame
    target: DataFrame
    ledger: DataFrame
    partitions: DataFrame


def records_table(histories: Histories) -> DataFrame:
    """The evidence about records: one row per case and id.

    Columns (`s_` source, `t_` target, `l_` ledger; null where that side has no such record):

    case, id, made_by_lab
    s_count s_partition s_partition_max s_first s_last   how often and where; offsets of first and last
    s_content s_headers s_intact s_tombstone s_timestamp hashes of key and value, and of the headers;
                                                         whether the payload is what its id says
    t_…                                                  the same for the target; of hashes and timestamps
                                                         both the smallest and the largest: t_content_max …
    t_type_max                                           1 when any copy is stamped by its broker
    l_outcome l_partition l_offset l_committed
    """
    source, target = _identified(histories.source), _identified(histories.target)
    ledger = histories.ledger.select(
        "case",
        f.concat_ws("-", "run", "producer", "sequence").alias("id"),
        f.lit(True).alias("made_by_lab"),
        *(f.col(c).alias(f"l_{c}") for c in ("outcome", "partition", "offset", "committed")),
    )
    sides = _side(source, "s").unionByName(_side(target, "t"), allowMissingColumns=True)
    everything = sides.unionByName(ledger, allowMissingColumns=True)
    return everything.groupBy("case", "id").agg(
        f.max("made_by_lab").alias("made_by_lab"),
        *_of_side("s"),
        *_of_side("t"),
        *(f.max(f"l_{c}").alias(f"l_{c}") for c in ("outcome", "partition", "offset", "committed")),
    )


_PER_SIDE: Final = ("content", "headers", "intact", "tombstone", "timestamp", "type")


def _side(records: DataFrame, side: str) -> DataFrame:
    columns = ("partition", "offset", *_PER_SIDE)
    return records.select("case", "id", "made_by_lab", *(f.col(c).alias(f"{side}_{c}") for c in columns))


def _of_side(side: str) -> list[Column]:
    found = [
        f.count(f"{side}_offset").alias(f"{side}_count"),
        f.min(f"{side}_partition").alias(f"{side}_partition"),
        f.max(f"{side}_partition").alias(f"{side}_partition_max"),
        f.min(f"{side}_offset").alias(f"{side}_first"),
        f.max(f"{side}_offset").alias(f"{side}_last"),
    ]
    for column in _PER_SIDE:
        found.append(f.min(f"{side}_{column}").alias(f"{side}_{column}"))
        if side == "t":
            found.append(f.max(f"{side}_{column}").alias(f"{side}_{column}_max"))
    return found


def _identified(records: DataFrame) -> DataFrame:
    """Each record with its id, hashes of what must not change, and whether its payload is intact."""
    text = f.col("value").cast("string")
    claimed = f.substring_index(text, " ", 1)
    named = f.col("header_id").cast("string")
    decoded = f.try_to_binary(named, f.lit("base64")).cast("string")
    return (
        records.withColumn("header_id", f.expr(f"filter(headers, h -> h.key = '{HEADER}')[0].value"))
        .withColumn("claimed", f.when(claimed.rlike(_ID), claimed))
        .withColumn("named", f.when(named.rlike(_ID), named).when(decoded.rlike(_ID), decoded))
        .withColumn("confirmed", text == _payload(f.col("claimed"), f.length("value")))
        .withColumn(
            "lab_id", f.when(f.col("confirmed"), f.col("claimed")).otherwise(f.coalesce("named", "claimed"))
        )
        .select(
            "case",
            "partition",
            "offset",
            "timestamp",
            f.col("timestamp_type").alias("type"),
            f.coalesce(
                "lab_id", f.concat(f.lit("content:"), f.hex(_content()), f.lit("@"), "timestamp")
            ).alias("id"),
            f.col("lab_id").isNotNull().alias("made_by_lab"),
            _content().alias("content"),
            _headers().alias("headers"),
            f.col("value").isNull().alias("tombstone"),
            f.when(
                f.col("lab_id").isNotNull(), f.col("value").isNull() | f.coalesce("confirmed", f.lit(False))
            ).alias("intact"),
        )
    )


def _payload(identity: Column, size: Column) -> Column:
    """What lab.workload.payload makes of an id, as an expression."""
    digest = f.sha2(identity, 256)
    room = size - f.length(identity) - 1
    repeated = f.repeat(digest, (room / 64 + 1).cast("int"))
    return f.when(room > 0, f.concat(identity, f.lit(" "), f.substring(repeated, f.lit(1), room))).otherwise(
        identity
    )


def _content() -> Column:
    """Key and value, null told apart from empty: Spark's hash passes over nulls."""
    return f.xxhash64(f.col("key").isNull(), "key", f.col("value").isNull(), "value")


def _headers() -> Column:
    return f.xxhash64(f.transform("headers", lambda h: f.struct(h["key"], h["value"].isNull(), h["value"])))
