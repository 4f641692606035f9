"""Timestamps are what they were, or, where the target's brokers stamp records themselves, no earlier."""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class TimestampKept:
    name: ClassVar[str] = "timestamp"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    def counts(self) -> dict[str, Column]:
        return {
            "compared": c.records_where(c.in_both()),
            "by_broker": c.records_where(c.in_both() & f.col("t_stamped_by_broker")),
            "changed": c.records_where(self.offending() & ~f.col("t_stamped_by_broker")),
            "earlier": c.records_where(self.offending() & f.col("t_stamped_by_broker")),
        }

    def offending(self) -> Column:
        later = f.col("t_timestamp") >= f.col("s_timestamp")
        expected = f.when(f.col("t_stamped_by_broker"), later).otherwise(f.col("same_timestamp"))
        return c.is_true(c.in_both() & ~expected)

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        compared = counts["compared"]
        if counts["changed"]:
            return Outcome.FAIL, f"{counts['changed']:,} of {compared:,} records have another timestamp"
        if counts["earlier"]:
            return Outcome.FAIL, f"the target stamped {counts['earlier']:,} of {compared:,} records too early"
        if not compared:
            return Outcome.UNKNOWN, "no record is in both topics"
        stamped = counts["by_broker"]
        by_broker = f"; {stamped:,} are stamped by the target, no earlier" if stamped else ""
        return Outcome.PASS, f"{compared - stamped:,} records have the timestamp that they had{by_broker}"
