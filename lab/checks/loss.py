"""Every record that the source owes stands on the target.

Owed is what the source holds, and what its ledger says was acked. What is missing is told apart by
where it was lost, and by whether later records of its partition arrived (a hole) or not (the tail).
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.checks.check import Counts
from lab.checks.columns import aborted, acked, count_where, in_source, in_target
from lab.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class NoLoss:
    name: ClassVar[str] = "loss"
    table: ClassVar[str] = "records"

    minimum: int = 1  # fewer owed records than this prove nothing

    def counts(self) -> dict[str, Column]:
        return {
            "owed": count_where(self._owed()),
            "lost": count_where(self.guilty()),
            "never_in_source": count_where(self.guilty() & ~in_source() & ~self._gone_from_source()),
            "gone_from_source": count_where(self.guilty() & self._gone_from_source()),
            "not_mirrored": count_where(self.guilty() & in_source() & ~self._gone_from_target()),
            "gone_from_target": count_where(self.guilty() & in_source() & self._gone_from_target()),
            "holes": count_where(self.guilty() & self._hole()),
        }

    def guilty(self) -> Column:
        # Of equal records without an id there may be several; fewer on the target is a loss too.
        fewer = ~f.col("made_by_lab") & (f.col("t_count") < f.col("s_count"))
        return self._owed() & (~in_target() | fewer)

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        if counts["lost"]:
            places = [
                f"{counts[kind]} {words}"
                for kind, words in (
                    ("never_in_source", "never reached the source topic"),
                    ("gone_from_source", "were deleted from the source before MM2 read them"),
                    ("not_mirrored", "are in the source but were not mirrored"),
                    ("gone_from_target", "were deleted from the target"),
                )
                if counts[kind]
            ]
            tail = counts["lost"] - counts["holes"]
            return (
                Outcome.FAIL,
                f"{counts['lost']} of {counts['owed']} records are missing: {', '.join(places)}"
                + (f"; {counts['holes']} in holes, {tail} at the end"),
            )
        if counts["owed"] < self.minimum:
            return (
                Outcome.UNKNOWN,
                f"only {counts['owed']} records were owed, {self.minimum} are needed to judge",
            )
        return Outcome.PASS, f"all {counts['owed']} records arrived"

    @staticmethod
    def _owed() -> Column:
        return (in_source() | acked()) & ~aborted()

    @staticmethod
    def _gone_from_source() -> Column:
        """Acked at an offset that the source has since deleted."""
        return ~in_source() & (f.col("l_offset") < f.col("s_start"))

    @staticmethod
    def _gone_from_target() -> Column:
        """The target has deleted records, and everything mirrored that is left comes after this one."""
        return (f.col("t_start") > 0) & (f.coalesce("s_first", "l_offset") < f.col("mirrored_first"))

    @staticmethod
    def _hole() -> Column:
        return f.coalesce("s_first", "l_offset") < f.col("mirrored_last")
