"""The record at a sync's upstream offset is the record at its downstream offset.

Consumers that fail over go by these pairs. A pair is judged when records still stand at both ends, and
when MM2 still translates by it.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class TrueSyncPairs:
    name: ClassVar[str] = "sync_pairs"
    table: ClassVar[str] = "syncs"
    coordinates: ClassVar[tuple[str, ...]] = ("partition", "upstream", "downstream", "s_id", "t_id")

    applies: bool = True  # False: the connector emits no offset syncs

    def counts(self) -> dict[str, Column]:
        return {
            "pairs": count_where(f.col("emitted")),
            "judged": count_where(self._both_there() | self._beyond()),
            "different": count_where(self._different()),
            "beyond_the_end": count_where(self._beyond()),
            "outdated": count_where(f.col("outdated")),
        }

    def offending(self) -> Column:
        return self._different() | self._beyond()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        if counts["different"] or counts["beyond_the_end"]:
            return Outcome.FAIL, (
                f"of {counts['judged']:,} offset syncs {counts['different']:,} name two different records "
                f"and {counts['beyond_the_end']:,} point beyond the target's end: "
                "translated offsets are wrong"
            )
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "the connector emits no offset syncs"
        if not counts["judged"]:
            return Outcome.UNKNOWN, f"of {counts['pairs']:,} offset syncs none has both its records any more"
        outdated = counts["outdated"]
        since = f"; {outdated:,} are of no use any more, since MM2 went back" if outdated else ""
        return (
            Outcome.PASS,
            f"{counts['judged']:,} of {counts['pairs']:,} offset syncs judged: each is one record{since}",
        )

    @staticmethod
    def _both_there() -> Column:
        return f.col("s_id").isNotNull() & f.col("t_id").isNotNull() & ~f.col("outdated")

    def _different(self) -> Column:
        return self._both_there() & (f.col("s_id") != f.col("t_id"))

    @staticmethod
    def _beyond() -> Column:
        return f.col("emitted") & (f.col("downstream") >= f.col("t_end")) & ~f.col("outdated")
