"""What a verification's report draws, from the evidence: one job for all of it.

Each record becomes a few numbers with a place: the seconds in which it was sent and mirrored, where in its
partition it is in trouble, how long it took. They are counted by place, at once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.checks import Duplicates, HeadersKept, NoLoss, NoPhantoms, OrderKept, PayloadIntact

BINS: Final = 100  # of each partition, for the places of trouble
_PARTITION: Final = ("partition", "s_start", "s_end", "s_rows", "t_start", "t_end", "t_rows")
_STEPS: Final = (1, 2, 5)  # of each power of ten: the bounds of the latency's buckets, in ms

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """In the form of `verdict.json`, which lab.report.model describes."""

    partitions: list[dict[str, Any]]
    series: dict[str, list[list[int]]]
    trouble: dict[str, Any]
    latency_ms: dict[str, Any] | None = None


def figures(tables: Mapping[str, DataFrame]) -> Figures:
    """Of the evidence tables "records" and "partitions", case 0."""
    places = f.explode(f.array_compact(f.array(*_seconds(), *_troubles(), _latency())))
    counted = (
        tables["records"]
        .where("case = 0")
        .select(places.alias("at"))
        .groupBy(
            f.col("at.what").alias("what"), f.col("at.partition").alias("p"), f.col("at.place").alias("place")
        )
        .agg(f.sum("at.records").alias("records"))
        .select("what", "p", "place", "records", f.lit(None).cast("array<long>").alias("facts"))
    )
    bounds = (
        tables["partitions"]
        .where("case = 0")
        .select(
            f.lit("partition").alias("what"),
            f.col("partition").alias("p"),
            *(f.lit(None).cast("long").alias(name) for name in ("place", "records")),
            f.array(*(f.col(name).cast("long") for name in _PARTITION)).alias("facts"),
        )
    )
    found: dict[str, list[Row]] = {}
    for row in counted.unionAll(bounds).collect():
        found.setdefault(row["what"], []).append(row.asDict())
    partitions = sorted(
        (dict(zip(_PARTITION, row["facts"], strict=True)) for row in found.pop("partition", [])),
        key=lambda partition: partition["partition"],
    )
    return Figures(
        partitions=partitions,
        series={
            side: sorted([row["place"], row["records"]] for row in found.pop(side, []))
            for side in ("source", "target")
        },
        latency_ms=latency_ms({row["place"]: row["records"] for row in found.pop("latency", [])}),
        trouble=_in_bins(partitions, found),
    )


def _point(
    what: str, place: Column, *, when: Column, partition: Column | None = None, records: Column
) -> Column:
    of_partition = f.lit(None).cast("int") if partition is None else partition.cast("int")
    point = f.struct(
        f.lit(what).alias("what"),
        of_partition.alias("partition"),
        place.cast("long").alias("place"),
        records.cast("long").alias("records"),
    )
    return f.when(f.coalesce(when, f.lit(False)), point)


def _seconds() -> list[Column]:
    """Records by the second of their own timestamp, which MM2 keeps, on both sides."""
    return [
        _point(
            what,
            f.floor(f.col(f"{side}_timestamp") / 1000),
            when=f.col(f"{side}_count") > 0,
            records=f.col(f"{side}_count"),
        )
        for what, side in (("source", "s"), ("target", "t"))
    ]


def _troubles() -> list[Column]:
    """What the checks call guilty, by its place in the source; a foreign record by that on the target."""
    first = f.least("s_start", "first_offset")
    upstream = _bin(f.col("offset"), first, f.greatest("s_end", f.col("last_offset") + 1))
    downstream = _bin(f.col("t_first"), f.col("t_start"), f.col("t_end"))
    at_source = {
        "missing": NoLoss().guilty(),
        "duplicate": Duplicates().guilty(),
        "reordered": OrderKept().guilty(),
        "damaged": f.coalesce(PayloadIntact().guilty(), f.lit(False)) | HeadersKept().guilty(),
    }
    one = f.lit(1)
    troubles = [
        _point(what, upstream, when=guilty, partition=f.col("partition"), records=one)
        for what, guilty in at_source.items()
    ]
    foreign = NoPhantoms().guilty()
    return [
        *troubles,
        _point("foreign", downstream, when=foreign, partition=f.col("t_partition"), records=one),
    ]


def _bin(offset: Column, begin: Column, end: Column) -> Column:
    """Null where the offset is not known: such a record has no place."""
    known = offset.isNotNull() & begin.isNotNull() & end.isNotNull()
    bin_ = f.floor((offset - begin) * BINS / f.greatest(end - begin, f.lit(1)))
    return f.when(known, f.greatest(f.least(bin_, f.lit(BINS - 1)), f.lit(0)))


def _latency() -> Column:
    """How long one record took, in ms with three digits, where the target says when it came.

    MM2 keeps a record's timestamp, so only a target that stamps records itself (LogAppendTime) tells.
    """
    took = f.col("t_timestamp") - f.col("s_timestamp")
    digits = f.pow(f.lit(10), f.greatest(f.floor(f.log10(f.greatest(took, f.lit(1)))) - 2, f.lit(0)))
    told = (
        f.col("t_stamped_by_broker") & f.col("told_apart") & (f.col("s_count") == 1) & (f.col("t_count") > 0)
    )
    return _point("latency", f.floor(took / digits) * digits, when=told, records=f.lit(1))


def latency_ms(found: Mapping[int, int]) -> dict[str, Any] | None:
    """Percentiles and a histogram of latencies by ms; None if there are none."""
    if not found:
        return None
    total, bounds = sum(found.values()), _bounds(max(found))
    histogram = dict.fromkeys(bounds, 0)
    for took, count in found.items():
        histogram[next(bound for bound in bounds if took <= bound)] += count
    percentiles = {f"p{share}": _percentile(found, total * share / 100) for share in (50, 95, 99)}
    return {**percentiles, "histogram": [[bound, count] for bound, count in histogram.items()]}


def _bounds(largest: int) -> list[int]:
    """Below 0 is a bucket of its own: there the clocks of both sides disagree."""
    powers = range(math.ceil(math.log10(max(largest, 1))) + 1)
    return [-1, 0, *(step * 10**power for power in powers for step in _STEPS)]


def _percentile(found: Mapping[int, int], wanted: float) -> int:
    seen = 0
    for took in sorted(found):
        seen += found[took]
        if seen >= wanted:
            return took
    return max(found)


def _in_bins(partitions: Sequence[Row], found: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Bins for each kind of trouble that a partition has; what has no place is only counted."""
    troubled: dict[int, dict[str, Any]] = {
        row["partition"]: {"partition": row["partition"], "records": max(row["s_rows"], row["t_rows"])}
        for row in partitions
    }
    without_place = 0
    for what, rows in found.items():
        for row in rows:
            if row["place"] is None or row["p"] is None:
                without_place += row["records"]
                continue
            partition = troubled.setdefault(row["p"], {"partition": row["p"], "records": 0})
            partition.setdefault(what, [0] * BINS)[row["place"]] += row["records"]
    return {
        "bins": BINS,
        "partitions": [troubled[number] for number in sorted(troubled)],
        "without_place": without_place,
    }
