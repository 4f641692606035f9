"""No record stands on the target more often than in the source, or no more of them than allowed.

Without exactly-once support a restarted MM2 task repeats what follows its last committed offset.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class Duplicates:
    name: ClassVar[str] = "duplicates"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    allowed_fraction: float = 0.0  # of the records on the target; 1 allows any number

    def counts(self) -> dict[str, Column]:
        too_many = f.when(self._copies_alone(), f.col("t_count")).otherwise(
            f.col("t_count") - self._expected()
        )
        extra = f.when(self.offending(), too_many).otherwise(0)
        return {
            "mirrored": c.records_where(self._judged() | self._copies_alone()),
            "duplicated": c.records_where(self.offending()),
            "extra": f.coalesce(f.sum(extra * f.col("weight")), f.lit(0)),
            "most": f.coalesce(f.max(f.when(self.offending(), f.col("t_count"))), f.lit(0)),
        }

    def offending(self) -> Column:
        return (self._judged() & (f.col("t_count") > self._expected())) | self._copies_alone()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        mirrored, extra = counts["mirrored"], counts["extra"]
        if not mirrored:
            return Outcome.UNKNOWN, "no record of the source is on the target"
        if not extra:
            return Outcome.PASS, f"no record is duplicated on the target ({mirrored:,} checked)"
        duplicated, most = counts["duplicated"], counts["most"]
        meaning = f"{duplicated:,} of {mirrored:,} records are duplicated on the target, "
        meaning += f"{extra:,} copies too many, up to {most:,} of one"
        if extra <= self.allowed_fraction * mirrored or self.allowed_fraction >= 1:
            return Outcome.PASS, f"{meaning}: allowed"
        return Outcome.FAIL, meaning

    @staticmethod
    def _expected() -> Column:
        return f.greatest("s_count", f.lit(1))

    def _copies_alone(self) -> Column:
        """The target has deleted the first copy of a record that stands after later ones; or there are more
        records from before what the source still has than it has deleted.
        """
        surplus = f.col("t_surplus") & ~c.in_source() & ~c.in_ledger()
        return c.is_true(surplus | (self._judged() & f.col("again")))

    @staticmethod
    def _judged() -> Column:
        known = c.in_source() | c.in_ledger()
        return c.in_target() & known & f.col("told_apart")
