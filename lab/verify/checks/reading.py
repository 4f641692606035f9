"""All was read that stood between the offsets which the brokers had named.

Offsets without a record are explained by markers of transactions, by records that were aborted, and by
compaction. More of them than that, and no verdict rests on firm ground.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.checks.columns import is_true
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class AllRead:
    name: ClassVar[str] = "reading"
    table: ClassVar[str] = "partitions"
    coordinates: ClassVar[tuple[str, ...]] = (
        "partition",
        "s_start",
        "s_end",
        "s_rows",
        "t_start",
        "t_end",
        "t_rows",
    )

    def counts(self) -> dict[str, Column]:
        found = {"partitions": count_where(f.lit(True))}
        for side, word in (("s", "source"), ("t", "target")):
            found[f"{word}_rows"] = f.coalesce(f.sum(f"{side}_rows"), f.lit(0))
            # all partitions together: equal records of several partitions are counted in one of them
            found[f"{word}_unread"] = f.coalesce(f.sum(self._unread(side)), f.lit(0))
        found["of_other_sources"] = f.coalesce(f.sum("t_others"), f.lit(0))
        return found

    def offending(self) -> Column:
        return is_true(self._unread("s") != 0) | is_true(self._unread("t") != 0)

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        unread = {side: counts[f"{side}_unread"] for side in ("source", "target")}
        troubles = [
            f"{abs(count):,} records too {'few' if count > 0 else 'many'} of the {side}"
            for side, count in unread.items()
            if count
        ]
        if troubles:
            return Outcome.UNKNOWN, f"{' and '.join(troubles)} were read, and nothing explains it"
        others = counts["of_other_sources"]
        if not counts["source_rows"] and counts["target_rows"] <= others:
            return Outcome.UNKNOWN, "nothing was read"
        told = f"{counts['source_rows']:,} and {counts['target_rows']:,} records were read, as expected"
        return Outcome.PASS, f"{told}; {others:,} of them are of other sources" if others else told

    @staticmethod
    def _unread(side: str) -> Column:
        """0 where any number of offsets may be empty, unless there are more records than offsets."""
        missing = f.col(f"{side}_end") - f.col(f"{side}_start") - f.col(f"{side}_rows")
        return f.when(f.col(f"{side}_holes").isNull(), f.least(missing, f.lit(0))).otherwise(
            missing - f.col(f"{side}_holes")
        )
