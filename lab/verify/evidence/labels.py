"""The ids that the lab's own records carry: read where they survived, and what they say of the payload.

In the payload when the rest of it confirms the id, else in the header `lab-id`, also when a converter has
made base64 of it, else in a payload that is damaged. Only ids of known runs count.
"""

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.records import HEADER, ID_NUMBERS
from lab.verify.evidence.histories import Histories

_NO: Final = f.lit(False)


def with_label(records: DataFrame, histories: Histories) -> DataFrame:
    """With `lab_id`, null where a record carries none of a known run; `intact`, whether the value is as the
    id says; `encoded`, whether a converter has made base64 of the header.
    """
    runs = (*histories.runs, *histories.other_runs)
    if not runs:
        none = f.lit(None).cast("string").alias("lab_id")
        return records.select("*", none, _NO.alias("intact"), _NO.alias("encoded"))
    pattern = f"^({'|'.join(runs)}){ID_NUMBERS}$"
    claimed = f.substring_index(f.col("value").cast("string"), " ", 1)
    header = f.col("named").cast("string")
    # Decoded only if it can be: a value that is no base64 costs an exception, for each of the records.
    decoded = f.when(
        header.rlike("^[A-Za-z0-9+/]{8,80}={0,2}$"), f.try_to_binary(header, f.lit("base64")).cast("string")
    )
    in_header = f.when(header.rlike(pattern), header).otherwise(f.when(decoded.rlike(pattern), decoded))
    return (
        records.withColumn("claimed", f.when(claimed.rlike(pattern), claimed))
        .withColumn("named", _lab_header())
        .withColumn("confirmed", f.coalesce(f.col("value") == _payload(f.col("claimed")), _NO))
        .withColumn(
            "lab_id",
            f.when(f.col("confirmed"), f.col("claimed")).otherwise(f.coalesce(in_header, f.col("claimed"))),
        )
        .withColumn("encoded", f.coalesce((header != f.col("lab_id")) & (decoded == f.col("lab_id")), _NO))
        .withColumn("intact", f.col("value").isNull() | (f.col("confirmed") & _whole(histories)))
        .drop("claimed", "named", "confirmed")
    )


def label(histories: Histories) -> tuple[Column, Column, Column]:
    """The number of its run, its producer and its number, of a record with a `lab_id`."""
    return index_of_run(_part(1), histories), _part(2).cast("int"), _part(3).cast("long")


def _whole(histories: Histories) -> Column:
    """Whether the value is as long as its run made them, where that is known: a shorter one fits too."""
    sizes = [(run, size) for run, size in zip(histories.runs, histories.sizes, strict=False) if size]
    if not sizes:
        return f.lit(True)
    asked = reduce(lambda found, one: found.when(_part(1) == one[0], one[1]), sizes, f.when(_NO, 0))
    least = f.length("lab_id")
    return f.coalesce(f.length("value") == f.when(asked > least + 1, asked).otherwise(least), f.lit(True))


def _lab_header() -> Column:
    """The workload writes it first; where it is not, each header is looked at, which takes much longer."""
    first = f.get("headers", f.lit(0))
    # Without a lambda: Spark compiles none, and all columns of the step would be computed uncompiled.
    anywhere = f.get(f.col("headers.value"), f.array_position(f.col("headers.key"), HEADER).cast("int") - 1)
    return f.when(first.getField("key") == HEADER, first.getField("value")).otherwise(anywhere)


def _payload(identity: Column) -> Column:
    """What lab.records.payload makes of an id, as long as the value. In bytes: characters are slow."""
    size, taken = f.length("value"), f.length(identity) + 1
    filler = f.repeat(f.sha2(identity, 256), (size / 64 + 1).cast("int")).cast("binary")
    start = f.concat(identity, f.lit(" ")).cast("binary")
    whole = f.concat(start, f.substring(filler, f.lit(1), size - taken))
    return f.when(size > taken, whole).otherwise(identity.cast("binary"))


def _part(number: int) -> Column:
    return f.substring_index(f.substring_index("lab_id", "-", number), "-", -1)


def index_of_run(run: Column, histories: Histories) -> Column:
    """Known runs are numbered from 1, others from -1 down: groups of numbers are faster than of texts."""
    own, others = (
        f.coalesce(f.array_position(f.array(*map(f.lit, runs)), run).cast("int"), f.lit(0))
        for runs in (histories.runs, histories.other_runs)
    )
    return f.when(own > 0, own).otherwise(-others) if histories.other_runs else own
