"""What a verification's report draws, from the evidence: one job for all of it.

Records are counted by the seconds in which they were sent and mirrored and by how long that took, and
those in trouble by where in their partition they are.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.verify.checks import Duplicates, HeadersKept, NoLoss, NoPhantoms, OrderKept, PayloadIntact
from lab.verify.verdict import Outcome, Verdict

BINS: Final = 100  # of each partition, for the places of trouble
_PARTITION: Final = ("partition", "s_start", "s_end", "s_rows", "t_start", "t_end", "t_rows")
_TROUBLE: Final = ("partition", "place", "records")
_STEPS: Final = (1, 2, 5)  # of each power of ten: the bounds of the latency's buckets, in ms

_LONGEST_S: Final = (
    3_600  # over which the records of a block are spread: with timestamps of anybody it may be any
)

_DRAWN: Final = (NoLoss, Duplicates, OrderKept, PayloadIntact, HeadersKept, NoPhantoms)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """In the form of `verdict.json`, which lab.verify.report.model describes."""

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
    found: dict[str, list[list[Any]]] = {}
    for row in reduce(DataFrame.unionAll, parts).collect():
        found.setdefault(row["what"], []).append(row["facts"])
    partitions = [dict(zip(_PARTITION, facts, strict=True)) for facts in sorted(found.pop("partition", []))]
    times = {what: sorted(found.pop(what, [])) for what in ("source", "target", "latency")}
    return Figures(
        partitions=partitions,
        latency_ms=latency_ms(dict(times.pop("latency"))),
        series=times,
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


def _facts(what: Column, *facts: str) -> list[Column]:
    """A row of any kind of figure."""
    return [what.alias("what"), f.array(*(f.col(name).cast("long") for name in facts)).alias("facts")]


def _extents(partitions: DataFrame) -> DataFrame:
    return partitions.where("case = 0").select(*_facts(f.lit("partition"), *_PARTITION))


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
    single, blocks = f.col("weight") == 1, records.where("weight > 1")
    places = {
        "source": (f.floor(f.col("s_timestamp") / 1000), f.sum("s_count")),
        "target": (f.floor(f.col("t_timestamp") / 1000), f.sum("t_count")),
        "latency": (f.when(told, f.floor(took / digits) * digits), f.count("*")),
    }
    records = records.where(single)
    # All three at once: to take each record three times would cost more than to count it.
    counted = records.groupBy(*(place.cast("long").alias(what) for what, (place, _) in places.items())).agg(
        *(count.alias(f"{what}_records") for what, (_, count) in places.items())
    )
    points = [
        f.struct(
            f.lit(what).alias("what"),
            f.col(what).alias("place"),
            f.col(f"{what}_records").cast("long").alias("records"),
        )
        for what in places
    ]
    singles = counted.select(f.explode(f.array(*points)).alias("at"))
    return (
        singles.unionAll(_block_times(blocks, "source", "s"))
        .unionAll(_block_times(blocks, "target", "t"))
        .where(f.col("at.place").isNotNull())
        .groupBy(f.col("at.what").alias("what"), f.col("at.place").alias("place"))
        .agg(f.sum("at.records").alias("records"))
        .select(*_facts(f.col("what"), "place", "records"))
    )


def _block_times(blocks: DataFrame, what: str, side: str) -> DataFrame:
    """Of blocks that were not looked at: spread evenly over the seconds between their first and last time."""
    first, last = (f.floor(f.col(f"{side}_{end}") / 1000).cast("long") for end in ("timestamp", "until"))
    last = f.when(last - first > _LONGEST_S, first).otherwise(last)
    seconds = f.sequence(first, last)
    number = f.col("weight") * f.col(f"{side}_count")
    spread = blocks.where((f.col(f"{side}_count") > 0) & f.col(f"{side}_until").isNotNull()).select(
        number.alias("records"), f.size(seconds).alias("seconds"), f.posexplode(seconds)
    )
    # whole numbers whose sum is that of the records
    until = f.floor(f.col("records") * (f.col("pos") + 1) / f.col("seconds"))
    before = f.floor(f.col("records") * f.col("pos") / f.col("seconds"))
    return spread.select(
        f.struct(
            f.lit(what).alias("what"),
            f.col("col").alias("place"),
            (until - before).cast("long").alias("records"),
        ).alias("at")
    )


def _troubles(records: DataFrame) -> DataFrame:
    """What the checks call offending, by its place in the source; a foreign record by that on the target."""
    first = f.least("s_start", "first_offset")
    upstream = _bin(f.col("offset"), first, f.greatest("s_end", f.col("last_offset") + 1))
    downstream = _bin(f.col("t_first"), f.col("t_start"), f.col("t_end"))
    kinds = {
        "missing": NoLoss().offending(),
        "duplicate": Duplicates().offending(),
        "reordered": OrderKept().offending(),
        "damaged": f.coalesce(PayloadIntact().offending(), f.lit(False)) | HeadersKept().offending(),
        "foreign": NoPhantoms().offending(),
    }
    points = [
        f.when(
            f.coalesce(offending, f.lit(False)),
            f.struct(
                f.lit(what).alias("what"),
                f.col("t_partition" if what == "foreign" else "partition").alias("partition"),
                (downstream if what == "foreign" else upstream).cast("long").alias("place"),
            ),
        )
        for what, offending in kinds.items()
    ]
    return (
        records.select("weight", f.explode(f.array_compact(f.array(*points))).alias("at"))
        .groupBy(*(f.col(f"at.{name}").alias(name) for name in ("what", "partition", "place")))
        .agg(f.sum("weight").alias("records"))
        .select(*_facts(f.col("what"), *_TROUBLE))
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


def _in_bins(
    partitions: Sequence[Mapping[str, Any]], found: Mapping[str, Sequence[Sequence[int | None]]]
) -> dict[str, Any]:
    """Bins for each kind of trouble that a partition has; what has no place is only counted."""
    troubled: dict[int, dict[str, Any]] = {
        row["partition"]: {"partition": row["partition"], "records": max(row["s_rows"], row["t_rows"])}
        for row in partitions
    }
    without_place = 0
    for what, rows in found.items():
        for number, place, records in rows:
            if number is None or place is None:
                without_place += records or 0
                continue
            partition = troubled.setdefault(number, {"partition": number, "records": 0})
            partition.setdefault(what, [0] * BINS)[place] += records
    return {
        "bins": BINS,
        "partitions": [troubled[number] for number in sorted(troubled)],
        "without_place": without_place,
    }
