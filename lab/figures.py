"""What a verification's report draws, from the evidence: one job for all of it.

Records are counted by the seconds in which they were sent and mirrored and by how long that took, and
those in trouble by where in their partition they are.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.checks import Duplicates, HeadersKept, NoLoss, NoPhantoms, OrderKept, PayloadIntact
from lab.verdict import Outcome, Verdict

BINS: Final = 100  # of each partition, for the places of trouble
_PARTITION: Final = ("partition", "s_start", "s_end", "s_rows", "t_start", "t_end", "t_rows")
_STEPS: Final = (1, 2, 5)  # of each power of ten: the bounds of the latency's buckets, in ms

_DRAWN: Final = (NoLoss, Duplicates, OrderKept, PayloadIntact, HeadersKept, NoPhantoms)

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """In the form of `verdict.json`, which lab.report.model describes."""

    partitions: list[dict[str, Any]]
    series: dict[str, list[list[int]]]
    trouble: dict[str, Any]
    latency_ms: dict[str, Any] | None = None


def figures(tables: Mapping[str, DataFrame], verdicts: Collection[Verdict] = ()) -> Figures:
    """Of the evidence tables "records" and "partitions", case 0; verdicts on them save a look for trouble."""
    records = tables["records"].where("case = 0")
    parts = [_extents(tables["partitions"]), _times(records)]
    if not untroubled(verdicts):
        parts.append(_troubles(records))
    found: dict[str, list[Row]] = {}
    for row in reduce(DataFrame.unionAll, parts).collect():
        found.setdefault(row["what"], []).append(row.asDict())
    partitions = sorted(
        (dict(zip(_PARTITION, row["facts"], strict=True)) for row in found.pop("partition", [])),
        key=lambda partition: partition["partition"],
    )
    times = [row["facts"] for row in found.pop("times", [])]
    return Figures(
        partitions=partitions,
        series={
            side: [[second, records] for second, records in _summed(times, column, column + 2).items()]
            for column, side in enumerate(("source", "target"))
        },
        latency_ms=latency_ms(_summed(times, 4, 5)),
        trouble=_in_bins(partitions, found),
    )


def untroubled(verdicts: Collection[Verdict]) -> bool:
    """Whether they say that no record is in a trouble that is drawn: repeated ones can be allowed."""
    judged = {v.check: v for v in verdicts}
    return all(
        check.name in judged
        and judged[check.name].outcome is Outcome.PASS
        and not judged[check.name].counts.get("duplicated")
        for check in _DRAWN
    )


def _row(what: str, *, partition: Column, place: Column, records: Column, facts: Column) -> list[Column]:
    return [
        f.lit(what).alias("what"),
        partition.cast("int").alias("p"),
        place.cast("long").alias("place"),
        records.cast("long").alias("records"),
        facts.cast("array<long>").alias("facts"),
    ]


_NONE: Final = f.lit(None)


def _extents(partitions: DataFrame) -> DataFrame:
    facts = f.array(*(f.col(name).cast("long") for name in _PARTITION))
    return partitions.where("case = 0").select(
        *_row("partition", partition=f.col("partition"), place=_NONE, records=_NONE, facts=facts)
    )


def _times(records: DataFrame) -> DataFrame:
    """Records by the second of their own timestamp, which MM2 keeps; and by how long they took.

    How long one took is known where the target says when it came: one that stamps records itself
    (LogAppendTime). It is in ms with three digits.
    """
    took = f.col("t_timestamp") - f.col("s_timestamp")
    digits = f.pow(f.lit(10), f.greatest(f.floor(f.log10(f.greatest(took, f.lit(1)))) - 2, f.lit(0)))
    told = (
        f.col("t_stamped_by_broker") & f.col("told_apart") & (f.col("s_count") == 1) & (f.col("t_count") > 0)
    )
    seconds = [f.floor(f.col(f"{side}_timestamp") / 1000).cast("long") for side in "st"]
    latency = f.when(told, f.floor(took / digits) * digits).cast("long")
    counted = records.groupBy(*(c.alias(n) for c, n in zip((*seconds, latency), "stl", strict=True))).agg(
        f.sum("s_count").alias("s_records"), f.sum("t_count").alias("t_records"), f.count("*").alias("ids")
    )
    facts = f.array("s", "t", "s_records", "t_records", "l", "ids")
    return counted.select(*_row("times", partition=_NONE, place=_NONE, records=_NONE, facts=facts))


def _summed(rows: Sequence[Sequence[int | None]], by: int, what: int) -> dict[int, int]:
    """Sums by the numbers of one column, in their order; rows that have none there do not count."""
    sums: Counter[int] = Counter()
    for row in rows:
        key, value = row[by], row[what]
        if key is not None:
            sums[key] += value or 0
    return dict(sorted(sums.items()))


def _troubles(records: DataFrame) -> DataFrame:
    """What the checks call guilty, by its place in the source; a foreign record by that on the target."""
    first = f.least("s_start", "first_offset")
    upstream = _bin(f.col("offset"), first, f.greatest("s_end", f.col("last_offset") + 1))
    downstream = _bin(f.col("t_first"), f.col("t_start"), f.col("t_end"))
    kinds = {
        "missing": NoLoss().guilty(),
        "duplicate": Duplicates().guilty(),
        "reordered": OrderKept().guilty(),
        "damaged": f.coalesce(PayloadIntact().guilty(), f.lit(False)) | HeadersKept().guilty(),
        "foreign": NoPhantoms().guilty(),
    }
    points = [
        f.when(
            f.coalesce(guilty, f.lit(False)),
            f.struct(
                f.lit(what).alias("what"),
                f.col("t_partition" if what == "foreign" else "partition").cast("int").alias("p"),
                (downstream if what == "foreign" else upstream).cast("long").alias("place"),
            ),
        )
        for what, guilty in kinds.items()
    ]
    return (
        records.select(f.explode(f.array_compact(f.array(*points))).alias("at"))
        .groupBy(*(f.col(f"at.{name}").alias(name) for name in ("what", "p", "place")))
        .agg(f.count("*").alias("records"))
        .select("what", "p", "place", "records", _NONE.cast("array<long>").alias("facts"))
    )


def _bin(offset: Column, begin: Column, end: Column) -> Column:
    """Null where the offset is not known: such a record has no place."""
    known = offset.isNotNull() & begin.isNotNull() & end.isNotNull()
    bin_ = f.floor((offset - begin) * BINS / f.greatest(end - begin, f.lit(1)))
    return f.when(known, f.greatest(f.least(bin_, f.lit(BINS - 1)), f.lit(0)))


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
