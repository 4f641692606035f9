"""What follows from all rows: how far mirroring came, what stands out of order, the last of each key."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from lab.verify.evidence.ids import ID, elsewhere

_NO: Final = f.lit(False)


def _upstream(ids: DataFrame) -> DataFrame:
    """With `partition` and `offset`: where the record is or was in the source, as far as is known."""
    return ids.withColumn("partition", f.coalesce("s_partition", "l_partition", "t_partition")).withColumn(
        "offset", f.coalesce("s_first", "l_offset")
    )


def facts(ids: DataFrame, partitions: DataFrame) -> DataFrame:
    """Each partition with the rows that were read of it, and how far mirroring came.

    mirrored_first, mirrored_last: the first and last offset in the source of what is on the target;
    t_mirrored_first: where on the target the first record stands that is still in the source;
    first_offset, last_offset: between which records are known of, which the source may have deleted;
    level: all that are on both sides stand at one distance from their offsets in the source, so in order.
    """
    elsewhere_too = f.coalesce(f.col("s_partition") != f.col("s_partition_max"), _NO)
    mirrored = (f.col("t_count") > 0) & ~elsewhere_too
    both = (f.col("s_count") > 0) & f.col("told_apart") & (f.col("t_partition") == f.col("t_partition_max"))
    distance = f.when(_placed(), f.col("t_first") - f.col("offset"))
    upstream = (
        _upstream(ids)
        .groupBy(f.col("case"), f.col("partition"))
        .agg(
            f.sum(f.col("s_count") * f.col("weight")).alias("s_rows"),
            f.min(f.when(mirrored, _first())).alias("mirrored_first"),
            f.max(f.when(mirrored, _last())).alias("mirrored_last"),
            f.min("offset").alias("first_offset"),
            f.max(_last()).alias("last_offset"),
            f.coalesce(f.min(distance) == f.max(distance), f.lit(True)).alias("level"),
        )
    )
    downstream = ids.groupBy(f.col("case"), f.col("t_partition").alias("partition")).agg(
        f.sum(f.col("t_count") * f.col("weight")).alias("t_rows"),
        f.sum(f.when(elsewhere(), f.col("t_count")).otherwise(0)).alias("t_others"),
        f.min(f.when(both, f.col("t_first"))).alias("t_mirrored_first"),
    )
    keys = ["case", "partition"]
    return (
        partitions.join(upstream, keys, "left")
        .join(downstream, keys, "left")
        .na.fill(0, ["s_rows", "t_rows", "t_others"])
        .coalesce(1)
    )


def _first() -> Column:
    """Of rows of `_upstream`: the offset; of equal records in a compacted topic that of the last."""
    return f.when(f.col("compacted"), f.coalesce("s_last", "offset")).otherwise(f.col("offset"))


def _last() -> Column:
    """Of rows of `_upstream`: the last offset, which for a whole block is not the first."""
    return f.when(f.col("weight") > 1, f.col("s_last")).otherwise(f.col("offset"))


def _placed() -> Column:
    """Of rows of `_upstream`: the record is known to stand in the same partition on both sides."""
    return (
        (f.col("t_count") > 0)
        & (f.col("s_count") <= 1)
        & f.col("offset").isNotNull()
        & f.col("told_apart")
        & (f.col("t_partition") == f.col("partition"))
        & (f.col("t_partition_max") == f.col("partition"))
    )


def inverted(ids: DataFrame, partitions: DataFrame) -> DataFrame:
    """Records whose first copy on the target stands after a later record of the source.

    A log that has lost its beginning may have lost first copies: what a replay brings again of records
    from before the first that is left is no inversion, but comes `again`; as may any in a compacted topic.
    Only partitions that are not level are sorted.
    """
    in_order = Window.partitionBy("case", "partition").orderBy("t_first")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    to_sort = partitions.where(~f.col("level")).select("case", "partition", "t_start")
    return (
        _upstream(ids)
        .where(_placed())
        .select(*ID, "partition", "t_first", "offset", _last().alias("last"), "compacted")
        .join(f.broadcast(to_sort), ["case", "partition"])
        .withColumn("reached", f.max("last").over(before))
        .withColumn("begun", f.first("offset").over(before))
        .where(f.col("offset") < f.col("reached"))
        .withColumn("inverted", (f.col("t_start") == 0) | (f.col("offset") > f.col("begun")))
        .select(*ID, "inverted", (f.col("compacted") | ~f.col("inverted")).alias("again"))
    )


def last_of_keys(ids: DataFrame, partitions: DataFrame) -> DataFrame:
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
            .groupBy(
                f.col("case"),
                f.col(f"{side}_partition").alias("partition"),
                f.col(f"{side}_key").alias("key"),
            )
            .agg(f.max(what).alias(f"{side}"))
        )

    compacted = partitions.where("compacted").select("case", "partition", "s_start", "s_owed", "t_start")
    return (
        last("s")
        .join(last("t"), ["case", "partition", "key"], "full")
        .join(f.broadcast(compacted), ["case", "partition"])
        .select(
            *("case", "partition", "key", "s_start", "s_owed", "t_start"),
            *(f.col(f"{s}.{c}").alias(f"{s}_{c}") for s in "st" for c in ("offset", "content", "tombstone")),
            f.coalesce("s.id", "t.id").alias("id"),
        )
    )


def records(ids: DataFrame, partitions: DataFrame, inverted: DataFrame, last: DataFrame) -> DataFrame:
    """The evidence table "records": one row per id, with the facts of its source partition."""
    of_key = last.where(f.col("s_offset").isNotNull()).select(
        "case", "partition", f.col("key").alias("s_key"), f.col("s_offset").alias("last_of_key")
    )
    facts = partitions.select(
        *("case", "partition", "s_start", "s_owed", "s_end", "t_start", "t_end"),
        *("mirrored_first", "mirrored_last", "t_mirrored_first", "first_offset", "last_offset"),
    )
    return (
        _upstream(ids)
        .withColumn("made_by_lab", f.col("run") > 0)
        .join(f.broadcast(facts), ["case", "partition"], "left")
        .join(inverted, list(ID), "left")
        .join(of_key, ["case", "partition", "s_key"], "left")
        .withColumns({name: f.coalesce(name, _NO) for name in ("inverted", "again")})
        .withColumn("superseded", f.coalesce(f.col("s_last") < f.col("last_of_key"), _NO))
    )
