"""Both topics and the ledger compared block by block: one row per block, and no row per record.

The target is taken to be the source shifted by one distance in each partition. A record's hashes go over its
place in the source too, so a block whose sums are zero holds the same records in the same order: what the
source adds the target takes away. Sums of the 32-bit halves of two 64-bit hashes do not overflow, and equal
changes do not cancel each other as with XOR. Where the distance is another one, or anything else happened,
sums differ, and the records themselves are looked at.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.ledger import ACKED
from lab.verify.evidence import fingerprints
from lab.verify.evidence.histories import Histories
from lab.verify.evidence.labels import with_label
from lab.verify.evidence.owed import with_owed

# Where a record stands: before what the target still has, on both sides, after what the target has; on the
# target alone before what the source still has, or where nothing can be.
HEAD, BOTH, TAIL, OLDER, BEYOND = range(5)
BLOCK: Final = ("case", "partition", "zone", "late", "block")
_SUMMED: Final = ("content", "headers", "timestamp", "label")
_SEED: Final = 0x1AB  # makes another hash of the same fields
_LOW: Final = 0xFFFFFFFF


def digests(histories: Histories) -> DataFrame:
    """Per block how many records stand on each side, between which offsets and times, and what is the same.

    Each partition has at least one row; `low` and `high` are between which places both sides should be.
    """
    partitions = _with_limits(histories)
    limits = f.broadcast(partitions)
    sides = [_source(histories, limits), _target(histories, limits)]
    if histories.runs:
        sides.append(_ledger(histories, limits))
    rows = reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), sides)
    found = rows.groupBy(*map(f.col, BLOCK)).agg(*_aggregates(labelled=bool(histories.runs)))
    blocks = found.select(
        *(name for name in found.columns if not name.startswith("sum_")),
        *(_all_zero(found, name).alias(f"same_{name}") for name in _SUMMED),
    )
    bounds = partitions.select(
        *("case", "partition", "s_start", "s_end", "t_start", "t_end", "s_owed", "distance", "low", "high"),
        *("ledger", "compacted"),
    )
    return bounds.join(blocks, ["case", "partition"], "left")


def in_blocks(records: DataFrame, histories: Histories, *, target: bool) -> DataFrame:
    """With the block of each record of one side."""
    return _located(records, f.broadcast(_with_limits(histories)), histories, target=target)


def ledger_in_blocks(histories: Histories) -> DataFrame:
    """The ledger's rows with the block in which the source has the record; null where that is not known."""
    limits = f.broadcast(_with_limits(histories))
    return _located(histories.ledger, limits, histories, target=False)


def known_to_ledger() -> Column:
    """Whether the ledger says for certain that the source has the record, and where."""
    in_no_aborted = f.col("transaction").isNull() | f.coalesce(f.col("committed"), f.lit(False))
    return (f.col("outcome") == ACKED) & f.col("offset").isNotNull() & in_no_aborted


def _with_limits(histories: Histories) -> DataFrame:
    """`distance` is an offset in the source less that of its copy, where nothing but shifting happened.

    Logs that begin alike are taken to be the same from there on, others to end alike.
    """
    partitions = with_owed(histories)
    at_end = f.col("s_owed") - f.col("t_end")
    distance = f.when(f.col("s_start") == f.col("t_start"), f.lit(0)).otherwise(at_end)
    return partitions.withColumn("distance", distance.cast("long")).withColumns(
        {
            "low": f.greatest("s_start", f.col("t_start") + f.col("distance")),
            "high": f.least("s_end", f.col("t_end") + f.col("distance")),
        }
    )


def _located(records: DataFrame, limits: DataFrame, histories: Histories, *, target: bool) -> DataFrame:
    """A partition that the source does not have has no limits."""
    wanted = limits.select("case", "partition", "distance", "low", "high", "s_owed")
    place = f.col("offset") + f.col("distance") if target else f.col("offset")
    zone = (
        f.when(f.col("low").isNull() | f.col("place").isNull(), BEYOND)
        .when(f.col("place") < f.col("low"), OLDER if target else HEAD)
        .when(f.col("place") < f.col("high"), BOTH)
        .otherwise(BEYOND if target else TAIL)
    )
    return (
        records.join(wanted, ["case", "partition"], "left")
        .withColumn("place", place)
        .withColumns(
            {
                "zone": zone,
                "late": f.coalesce(f.col("place") >= f.col("s_owed"), f.lit(False)),
                "block": f.coalesce(f.floor(f.col("place") / histories.block), f.lit(0)).cast("long"),
            }
        )
        .drop("distance", "low", "high", "s_owed")
    )


