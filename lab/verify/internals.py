"""Evidence about MM2's own doings: syncs, checkpoints and groups, set beside the evidence of records.

Every table has a column `case`, as lab.verify.evidence has it, and is about one mirrored topic. MM2's topics
must be frozen before the mirrored ones: then whatever they point to had been written, and an offset
beyond an end is wrong rather than early.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from lab.spark import SparkSession, in_memory
from lab.verify.parity import AclRow, ConfigRow, GroupRow, TopicRow
from lab.verify.skipping import with_skipped
from lab.verify.spans import distance, overlap, standing_in_blocks

SYNC_COLUMNS: Final = (
    "case int, topic string, partition int, upstream long, downstream long, position long, written_ms long"
)
CHECKPOINT_COLUMNS: Final = (
    "case int, group string, topic string, partition int, upstream long, downstream long,"
    " metadata string, position long, written_ms long"
)
GROUP_COLUMNS: Final = (
    "case int, group string, topic string, partition int, s_committed long, t_committed long,"
    " t_before long, t_state string, synced boolean, due_ms long, fresh_ms long, s_owed long,"
    " settled boolean, known boolean, rested boolean"
)
CONFIG_COLUMNS: Final = (
    "case int, topic string, key string, rule string, expected string, found string, judged boolean,"
    " due boolean"
)
ACL_COLUMNS: Final = (
    "case int, topic string, pattern string, principal string, host string, operation string,"
    " permission string, expected boolean, found boolean, before boolean, due boolean"
)
TOPIC_COLUMNS: Final = (
    "case int, topic string, remote string, selected boolean, internal boolean,"
    " s_partitions int, t_partitions int, due boolean"
)
# What the three functions below add, for a table that is empty because nothing could be in it.
SYNC_ADDED: Final = (
    "outdated boolean, s_id string, t_id string, t_start long, t_end long,"
    " prev_upstream long, prev_downstream long, skipped long, in_ledger long, holes boolean,"
    " emitted boolean"
)
CHECKPOINT_ADDED: Final = "prev_upstream long, prev_downstream long"
GROUP_ADDED: Final = (
    "upstream long, downstream long, written_ms long, furthest long, due long, s_top long, t_end long,"
    " skipped long, first_skipped long, redelivered long, again long"
)
_COLUMNS: Final = {
    GroupRow: GROUP_COLUMNS,
    ConfigRow: CONFIG_COLUMNS,
    AclRow: ACL_COLUMNS,
    TopicRow: TOPIC_COLUMNS,
}
Row = GroupRow | ConfigRow | AclRow | TopicRow


def rows_table(spark: SparkSession, kind: type[Row], rows: Iterable[Row], case: int = 0) -> DataFrame:
    """The rows that lab.verify.parity made, as a table; it may be empty."""
    return table(spark, _COLUMNS[kind], [(case, *astuple(row)) for row in rows])


def table(spark: SparkSession, columns: str, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(list(rows), columns)


def syncs_table(syncs: DataFrame, records: DataFrame, partitions: DataFrame) -> DataFrame:
    """Each sync with the ids of the records that stand at its two ends.

    syncs: SYNC_COLUMNS, of this source topic only. records, partitions: lab.verify.evidence's. Added:

    outdated        MM2 went back in the source since, and translates by it no more: the records may have
                    been mirrored anew, into another topic
    s_id t_id       null where no record stands any more, or where its place is not known because the
                    same id stands more than twice in the topic
    t_start t_end   of the target partition
    and what lab.verify.skipping adds
    """
    limits = partitions.select("case", "partition", "t_start", "t_end")
    syncs = _with_outdated(syncs)
    standing = in_memory(_standing(syncs, records))
    for side, end in _ENDS.items():
        ids = standing.where(f.col("side") == side).select(
            "case", "partition", f.col("at").alias(end), f.col("id").alias(f"{side}_id")
        )
        syncs = syncs.join(f.broadcast(ids), ["case", "partition", end], "left")
    syncs = syncs.join(f.broadcast(limits), ["case", "partition"], "left")
    return with_skipped(syncs, records, partitions)


_ENDS: Final = {"s": "upstream", "t": "downstream"}


def _with_outdated(syncs: DataFrame) -> DataFrame:
    """MM2 forgets the syncs of a partition when one begins before the last (`OffsetSyncStore`)."""
    whole = Window.partitionBy("case", "partition")
    went_back = f.lag("upstream").over(whole.orderBy("position")) > f.col("upstream")
    since = f.max(f.when(f.col("went_back"), f.col("position"))).over(whole)
    return (
        syncs.withColumn("went_back", went_back)
        .withColumn("outdated", f.coalesce(f.col("position") < since, f.lit(False)))
        .drop("went_back")
    )


def _standing(syncs: DataFrame, records: DataFrame) -> DataFrame:
    """The ids that stand, first or last of their kind, at the ends of the syncs. One scan of the records."""
    found, points = records.where(f.col("span").isNull()), []
    for side, end in _ENDS.items():
        ends = syncs.select("case", f.col("partition").alias(f"{side}_partition"), end).distinct()
        for place in ("first", "last"):
            at, met = f"{side}_{place}", f"{side}_{place}_met"
            marked = ends.select("case", f"{side}_partition", f.col(end).alias(at), f.lit(True).alias(met))
            found = found.join(f.broadcast(marked), ["case", f"{side}_partition", at], "left")
            one_place = f.col(f"{side}_partition") == f.col(f"{side}_partition_max")
            once = f.lit(True) if place == "first" else f.col(f"{side}_first") != f.col(f"{side}_last")
            point = f.struct(
                f.lit(side).alias("side"),
                f.col(f"{side}_partition").alias("partition"),
                f.col(at).alias("at"),
            )
            points.append(f.when(f.col(met) & one_place & once, point))
    single = (
        found.where(" or ".join(f"{side}_{place}_met" for side in _ENDS for place in ("first", "last")))
        .select("case", "id", f.explode(f.array_compact(f.array(*points))).alias("point"))
        .select("case", "id", "point.*")
    )
    return single.unionByName(standing_in_blocks(syncs, _ENDS, records))


def checkpoints_table(checkpoints: DataFrame) -> DataFrame:
    """Each checkpoint with the one before it of the same group and partition: prev_upstream,
    prev_downstream. checkpoints: CHECKPOINT_COLUMNS.
    """
    order = Window.partitionBy("case", "group", "topic", "partition").orderBy("position")
    return checkpoints.withColumn("prev_upstream", f.lag("upstream").over(order)).withColumn(
        "prev_downstream", f.lag("downstream").over(order)
    )


_GROUP: Final = ("case", "group", "topic", "partition")


def groups_table(
    groups: DataFrame, checkpoints: DataFrame, records: DataFrame, partitions: DataFrame
) -> DataFrame:
    """What a failover at this moment would mean for each group and partition of one mirrored topic.

    groups: GROUP_COLUMNS. checkpoints: CHECKPOINT_COLUMNS. Both of this remote topic only. Added:

    upstream downstream written_ms   the latest checkpoint; null without one
    furthest                         the largest `downstream` of all its checkpoints
    due                              `downstream` of the latest that must have been synced by now
    s_top t_end                      the last source offset that holds a record; the target's end
    skipped first_skipped            records that the group has not read on the source and would not read
                                     on the target, and the smallest source offset of them
    redelivered                      records on the target that it would read again
    again                            of them those that it had read when the checkpoint was written
    """
    latest = checkpoints.groupBy(*_GROUP).agg(
        f.max_by(f.struct("upstream", "downstream", "written_ms"), "position").alias("latest"),
        f.max("downstream").alias("furthest"),
    )
    due = (
        checkpoints.join(groups.select(*_GROUP, "due_ms"), list(_GROUP))
        .where(f.col("written_ms") <= f.col("due_ms"))
        .groupBy(*_GROUP)
        .agg(f.max_by("downstream", "position").alias("due"))
    )
    tops = records.groupBy("case", f.col("s_partition").alias("partition")).agg(
        f.max("s_last").alias("s_top")
    )
    places = (
        groups.join(latest.select(*_GROUP, "latest.*", "furthest"), list(_GROUP), "full")
        .join(due, list(_GROUP), "left")
        .join(tops, ["case", "partition"], "left")
        .join(partitions.select("case", "partition", "t_end"), ["case", "partition"], "left")
    )
    misplaced = _misplaced(places, records)
    return places.join(misplaced, list(_GROUP), "left").fillna(0, ["skipped", "redelivered", "again"])


def without_read_on(groups: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """Without `t_before` where what the group has now is no checkpoint's: so somebody else has set it.

    Of an offset that is a checkpoint's MM2 has to be able to say why it is less than what was there.
    """
    made = checkpoints.select(*_GROUP, f.col("downstream").alias("t_committed"), f.lit(True).alias("made"))
    joined = groups.join(made.distinct(), [*_GROUP, "t_committed"], "left")
    kept = joined.withColumn("t_before", f.when(f.col("made"), f.col("t_before")))
    return kept.select(*groups.columns)


def reached() -> Column:
    """The source offset that a group has reached: what it committed, else what its checkpoint says."""
    return f.when(f.col("s_committed") >= 0, f.col("s_committed")).otherwise(f.col("upstream"))


def _misplaced(places: DataFrame, records: DataFrame) -> DataFrame:
    translated = places.where(f.col("downstream").isNotNull()).select(
        *_GROUP, "upstream", "downstream", reached().alias("reached")
    )
    unread, before = f.col("s_last") >= f.col("upstream"), f.col("t_last") < f.col("downstream")
    read, after = f.col("s_last") < f.col("reached"), f.col("t_last") >= f.col("downstream")
    skipped, again = unread & before & ~f.coalesce(~f.col("l_committed"), f.lit(False)), read & after
    copies = f.when(f.col("t_first") >= f.col("downstream"), f.col("t_count")).otherwise(f.col("t_count") - 1)
    in_place = (
        (f.col("s_partition") == f.col("s_partition_max"))
        & (f.col("t_partition") == f.col("s_partition"))
        & (f.col("t_partition_max") == f.col("s_partition"))
    )
    single = f.col("span").isNull()
    turning = f.col("downstream") + distance()  # the place in the source of what it would read first
    of_block = {
        "skipped": overlap(f.col("upstream"), turning),
        "redelivered": overlap(turning, f.col("reached")),
        "again": overlap(turning, f.least("reached", "upstream")),
    }
    had_read = again & (f.col("s_last") < f.col("upstream"))
    of_record = {
        "skipped": f.when(skipped, 1).otherwise(0),
        "redelivered": f.when(again, copies).otherwise(0),
        "again": f.when(had_read, copies).otherwise(0),
    }
    in_block = f.when(f.col("span") > 0, 1).otherwise(0)
    counted = {
        name: f.when(single, of_record[name]).otherwise(of_block[name] * in_block).cast("long")
        for name in of_record
    }
    first = f.when(single, f.col("s_last")).otherwise(f.greatest("s_first", "upstream"))
    return (
        records.where(in_place)
        .withColumn("partition", f.col("s_partition"))
        .join(f.broadcast(translated), ["case", "partition"])
        .withColumns(counted)
        .where((f.col("skipped") > 0) | (f.col("redelivered") > 0))
        .groupBy(*_GROUP)
        .agg(
            f.sum("skipped").alias("skipped"),
            f.min(f.when(f.col("skipped") > 0, first)).alias("first_skipped"),
            f.sum("redelivered").alias("redelivered"),
            f.sum("again").alias("again"),
        )
    )
