"""Mirroring has come to the end of every partition that the source had when it was read."""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class CaughtUp:
    name: ClassVar[str] = "catch_up"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    def counts(self) -> dict[str, Column]:
        partition = f.when(self.offending(), f.col("partition"))
        return {
            "owed": c.records_where(c.owed()),
            "behind": c.records_where(self.offending()),
            "partitions_behind": f.count_distinct(partition),
            "gone_from_target": c.records_where(c.owed() & c.gone_from_target() & c.in_tail()),
        }

    def offending(self) -> Column:
        return c.lost() & ~c.in_target() & c.in_tail()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        if counts["behind"]:
            where = f"{counts['partitions_behind']:,} partition(s)"
            return Outcome.FAIL, f"the last {counts['behind']:,} records of {where} are not on the target"
        if counts["gone_from_target"]:
            gone = counts["gone_from_target"]
            return (
                Outcome.UNKNOWN,
                f"the target has deleted all that it had of a partition; {gone:,} records may be among it",
            )
        if not counts["owed"]:
            return Outcome.UNKNOWN, "no record was owed"
        return Outcome.PASS, "the target has the last record of every partition"
