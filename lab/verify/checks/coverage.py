"""Every group that stands at the head has a checkpoint for each partition that it reads.

A group behind may have none for a while: a restarted MM2 translates nothing from before its first sync.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.checks.tightness import at_head
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class CheckpointCoverage:
    name: ClassVar[str] = "coverage"
    table: ClassVar[str] = "groups"
    coordinates: ClassVar[tuple[str, ...]] = ("partition", "group", "s_committed", "s_top")

    applies: bool = True  # False: no checkpoint connector is there

    def counts(self) -> dict[str, Column]:
        return {
            "places": count_where(self._reads()),
            "covered": count_where(self._reads() & f.col("downstream").isNotNull()),
            "uncovered_at_head": count_where(self.guilty()),
        }

    def guilty(self) -> Column:
        # without a mirrored record there is no sync, and nothing to go on from
        mirrored = f.coalesce(f.col("t_end"), f.lit(0)) > 0
        return self._reads() & f.col("downstream").isNull() & at_head() & mirrored

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        share = f"{counts['covered']:,} of {counts['places']:,} group partitions have a checkpoint"
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "no checkpoint connector is there"
        if counts["uncovered_at_head"]:
            return Outcome.FAIL, (
                f"{share}; {counts['uncovered_at_head']:,} without one stand at the head and would start "
                "anew on the target (MM2 looks for new groups every refresh.groups.interval.seconds)"
            )
        if not counts["places"]:
            return Outcome.NOT_APPLICABLE, "no consumer group has committed offsets of this topic"
        if not counts["covered"]:
            return Outcome.UNKNOWN, f"{share}, and none stands at the head"
        return Outcome.PASS, share

    @staticmethod
    def _reads() -> Column:
        return f.col("s_committed") >= 0
