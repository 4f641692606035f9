"""Every record stands in the partition that it had, and in no other."""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class PartitionKept:
    name: ClassVar[str] = "partition"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    def counts(self) -> dict[str, Column]:
        return {"compared": c.records_where(self._compared()), "moved": c.records_where(self.offending())}

    def offending(self) -> Column:
        lowest = f.col("t_partition") == f.coalesce("s_partition", "l_partition")
        highest = f.col("t_partition_max") == f.coalesce("s_partition_max", "l_partition")
        return c.is_true(self._compared() & ~(lowest & highest))

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        compared, moved = counts["compared"], counts["moved"]
        if moved:
            return Outcome.FAIL, f"{moved:,} of {compared:,} records stand in another partition"
        if not compared:
            return Outcome.UNKNOWN, "the partition of no record is known on both sides"
        return Outcome.PASS, f"{compared:,} records stand in the partition that they had"

    @staticmethod
    def _compared() -> Column:
        known = f.coalesce("s_partition", "l_partition").isNotNull()
        return c.in_target() & known & f.col("told_apart")
