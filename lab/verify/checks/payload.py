"""Key and value are what they were, byte by byte; null stays null and empty stays empty."""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class PayloadIntact:
    name: ClassVar[str] = "payload"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    def counts(self) -> dict[str, Column]:
        return {
            "compared": c.records_where(c.in_both()),
            "recomputed": c.records_where(self._recomputed()),
            "changed": c.records_where(self.offending()),
            "null_or_not": c.records_where(
                c.in_both() & (f.col("s_tombstone") != f.col("t_tombstone")),
            ),
        }

    def offending(self) -> Column:
        changed = c.in_both() & ~f.col("same_content")
        return c.is_true(changed | (self._recomputed() & ~f.col("t_intact")))

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        judged = counts["compared"] + counts["recomputed"]
        if counts["changed"]:
            null = counts["null_or_not"]
            nulls = f"; for {null:,} of them one side has no value at all" if null else ""
            return (
                Outcome.FAIL,
                f"{counts['changed']:,} of {judged:,} records have another key or value{nulls}",
            )
        if not judged:
            return Outcome.UNKNOWN, "no record of the target could be compared"
        gone = f"; {counts['recomputed']:,} of them are gone from the source" if counts["recomputed"] else ""
        return Outcome.PASS, f"{judged:,} records have the key and value that they had{gone}"

    @staticmethod
    def _recomputed() -> Column:
        """The source has it no more, its id says what the value was."""
        return f.col("made_by_lab") & c.in_target() & ~c.in_source()
