"""Rows of the evidence that stand for a whole block: places in it follow from its first.

`span` is null in the row of a single record. Of a block it is the number of its places in one row, and 0 in
the others, which are of the same places.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

_BIN: Final = 4_096  # offsets: to look for a place among all blocks would take their number times as long


def overlap(low: Column, high: Column) -> Column:
    """How many places of the block in the source are not below `low` and below `high`."""
    end = f.least(f.col("s_last") + 1, high)
    return f.coalesce(f.greatest(end - f.greatest(f.col("s_first"), low), f.lit(0)), f.lit(0))


def distance() -> Column:
    """Of a block on both sides: a place in the source less that of its copy."""
    return f.col("s_first") - f.col("t_first")


def standing_in_blocks(points: DataFrame, ends: Mapping[str, str], records: DataFrame) -> DataFrame:
    """case, id, side, partition, at: what stands at the points, named by its place in the source.

    points: case, partition, and an offset of each side, "s" and "t", in the column that `ends` names.
    """
    blocks = records.where((f.col("span") > 0) & (f.col("s_count") > 0))
    found = []
    for side, end in ends.items():
        first, last = f.col(f"{side}_first"), f.col(f"{side}_last")
        in_bins = blocks.where(first.isNotNull()).select(
            "case",
            f.col("s_partition").alias("partition"),
            *(first.alias("first"), last.alias("last"), (f.col("s_first") - first).alias("shift")),
            f.explode(f.sequence(f.floor(first / _BIN), f.floor(last / _BIN))).alias("bin"),
        )
        at = points.select("case", "partition", f.col(end).alias("at")).distinct()
        at = at.withColumn("bin", f.floor(f.col("at") / _BIN))
        met = at.join(in_bins, ["case", "partition", "bin"]).where(
            f.col("at").between(f.col("first"), f.col("last"))
        )
        name = f.concat(f.lit("source "), "partition", f.lit(":"), f.col("at") + f.col("shift"))
        found.append(met.select("case", name.alias("id"), f.lit(side).alias("side"), "partition", "at"))
    return found[0].unionAll(found[1])
