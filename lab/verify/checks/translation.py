"""A group that fails over by its checkpoint skips no record.

Whatever the source holds from the checkpoint's upstream offset on, and the target has at all, stands on
the target at its downstream offset or later; and that offset is not beyond the target's end.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class SafeTranslation:
    name: ClassVar[str] = "translation"
    table: ClassVar[str] = "groups"
    coordinates: ClassVar[tuple[str, ...]] = (
        *("partition", "first_skipped", "group", "upstream", "downstream", "t_end"),
    )

    applies: bool = True  # False: no checkpoint connector is there

    def counts(self) -> dict[str, Column]:
        return {
            "places": count_where(f.col("group").isNotNull()),
            "checkpoints": count_where(f.col("downstream").isNotNull()),
            "unsafe": count_where(self._skips()),
            "skipped": f.coalesce(f.sum("skipped"), f.lit(0)),
            "beyond_the_end": count_where(self._beyond()),
        }

    def offending(self) -> Column:
        return self._skips() | self._beyond()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        if counts["unsafe"] or counts["beyond_the_end"]:
            return Outcome.FAIL, (
                f"of {counts['checkpoints']:,} checkpoints {counts['unsafe']:,} would skip records, "
                f"{counts['skipped']:,} in all, and {counts['beyond_the_end']:,} "
                "point beyond the target's end"
            )
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "no checkpoint connector is there"
        if not counts["places"]:
            return Outcome.NOT_APPLICABLE, "no consumer group has committed offsets of this topic"
        if not counts["checkpoints"]:
            return Outcome.UNKNOWN, f"none of {counts['places']:,} group partitions has a checkpoint"
        return Outcome.PASS, f"going on at any of {counts['checkpoints']:,} checkpoints skips no record"

    @staticmethod
    def _skips() -> Column:
        return f.col("skipped") > 0

    @staticmethod
    def _beyond() -> Column:
        return f.col("downstream") > f.col("t_end")
