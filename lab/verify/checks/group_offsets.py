"""What MM2 commits for a group on the target is its checkpoint, and never less than was there before.

MM2 writes only groups without members, and only forward. `t_before` is what the group had committed on
the target at an earlier moment; only with it can it be said that an offset went back or ran ahead.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.kafka import WITHOUT_MEMBERS
from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class SyncedGroupOffsets:
    name: ClassVar[str] = "group_offsets"
    table: ClassVar[str] = "groups"
    coordinates: ClassVar[tuple[str, ...]] = (
        *("partition", "group", "t_state", "due", "downstream", "t_committed", "t_before"),
    )

    later: str = "is not due yet"  # when what MM2 may still write will be judged

    def counts(self) -> dict[str, Column]:
        return {
            "synced": count_where(f.col("synced")),
            "judged": count_where(self._judged()),
            "busy": count_where(f.col("synced") & ~self._idle()),
            "behind": count_where(self._behind() & f.col("rested")),
            "not_due": count_where(self._behind() & ~f.col("rested")),
            "ahead": count_where(self._ahead()),
            "moved_back": count_where(self._moved_back()),
            "beyond_the_end": count_where(self._beyond()),
        }

    def offending(self) -> Column:
        return self._behind() | self._ahead() | self._moved_back() | self._beyond()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        wrong = ("behind", "ahead", "moved_back", "beyond_the_end")
        if not counts["synced"]:
            return Outcome.NOT_APPLICABLE, "sync.group.offsets.enabled is false, or there are no groups"
        if any(counts[kind] for kind in wrong):
            found = ", ".join(f"{counts[kind]:,} {kind.replace('_', ' ')}" for kind in wrong if counts[kind])
            return Outcome.FAIL, f"offsets that groups have on the target are not their checkpoints': {found}"
        if counts["not_due"]:
            return Outcome.UNKNOWN, (
                f"{counts['not_due']:,} of {counts['synced']:,} group partitions are behind their checkpoints"
                f", since when is not known: {self.later}"
            )
        if not counts["judged"]:
            why = (
                f"{counts['busy']:,} have members"
                if counts["busy"]
                else f"no checkpoint is due; {self.later}"
            )
            return Outcome.UNKNOWN, f"of {counts['synced']:,} group partitions none can be judged: {why}"
        return Outcome.PASS, f"{counts['judged']:,} group partitions stand at their checkpoints or later"

    @staticmethod
    def _idle() -> Column:
        return f.col("t_state").isin(*WITHOUT_MEMBERS)

    def _judged(self) -> Column:
        reached = f.col("t_committed") >= f.col("downstream")  # whether it was due or not
        return f.col("synced") & self._idle() & (f.col("due").isNotNull() | f.coalesce(reached, f.lit(False)))

    def _behind(self) -> Column:
        return self._judged() & (f.col("t_committed") < f.col("due"))

    def _ahead(self) -> Column:
        allowed = f.greatest(f.col("furthest"), f.col("t_before"))
        return self._judged() & f.col("t_before").isNotNull() & (f.col("t_committed") > allowed)

    def _moved_back(self) -> Column:
        return f.col("synced") & self._idle() & (f.col("t_committed") < f.col("t_before"))

    @staticmethod
    def _beyond() -> Column:
        return f.col("synced") & (f.col("t_committed") > f.col("t_end"))
