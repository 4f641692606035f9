"""Every record that the source owes stands on the target.

What is missing is told apart by where it was lost, and by whether later records of its partition
arrived (a hole) or not (the tail).
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from pyspark.sql import Column

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome

_PLACES: Final = {
    "never_in_source": "never reached the source topic",
    "gone_from_source": "were deleted from the source before they were mirrored",
    "not_mirrored": "are in the source but were not mirrored",
}


@dataclass(frozen=True, kw_only=True)
class NoLoss:
    name: ClassVar[str] = "loss"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    minimum: int = 1  # fewer owed records than this prove nothing

    def counts(self) -> dict[str, Column]:
        here, lost = c.in_source(), c.lost()
        return {
            "owed": c.records_where(c.owed()),
            "lost": c.records_where(lost),
            "never_in_source": c.records_where(lost & ~here & ~c.gone_from_source()),
            "gone_from_source": c.records_where(lost & ~here & c.gone_from_source()),
            "not_mirrored": c.records_where(lost & here),
            "tail": c.records_where(lost & c.in_tail()),
            "gone_from_both": c.records_where(c.gone_from_both()),
            "gone_from_target": c.records_where(self._gone_from_target()),
        }

    def offending(self) -> Column:
        return c.lost() | c.gone_from_both() | self._gone_from_target()

    @staticmethod
    def _gone_from_target() -> Column:
        return c.owed() & c.gone_from_target() & ~c.gone_from_both()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        lost, owed = counts["lost"], counts["owed"]
        if lost:
            places = ", ".join(f"{counts[name]:,} {words}" for name, words in _PLACES.items() if counts[name])
            where = f"{lost - counts['tail']:,} in holes, {counts['tail']:,} at the end"
            return Outcome.FAIL, f"{lost:,} of {owed:,} records are missing: {places}; {where}"
        if counts["gone_from_both"]:
            gone = counts["gone_from_both"]
            return (
                Outcome.UNKNOWN,
                f"{gone:,} of {owed:,} records were deleted from both topics before the check",
            )
        if counts["gone_from_target"]:
            gone = counts["gone_from_target"]
            return Outcome.UNKNOWN, (
                f"{gone:,} of {owed:,} records are older than all that the target still has, and it has "
                "deleted its beginning: whether they were ever there cannot be known"
            )
        if owed < self.minimum:
            return Outcome.UNKNOWN, f"{owed:,} records were owed, at least {self.minimum} are needed to judge"
        return Outcome.PASS, f"all {owed:,} records arrived"