def _source(histories: Histories, limits: DataFrame) -> DataFrame:
    located = _located(histories.source, limits, histories, target=False)
    if histories.runs:
        located = with_label(located, histories)
    return located.select(*BLOCK, f.lit(1).alias("sign"), *_record_columns(), *_label_columns(histories))


def _target(histories: Histories, limits: DataFrame) -> DataFrame:
    """Whether a record carries an id is only guessed: it decides how records are looked at, if they are."""
    located = _located(histories.target, limits, histories, target=True)
    named = [f.col("value"), f.get("headers", f.lit(0)).getField("value")]
    begins_as_an_id = (
        f.coalesce(f.substring(where, 1, len(run)) == f.lit(run.encode()), f.lit(False))
        for run in (*histories.runs, *histories.other_runs)
        for where in named
    )
    looks_labelled = reduce(Column.__or__, begins_as_an_id, f.lit(False))
    return located.select(
        *BLOCK,
        f.lit(-1).alias("sign"),
        *_record_columns(),
        (f.col("timestamp_type") == 1).alias("stamped"),
        (~looks_labelled).alias("unlabelled"),
    )


def _ledger(histories: Histories, limits: DataFrame) -> DataFrame:
    """What the source must hold as it was sent: acked with an offset, in no transaction that was aborted."""
    located = _located(histories.ledger.where(known_to_ledger()), limits, histories, target=False)
    fields = [f.concat_ws("-", "run", "producer", "sequence")]
    return located.select(*BLOCK, f.lit(0).alias("sign"), *_hashes("label", fields))


def _label_columns(histories: Histories) -> list[Column]:
    """Of the source's records that are as their ids say: they must be those that the ledger names."""
    if not histories.runs:
        return []
    intact = f.col("lab_id").isNotNull() & f.col("intact")
    hashes = (f.when(intact, hashed) for hashed in _hashes("label", [f.col("lab_id")]))
    return [*(h.alias(f"label_{n}") for n, h in enumerate(hashes)), intact.alias("labelled")]


def _record_columns() -> list[Column]:
    return [
        f.col("offset"),
        f.col("timestamp"),
        *_hashes("content", fingerprints.content_fields()),
        *_hashes("headers", fingerprints.header_fields()),
        *_hashes("timestamp", [f.col("timestamp")]),
    ]


def _hashes(name: str, fields: Iterable[Column]) -> list[Column]:
    """Two hashes of the fields and of the place: in another order the same records have other hashes."""
    fields = list(fields)
    place = f.col("place")
    return [
        f.xxhash64(place, *fields).alias(f"{name}_0"),
        f.xxhash64(f.lit(_SEED), place, *fields).alias(f"{name}_1"),
    ]


def _aggregates(*, labelled: bool) -> list[Column]:
    on_source, on_target = f.col("sign") == 1, f.col("sign") == -1
    found = [
        f.count_if(on_source).alias("s_n"),
        f.count_if(on_target).alias("t_n"),
        f.count_if(f.col("stamped")).alias("stamped"),
        f.count_if(f.col("unlabelled")).alias("unlabelled"),
    ]
    for prefix, side in (("s", on_source), ("t", on_target)):
        for column, first, last in (("offset", "first", "last"), ("timestamp", "from", "until")):
            found.append(f.min(f.when(side, f.col(column))).alias(f"{prefix}_{first}"))
            found.append(f.max(f.when(side, f.col(column))).alias(f"{prefix}_{last}"))
    for name in _SUMMED[:-1]:
        found += _sums(name, f.col("sign"))
    if labelled:
        found.append(f.count_if(f.col("labelled")).alias("labelled"))
        found += _sums("label", f.when(on_source, f.lit(1)).otherwise(f.lit(-1)))
    else:
        found.append(f.lit(0).cast("long").alias("labelled"))
    return found


def _sums(name: str, sign: Column) -> list[Column]:
    return [
        f.coalesce(f.sum(sign * half), f.lit(0)).alias(f"sum_{name}_{number}_{part}")
        for number in (0, 1)
        for hashed in (f.col(f"{name}_{number}"),)
        for part, half in (("low", hashed.bitwiseAND(_LOW)), ("high", f.shiftrightunsigned(hashed, 32)))
    ]


def _all_zero(found: DataFrame, name: str) -> Column:
    sums = [f.col(column) == 0 for column in found.columns if column.startswith(f"sum_{name}_")]
    return reduce(Column.__and__, sums, f.lit(True))
