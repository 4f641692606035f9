"""Blocks that were not looked at, as rows like those of single records: one stands for `weight` of them."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.ledger import ACKED
from lab.verify.evidence.digests import BOTH, OLDER
from lab.verify.evidence.ids import OLDER_FLAG

KNOWN, DETAILS_NOT_LOOKED_AT, NOT_LOOKED_AT = range(3)
_FIRST_NUMBER: Final = -1_000_000_000  # of a producer: no record has one like it
_PARTITION_SHIFT: Final = 42


def weighted(blocks: DataFrame) -> DataFrame:
    """Up to three rows of each block: what the ledger names, what it does not, and one record that differs.

    Of a block that differs and was not looked at it is only known that one record does, at least.
    """
    older, both = f.col("zone") == OLDER, f.col("zone") == BOTH
    differs = both & ~(f.col("same_content") & f.col("same_headers") & f.col("same_timestamp"))
    unseen = (
        f.when(differs & ~f.col("same_content"), NOT_LOOKED_AT)
        .when(differs, DETAILS_NOT_LOOKED_AT)
        .otherwise(KNOWN)
    )
    one = f.when(differs, 1).otherwise(0)
    from_ledger = f.col("labelled") > 0
    named = f.col("labelled") - f.when(from_ledger, one).otherwise(0)
    total = f.when(older, f.col("t_n")).otherwise(f.col("s_n"))
    others = total - f.col("labelled") - f.when(from_ledger, 0).otherwise(one)
    parts = [
        _part(0, named, acked=f.lit(True), different=f.lit(False)),
        _part(1, others, acked=f.lit(False), different=f.lit(False)),
        _part(2, one, acked=from_ledger, different=f.lit(True)),
    ]
    parted = blocks.withColumns({"unseen": unseen}).select("*", f.explode(f.array(*parts)).alias("part"))
    first_of_block = f.when(named > 0, 0).when(others > 0, 1).otherwise(2)
    parted = parted.withColumn("span", f.when(f.col("part.number") == first_of_block, total).otherwise(0))
    return parted.where(f.col("part.weight") > 0).select(*_columns())


def _part(number: int, weight: Column, *, acked: Column, different: Column) -> Column:
    return f.struct(
        f.lit(number).alias("number"),
        weight.cast("long").alias("weight"),
        acked.alias("acked"),
        different.alias("different"),
    )


def _columns() -> list[Column]:
    older, on_target = f.col("zone") == OLDER, f.col("zone").isin(BOTH, OLDER)
    first = f.coalesce("s_first", "t_first")
    acked = f.col("part.acked")

    def only(side: str, value: Column) -> Column:
        return f.when(~older if side == "s" else on_target, value)

    found = [
        f.col("case"),
        f.lit(0).alias("run"),
        (f.lit(_FIRST_NUMBER) + f.col("part.number")).alias("producer"),
        (f.shiftleft(f.col("partition").cast("long"), _PARTITION_SHIFT) + first).alias("number"),
    ]
    for side in "st":
        there = f.lit(1).cast("long")
        found += [
            f.coalesce(only(side, there), f.lit(0).cast("long")).alias(f"{side}_count"),
            f.col(f"{side}_first"),
            f.col(f"{side}_last"),
            f.when(older, OLDER_FLAG if side == "t" else 0).otherwise(0).alias(f"{side}_flags"),
            only(side, f.col("partition")).alias(f"{side}_partition"),
            only(side, f.col("partition")).alias(f"{side}_partition_max"),
            f.col(f"{side}_from").alias(f"{side}_timestamp"),
            f.col(f"{side}_until"),
        ]
    found.append(f.when(f.col("late") & ~older, 1).otherwise(0).cast("long").alias("s_late"))
    found += [
        f.when(acked, ACKED).alias("l_outcome"),
        f.when(acked, f.lit(True)).alias("l_committed"),
        f.when(acked, f.col("partition")).alias("l_partition"),
        f.when(acked, f.col("s_first")).alias("l_offset"),
    ]
    for name in ("content", "headers", "timestamp"):
        found.append((f.col(f"same_{name}") | ~f.col("part.different")).alias(f"same_{name}"))
    return [
        *found,
        f.col("compacted"),
        f.col("ledger"),
        f.lit(True).alias("told_apart"),
        f.col("part.weight").alias("weight"),
        f.col("span").cast("long").alias("span"),
        f.col("unseen"),
    ]
