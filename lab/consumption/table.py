"""The evidence table "consumption": one row per record, whoever knows of it.

A record that no workload has made is known by its place. Both frames carry a column `case`, so that many
small histories are judged in one job; a real one has case 0.

A `stream` is what one application sends, to whichever topics it has moved meanwhile; its partitions go by
their number, the same one everywhere. Producers have a `generation`: those of a later one began to send when
those before had stopped, as when a producer moves to another cluster. A partition's records are in order if
each producer's are, and none of an earlier generation comes after one of a later.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from lab.ledger import ACKED, FAILED

PRODUCED_COLUMNS: Final = (
    "case int, stream string, generation int, cluster string, topic string, run string, producer int, "
    "sequence long, outcome int, transaction int, committed boolean, partition int, offset long"
)
# `session`: which of the applications, from 0 in the order of their starts; `number`: which of its records
PROCESSED_COLUMNS: Final = (
    "case int, session int, cluster string, number long, topic string, partition int, offset long, "
    "run string, producer int, sequence long, at_ms long, committed boolean"
)
_ID: Final = ("case", "run", "producer", "sequence")
_NO: Final = f.lit(False)


def per_record(produced: DataFrame, processed: DataFrame, clusters: Sequence[str]) -> DataFrame:
    """With `times` and `again_<n>`: how often it was processed, and how often again on each of `clusters`.

    `inverted`: it was processed for the first time after one that its partition has after it.
    """
    joined = _known(produced).join(_by_id(processed, clusters), list(_ID), "full")
    # a record whose ack was lost is known by where it was read
    rows = joined.select(
        *_ID,
        "stream",
        "generation",
        f.coalesce("cluster", "p_cluster").alias("cluster"),
        f.coalesce("topic", "p_topic").alias("topic"),
        f.coalesce("partition", "p_partition").alias("partition"),
        f.coalesce("offset", "p_offset").alias("offset"),
        f.coalesce("acked", _NO).alias("acked"),
        f.coalesce("possible", _NO).alias("possible"),
        f.coalesce("times", f.lit(0)).alias("times"),
        "first",
        *(f.coalesce(name, f.lit(0)).alias(name) for name in _again(clusters)),
        f.when(f.col("producer") >= 0, f.concat_ws("-", "run", "producer", "sequence"))
        .otherwise(f.concat_ws("/", "run", -1 - f.col("producer"), "sequence"))
        .alias("id"),
    )
    return rows.join(_inverted(rows), list(_ID), "left").withColumn("inverted", f.coalesce("inverted", _NO))


def _known(produced: DataFrame) -> DataFrame:
    """Acked: in the topic for certain. Possible: it may be there, so that who reads it is not surprised."""
    ended = f.col("transaction").isNull() | f.coalesce("committed", _NO)
    aborted = ~f.coalesce("committed", f.lit(True))
    return produced.select(
        *_ID,
        *("stream", "generation", "cluster", "topic", "partition", "offset"),
        ((f.col("outcome") == ACKED) & ended).alias("acked"),
        ((f.col("outcome") != FAILED) & ~aborted).alias("possible"),
    )


def _by_id(processed: DataFrame, clusters: Sequence[str]) -> DataFrame:
    """How often each record was processed, and everything of the first time."""
    place = f.concat_ws("/", "cluster", "topic")  # no run's name has a slash
    named = processed.withColumns(
        {
            "run": f.coalesce("run", place),
            "producer": f.coalesce("producer", -1 - f.col("partition")),
            "sequence": f.coalesce("sequence", "offset"),
            # by the clock, which one application alone would not need
            "turn": f.struct("at_ms", "session", "number"),
        }
    )
    first = f.min(f.struct("turn", "cluster", "topic", "partition", "offset"))
    on = [f.count_if(f.col("cluster") == alias) for alias in clusters]
    counted = named.groupBy(*_ID).agg(
        f.count("*").alias("times"),
        first.alias("at"),
        *(count.alias(name) for count, name in zip(on, _again(clusters), strict=True)),
    )
    again = [
        (f.col(name) - f.when(f.col("at.cluster") == alias, 1).otherwise(0)).alias(name)
        for name, alias in zip(_again(clusters), clusters, strict=True)
    ]
    places = [f.col(f"at.{name}").alias(f"p_{name}") for name in ("cluster", "topic", "partition", "offset")]
    return counted.select(*_ID, "times", f.col("at.turn").alias("first"), *places, *again)


def _inverted(rows: DataFrame) -> DataFrame:
    """Of each record only the first time counts: what is processed again is a replay, and no disorder."""
    compared = rows.where(f.col("generation").isNotNull() & (f.col("times") > 0))
    of_partition = Window.partitionBy("case", "stream", "partition").orderBy("first")
    of_producer = Window.partitionBy("case", "partition", "run", "producer").orderBy("first")

    def reached(column: str, window: Window) -> Column:
        return f.max(column).over(window.rowsBetween(Window.unboundedPreceding, -1))

    late = f.col("sequence") < reached("sequence", of_producer)
    overtaken = f.col("generation") < reached("generation", of_partition)
    offending = f.coalesce(late, _NO) | f.coalesce(overtaken, _NO)
    return compared.select(*_ID, offending.alias("inverted"))


def _again(clusters: Sequence[str]) -> list[str]:
    return [f"again_{number}" for number in range(len(clusters))]
