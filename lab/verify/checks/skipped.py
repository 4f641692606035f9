"""MM2 skipped no record that the source has lost since: its offset syncs show where it went on.

A connector that was stopped, or too slow, for longer than the source keeps its records goes on at the first
that is left. Nobody can read the lost ones any more, but the distance between two syncs tells of them.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class NothingSkipped:
    name: ClassVar[str] = "skipped"
    table: ClassVar[str] = "syncs"
    coordinates: ClassVar[tuple[str, ...]] = (
        *("partition", "prev_upstream", "upstream", "skipped", "in_ledger", "written_ms"),
    )

    applies: bool = True  # False: the connector emits no offset syncs
    counts_records: bool = True  # False: on the target also markers, or records of others, take offsets
    transactions: bool = False  # whether the source cluster ever had one: their markers are no records

    def counts(self) -> dict[str, Column]:
        return {
            "judged": count_where(f.col("skipped").isNotNull()),
            "gaps": count_where(self._skipped()),
            "records": self._sum("skipped", self._skipped()),
            "in_ledger": self._sum("in_ledger", self._skipped()),
            "unclear": self._sum("skipped", (f.col("skipped") > 0) & ~self._skipped()),
        }

    def offending(self) -> Column:
        return f.col("skipped") > 0

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "the connector emits no offset syncs"
        if counts["records"]:
            known = f"; a ledger knows {counts['in_ledger']:,} of them, which loss names too"
            return Outcome.FAIL, (
                f"MM2 went on later than it had stopped: {counts['records']:,} records in "
                f"{counts['gaps']:,} gaps between its offset syncs were not mirrored, and the source has "
                "deleted them" + (known if counts["in_ledger"] else "")
            )
        if counts["unclear"]:
            return Outcome.NOT_APPLICABLE, (
                f"of what the source has deleted since, {counts['unclear']:,} offsets that did not arrive "
                "may be markers, or compacted away"
            )
        if not counts["judged"]:
            return Outcome.NOT_APPLICABLE, "no two offset syncs span anything that the source has deleted"
        if not self.counts_records:
            return Outcome.NOT_APPLICABLE, (
                "not only mirrored records take offsets on the target, so its distances count no records"
            )
        return Outcome.PASS, (
            f"between {counts['judged']:,} pairs of offset syncs over what the source has deleted since, "
            "no record was skipped"
        )

    def _skipped(self) -> Column:
        no_records = f.col("holes") | f.lit(self.transactions)
        return (f.col("skipped") > 0) & ~f.coalesce(no_records, f.lit(False))

    @staticmethod
    def _sum(column: str, where: Column) -> Column:
        return f.coalesce(f.sum(f.when(where, f.col(column))), f.lit(0))
