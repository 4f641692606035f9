"""Every group at the head has a checkpoint for each partition, and one that moves gets new ones.

A group behind may have none for a while: a restarted MM2 translates nothing from before its first sync.
It may also keep an old one, since MM2 thins out the syncs that it translates by, the more the further they
are from the head. So an old one is wrong where the group would re-read far more than it has still to read.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.checks.tightness import at_head
from lab.verify.verdict import Outcome

# Times what is left to read and offset.lag.max. Of Kafka 3.9 at most 1.1 was seen, its store allows about 4.
FAR: Final = 4


@dataclass(frozen=True, kw_only=True)
class CheckpointCoverage:
    name: ClassVar[str] = "coverage"
    table: ClassVar[str] = "groups"
    coordinates: ClassVar[tuple[str, ...]] = (
        *("partition", "group", "s_committed", "s_top", "upstream", "downstream", "redelivered"),
    )

    applies: bool = True  # False: no checkpoint connector is there
    offset_lag_max: int = 100
    later: str = "is not due yet"  # when a group that is new will be judged

    def counts(self) -> dict[str, Column]:
        return {
            "places": count_where(self._reads()),
            "covered": count_where(self._reads() & f.col("downstream").isNotNull()),
            "uncovered_at_head": count_where(self._uncovered() & self._due()),
            "not_due": count_where(self._uncovered() & ~self._due()),
            "stale": count_where(self._stale()),
        }

    def offending(self) -> Column:
        return self._uncovered() | self._stale()

    def _uncovered(self) -> Column:
        # without a mirrored record there is no sync, and nothing to go on from
        mirrored = f.coalesce(f.col("t_end"), f.lit(0)) > 0
        return self._reads() & f.col("downstream").isNull() & at_head() & mirrored

    @staticmethod
    def _due() -> Column:
        return f.col("known") & f.col("settled")

    def _stale(self) -> Column:
        """The group moved on an interval ago and more, and no checkpoint came for it."""
        owed = f.col("s_owed").between(f.col("upstream") + 1, f.col("s_committed"))
        left = f.col("s_top") + 1 - f.col("s_committed")
        far = f.col("redelivered") > FAR * (left + self.offset_lag_max)
        return self._reads() & f.col("downstream").isNotNull() & ~at_head() & owed & far

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        share = f"{counts['covered']:,} of {counts['places']:,} group partitions have a checkpoint"
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "no checkpoint connector is there"
        if counts["uncovered_at_head"]:
            return Outcome.FAIL, (
                f"{share}; {counts['uncovered_at_head']:,} without one stand at the head and would start "
                "anew on the target (MM2 looks for new groups every refresh.groups.interval.seconds)"
            )
        if counts["stale"]:
            return Outcome.FAIL, (
                f"{share}; {counts['stale']:,} of groups behind the head have moved on for longer than MM2's "
                "interval, and their checkpoints have not"
            )
        if counts["not_due"]:
            return Outcome.UNKNOWN, f"{share}; {counts['not_due']:,} without one at the head: {self.later}"
        if not counts["places"]:
            return Outcome.NOT_APPLICABLE, "no consumer group has committed offsets of this topic"
        if not counts["covered"]:
            return Outcome.UNKNOWN, f"{share}, and none stands at the head"
        return Outcome.PASS, share

    @staticmethod
    def _reads() -> Column:
        return f.col("s_committed") >= 0
