"""Where MM2 went on later in the source than it had stopped: what two offset syncs say of what lies between.

Where the last sync is late, what stands last on both sides takes the place of the next one.

MM2 writes a sync at each start of a task, at each gap in the source's offsets, and now and then between. From
one to the next the source goes forward by as many offsets as the target, unless some records were left out.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from lab.ledger import ACKED
from lab.verify.spans import overlap


def with_skipped(syncs: DataFrame, records: DataFrame, partitions: DataFrame) -> DataFrame:
    """Each sync with the one before it in its partition, and what MM2 left out between the two. Added:

    emitted     False of the one row per partition that is no sync, but the last record on both sides
    prev_upstream prev_downstream   null without one, or where MM2 went back
    skipped     offsets of the source between the two that never came to the target, and that the source no
                longer has; null where MM2 went back later to before the second sync, or where nothing between
                the two is gone from the source: of the records that it has the check `loss` judges each
    in_ledger   how many of them a ledger knows as acked
    holes       what the source still has of the partition is not without holes, so that it holds markers of
                transactions, or is compacted: such offsets were no records
    """
    limits = partitions.select(
        *("case", "partition", "s_start"),
        (f.col("compacted") | (f.col("s_end") - f.col("s_start") > f.col("s_rows"))).alias("holes"),
    )
    syncs = syncs.withColumn("emitted", f.lit(True))
    syncs = syncs.unionByName(_last_on_both_sides(syncs, records), allowMissingColumns=True)
    pairs = _pairs(syncs).join(f.broadcast(limits), ["case", "partition"], "left")
    gone = f.col("prev_upstream") < f.col("s_start")
    pairs = pairs.withColumn("missing", f.when(gone, _distance("upstream") - _distance("downstream")))
    found = _known(pairs.where(f.col("missing") > 0), records)
    pairs = pairs.join(f.broadcast(found), ["case", "partition", "position"], "left")
    left = f.greatest(f.col("upstream") - f.greatest("s_start", "prev_upstream"), f.lit(0))
    not_there = f.col("missing") - (left - f.coalesce("mirrored", f.lit(0)))
    skipped = f.when(f.col("missing") > 0, f.greatest(not_there, f.lit(0))).when(gone, f.lit(0))
    return pairs.withColumns(
        {"skipped": skipped.cast("long"), "in_ledger": f.coalesce("in_ledger", f.lit(0))}
    ).drop("s_start", "missing", "mirrored")


def _last_on_both_sides(syncs: DataFrame, records: DataFrame) -> DataFrame:
    """Per partition, where it stands beyond the last sync."""
    partition = f.col("s_partition").alias("partition")
    in_place = (
        (f.col("s_partition") == f.col("t_partition")) & (f.col("s_count") == 1) & (f.col("t_count") > 0)
    )
    last = (
        records.where(in_place)
        .groupBy("case", partition)
        .agg(
            f.max(f.struct(f.col("s_last").alias("upstream"), f.col("t_last").alias("downstream"))).alias(
                "at"
            )
        )
        .select("case", "partition", "at.*")
    )
    ends = syncs.groupBy("case", "partition").agg(
        f.max_by("upstream", "position").alias("up"), f.max_by("downstream", "position").alias("down")
    )
    return (
        last.join(f.broadcast(ends), ["case", "partition"])
        .where((f.col("upstream") > f.col("up")) & (f.col("downstream") > f.col("down")))
        .select(
            *("case", "partition", "upstream", "downstream"),
            f.lit(2**62).cast("long").alias("position"),
            f.lit(False).alias("outdated"),
            f.lit(False).alias("emitted"),
        )
    )


def _distance(end: str) -> Column:
    return f.col(end) - f.col(f"prev_{end}")


def _pairs(syncs: DataFrame) -> DataFrame:
    """With the sync before, where both are of one way through source and target that nothing came back to.

    A smaller offset of the target later on is that of another topic: the syncs before are not of this one.
    """
    of_partition = Window.partitionBy("case", "partition")
    in_order = of_partition.orderBy("position")
    # backwards: for a frame that reaches to the end Spark goes over all following rows again for each row
    later = of_partition.orderBy(f.col("position").desc()).rowsBetween(Window.unboundedPreceding, -1)
    before = {end: f.lag(end).over(in_order) for end in ("upstream", "downstream")}
    forward = (before["upstream"] < f.col("upstream")) & (before["downstream"] < f.col("downstream"))
    back = (f.min("upstream").over(later) < f.col("upstream")) | (
        f.min("downstream").over(later) <= f.col("downstream")
    )
    stands = forward & ~f.coalesce(back, f.lit(False))
    return syncs.withColumns({f"prev_{end}": f.when(stands, value) for end, value in before.items()})


def _known(pairs: DataFrame, records: DataFrame) -> DataFrame:
    """Of the records between two syncs: how many the source has that were mirrored, and how many it had, by a
    ledger, that were not.
    """
    between = (f.col("at") >= f.col("prev_upstream")) & (f.col("at") < f.col("upstream"))
    there, mirrored = f.col("s_count") > 0, f.col("t_count") > 0
    acked = (f.col("l_outcome") == ACKED) & f.coalesce("l_committed", f.lit(False))
    at = f.coalesce("s_first", "l_offset")
    placed = records.where((there & mirrored) | (~there & ~mirrored & acked)).select(
        *("case", "partition", at.alias("at"), (there & mirrored).alias("mirrored")),
        *("span", "s_first", "s_last"),
    )
    in_block = f.when(f.col("span") > 0, overlap(f.col("prev_upstream"), f.col("upstream")))
    asked = pairs.select("case", "partition", "position", "prev_upstream", "upstream")
    return (
        placed.join(f.broadcast(asked), ["case", "partition"])
        .withColumn("records", f.when(f.col("span").isNull(), f.when(between, 1)).otherwise(in_block))
        .where(f.col("records") > 0)
        .groupBy("case", "partition", "position")
        .agg(
            f.sum(f.when(f.col("mirrored"), f.col("records"))).alias("mirrored"),
            f.sum(f.when(~f.col("mirrored"), f.col("records"))).alias("in_ledger"),
        )
    )
