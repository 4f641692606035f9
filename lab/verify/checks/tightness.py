"""A group that stands at the head of the source re-reads fewer than `offset.lag.max` records.

MM2 promises no more: translation is exact to the last sync, and syncs thin out with the distance from
the head. So what a group behind would read again is reported and not judged. Nor is what a group has read
since the newest checkpoint that MM2 has to have written.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.internals import reached
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class TightTranslation:
    name: ClassVar[str] = "tightness"
    table: ClassVar[str] = "groups"
    coordinates: ClassVar[tuple[str, ...]] = (
        *("partition", "group", "s_committed", "upstream", "downstream", "redelivered"),
    )

    offset_lag_max: int = 100
    applies: bool = True  # False: no checkpoint connector is there
    later: str = "is not due yet"  # when a group that has committed a moment ago will be judged

    def counts(self) -> dict[str, Column]:
        translated = f.col("downstream").isNotNull()
        again = f.col("redelivered")
        return {
            "at_head": count_where(translated & at_head()),
            "behind": count_where(translated & ~at_head()),
            "loose": count_where(self._loose() & f.col("settled")),
            "not_due": count_where(self._loose() & ~f.col("settled") & ~self._as_fresh()),
            "most_at_head": f.coalesce(f.max(f.when(translated & at_head(), again)), f.lit(0)),
            "most_behind": f.coalesce(f.max(f.when(translated & ~at_head(), again)), f.lit(0)),
        }

    def offending(self) -> Column:
        return self._loose() & (f.col("settled") | ~self._as_fresh())

    def _loose(self) -> Column:
        return f.col("downstream").isNotNull() & at_head() & (f.col("redelivered") >= self._bound)

    @property
    def _bound(self) -> int:
        return max(1, self.offset_lag_max)  # with 0 every record is synced, and none is read again

    def _as_fresh(self) -> Column:
        """The checkpoint is as new as it has to be, and tight for where the group stood then."""
        owed = (f.col("s_owed") >= 0) & (f.col("upstream") >= f.col("s_owed"))
        as_new = f.coalesce(owed | (f.col("written_ms") >= f.col("fresh_ms")), f.lit(False))
        return as_new & (f.col("again") < self._bound)

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        behind = f"; {counts['behind']:,} behind it would re-read up to {counts['most_behind']:,}"
        behind = behind if counts["behind"] else ""
        if counts["loose"]:
            return Outcome.FAIL, (
                f"{counts['loose']:,} of {counts['at_head']:,} group partitions at the head would re-read "
                f"{counts['most_at_head']:,} records, offset.lag.max is {self.offset_lag_max}{behind}"
            )
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "no checkpoint connector is there"
        if counts["not_due"]:
            return Outcome.UNKNOWN, (
                f"{counts['not_due']:,} of {counts['at_head']:,} group partitions at the head would re-read "
                f"up to {counts['most_at_head']:,} records, and committed too lately for newer checkpoints: "
                f"{self.later}{behind}"
            )
        if not counts["at_head"]:
            return Outcome.NOT_APPLICABLE, f"no group with a checkpoint stands at the head{behind}"
        return Outcome.PASS, (
            f"{counts['at_head']:,} group partitions at the head would re-read up to "
            f"{counts['most_at_head']:,} records{behind}"
        )


def at_head() -> Column:
    """Whether the group has read all that the source holds of the partition."""
    return f.coalesce(reached() > f.col("s_top"), f.lit(False))
