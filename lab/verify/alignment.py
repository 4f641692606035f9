"""Where each record of the target stood in the source, found without an id in the record.

MM2 keeps partition and order, so the target is the source shifted: by a distance that changes only where
something happened, such as a hole or a replay. A record whose key, value and timestamp stand once in its
source partition tells the distance; those between two such records follow from theirs. So equal records are
told apart by their places, and a damaged one is known by its neighbours.

Places are ranks, the number of records before, not offsets: markers of transactions take offsets of one
side only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

PARTITION: Final = ("case", "partition")
_COMPARED: Final = ("content", "headers", "timestamp")
_NO: Final = f.lit(False)


@dataclass(frozen=True)
class Alignment:
    """Of both sides: case, partition, offset, timestamp, content, headers, stamped (by the target's broker).

    partitions: case, partition, s_start, t_start, and `settled`: all that the source has was due, so both
    logs end with the same record.
    """

    source: DataFrame
    target: DataFrame
    partitions: DataFrame
    # makes a frame now, which is read several times
    keep: Callable[[str, DataFrame], DataFrame] = lambda _, frame: frame

    def places(self) -> DataFrame:
        """case, partition and offset of each record of the target, with s_partition and s_offset, its place
        in the source; `older`, it comes from before what the source still has; and `surplus`, it is one of
        more of these than the source has deleted offsets. Of no place and not older the source never had it.
        """
        placed = self._placed(self._with_distances(self._recognized))
        found = _with_older(placed).withColumn(
            "s_partition", f.when(f.col("s_offset").isNotNull(), f.col("partition"))
        )
        wanted = (*PARTITION, "offset", "s_partition", "s_offset", "older", "surplus")
        settled = f.col("s_offset").isNotNull() | f.col("older")
        return (
            found.where(settled).select(*wanted).unionAll(self._moved(found.where(~settled)).select(*wanted))
        )

    # -- what records are recognized by ----------------------------------------------------------------

    @cached_property
    def _both(self) -> DataFrame:
        """Every record of both sides with its rank, and `key`, by which it is recognized.

        Content, and headers and timestamp where MM2 has kept them of any record: a converter may have spoilt
        all headers, and a target may stamp records itself.
        """
        sides = [
            side.select(*PARTITION, "offset", *_COMPARED, "stamped", f.lit(name).alias("side"))
            for name, side in (("s", self.source), ("t", self.target))
        ]
        both = sides[0].unionAll(sides[1])
        in_order = Window.partitionBy(*PARTITION, "side").orderBy("offset")
        key = (
            f.when(f.col("by_both"), f.xxhash64(*_COMPARED))
            .when(f.col("by_time"), f.xxhash64("content", "timestamp"))
            .when(f.col("by_headers"), f.xxhash64("content", "headers"))
            .otherwise(f.col("content"))
        )
        timed = (f.col("by_both") & ~f.col("any_stamped")) | f.col("by_time")
        ranked = (
            both.join(f.broadcast(_kept(both)), "case")
            .withColumn("rank", f.row_number().over(in_order))
            .select(
                *(*PARTITION, "side", "offset", "rank", timed.alias("by_time"), key.alias("key")),
                f.when(timed, f.xxhash64("content", "timestamp")).otherwise(f.col("content")).alias("bare"),
            )
        )
        ranked = ranked.join(f.broadcast(_unrepeated(ranked)), "case", "left")
        return self.keep("ranked", _with_equals(ranked))

    @cached_property
    def _recognized(self) -> DataFrame:
        """The target's records; `anchor` is the rank in the source of those that can be no other record.

        A source that has lost its beginning may have had more records of a key. That it had is taken to be
        possible where keys have no timestamp, or where what it still has shows equal records too.
        """
        starts = self.partitions.select(*PARTITION, "s_start")
        certain = f.col("unrepeated") | (f.col("s_start") == 0) | (f.col("t_n") == 1)
        return (
            self._both.where(f.col("side") == "t")
            .join(f.broadcast(starts), list(PARTITION), "left")
            .withColumn("anchor", f.when((f.col("s_n") == 1) & certain, f.col("s_rank")))
            .withColumn("bare", f.when(certain, f.col("bare_offset")))
            .select(*PARTITION, "offset", "rank", "key", "anchor", "alike", "bare", "s_start")
        )

    # -- those between ---------------------------------------------------------------------------------

    def _with_distances(self, recognized: DataFrame) -> DataFrame:
        """The distance from the last record before, and to the first one after, whose place is certain.

        Where there is none: logs that have both kept their beginning begin, and settled ones end, alike.
        """
        in_order = Window.partitionBy(*PARTITION).orderBy("rank")
        # Backwards: for frames that reach to the end Spark goes over all following rows again for each row.
        backwards = Window.partitionBy(*PARTITION).orderBy(f.col("rank").desc())
        before, after = (w.rowsBetween(Window.unboundedPreceding, -1) for w in (in_order, backwards))
        distance = f.col("anchor") - f.col("rank")
        counts = self._both.groupBy(*PARTITION).agg(
            f.count_if(f.col("side") == "s").alias("s_all"), f.count_if(f.col("side") == "t").alias("t_all")
        )
        edges = counts.join(f.broadcast(self.partitions), list(PARTITION)).select(
            *PARTITION,
            f.when((f.col("s_start") == 0) & (f.col("t_start") == 0), 0).alias("at_start"),
            f.when(f.col("settled"), f.col("s_all") - f.col("t_all")).alias("at_end"),
        )
        return (
            recognized.join(f.broadcast(edges), list(PARTITION), "left")
            .withColumns(
                {
                    "d_before": f.coalesce(f.last(distance, True).over(before), "at_start"),
                    "d_after": f.coalesce(f.last(distance, True).over(after), "at_end"),
                    "stretch": f.count("anchor").over(in_order),
                }
            )
            .drop("at_start", "at_end")
        )

    def _placed(self, records: DataFrame) -> DataFrame:
        """As far as contents agree from one certain record on, and from the other back; what is left between
        them has its place only if both say the same, as of a damaged record.
        """
        stretch = Window.partitionBy(*PARTITION, "stretch")
        so_far, from_here = (
            stretch.orderBy(order).rowsBetween(Window.unboundedPreceding, 0)
            for order in (f.col("rank").asc(), f.col("rank").desc())
        )
        for side in ("before", "after"):
            at = f.coalesce("anchor", f.col("rank") + f.col(f"d_{side}"))
            records = self._with_source(records.withColumn(f"rank_{side}", at), side)
        agreed = {s: f.coalesce(f.col(f"key_{s}") == f.col("key"), _NO) for s in ("before", "after")}
        records = records.withColumns(
            {
                "forward": f.min(agreed["before"]).over(so_far),
                # the first of a stretch is the certain record itself, which is no part of what follows it
                "backward": f.min(agreed["after"]).over(from_here),
            }
        )
        same = f.coalesce(f.col("d_before") == f.col("d_after"), f.lit(True))
        only = f.coalesce("offset_before", "offset_after")
        unclaimed = ~f.coalesce("claimed_before", "claimed_after", f.lit(True))
        before_all = f.coalesce(f.col("rank") + f.col("d_after") <= 0, f.col("d_before").isNull())
        older = (f.col("s_start") > 0) & before_all
        place = (
            f.when(f.col("anchor").isNotNull() | f.col("forward"), f.col("offset_before"))
            .when(f.col("backward"), f.col("offset_after"))
            .when(agreed["before"], f.col("offset_before"))
            .when(agreed["after"], f.col("offset_after"))
            .when(same & unclaimed & f.col("alike").isNull(), only)
            # one copy more, of any of several equal records
            .when(~older & f.col("alike").isNotNull(), f.col("alike"))
            .otherwise(f.col("bare"))
        )
        return records.select(
            *(*PARTITION, "offset", "rank", "key", "s_start"), place.alias("s_offset"), older.alias("older")
        )

    def _with_source(self, records: DataFrame, side: str) -> DataFrame:
        """What stands at the rank; `claimed`: the target has a copy that can be of no other record."""
        there = self._both.where(f.col("side") == "s").select(
            *PARTITION,
            *(f.col(name).alias(f"{name}_{side}") for name in ("rank", "key", "offset")),
            ((f.col("s_n") == 1) & (f.col("t_n") > 0)).alias(f"claimed_{side}"),
        )
        return records.join(there, [*PARTITION, f"rank_{side}"], "left")

    def _moved(self, homeless: DataFrame) -> DataFrame:
        """Those that stand once in the source, in another partition."""
        once = (
            self._both.where(f.col("side") == "s")
            .groupBy("case", "key")
            .agg(
                f.count("*").alias("s_n"),
                f.min("partition").alias("s_partition"),
                f.min("offset").alias("s_offset"),
                f.bool_and("by_time").alias("timed"),
            )
            .where((f.col("s_n") == 1) & f.col("timed"))
            .drop("s_n", "timed")
        )
        return homeless.drop("s_partition", "s_offset").join(once, ["case", "key"], "left")


def _kept(both: DataFrame) -> DataFrame:
    """Of each case what of any record is the same on both sides, beside its content."""
    alike = {"by_both": _COMPARED, "by_time": ("content", "timestamp"), "by_headers": ("content", "headers")}
    on_both = {
        name: f.min("side").over(here) != f.max("side").over(here)
        for name, columns in alike.items()
        for here in (Window.partitionBy(*PARTITION, *columns),)
    }
    found = (
        both.withColumns(on_both)
        .groupBy("case")
        .agg(*(f.bool_or(name).alias(name) for name in alike), f.bool_or("stamped").alias("any_stamped"))
    )
    times_kept = ~f.col("any_stamped")
    return found.withColumns(
        {"by_both": f.col("by_both") & times_kept, "by_time": f.col("by_time") & times_kept}
    )


def _with_equals(ranked: DataFrame) -> DataFrame:
    """With how many records of each side have the key, and the first place of these in the source."""
    alike, bare = (Window.partitionBy(*PARTITION, key) for key in ("key", "bare"))
    on_source = f.col("side") == "s"
    offset = f.when(on_source, f.col("offset"))
    return ranked.withColumns(
        {
            "s_n": f.count_if(on_source).over(alike),
            "t_n": f.count_if(~on_source).over(alike),
            "s_rank": f.min(f.when(on_source, f.col("rank"))).over(alike),
            "alike": f.min(offset).over(alike),
            # of the only record of this content, whatever became of the headers
            "bare_offset": f.when(f.count_if(on_source).over(bare) == 1, f.min(offset).over(bare)),
        }
    )


def _unrepeated(ranked: DataFrame) -> DataFrame:
    """Of each case whether its keys have timestamps, and no two records of the source have the same."""
    return (
        ranked.where(f.col("side") == "s")
        .groupBy("case", "key")
        .agg(f.count("*").alias("s_n"), f.bool_and("by_time").alias("by_time"))
        .groupBy("case")
        .agg((f.bool_and("by_time") & (f.max("s_n") == 1)).alias("unrepeated"))
    )


def _with_older(placed: DataFrame) -> DataFrame:
    """What is equal to an older record and has no place is a copy of it. Those nearest to what the source
    still has come first, as far as it has deleted offsets.
    """
    of_key, of_partition = Window.partitionBy(*PARTITION, "key"), Window.partitionBy(*PARTITION, "older")
    homeless = f.col("s_offset").isNull()
    found = placed.withColumn("older", f.col("older") & homeless)
    found = found.withColumn("older", homeless & f.bool_or("older").over(of_key))
    number = f.row_number().over(of_partition.orderBy(f.col("rank").desc()))
    return found.withColumn("surplus", f.col("older") & (number > f.col("s_start")))
