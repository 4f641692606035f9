"""The source holds what its ledger says: otherwise the producer or the brokers are to blame, not MM2."""

from dataclasses import dataclass
from typing import ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome

_TROUBLES: Final = {
    "missing": "are not in the source",
    "moved": "are not where they were acked",
    "damaged": "have another payload than was sent",
    "refused": "are there though they were refused",
    "unlisted": "are not in the ledger though it names all that were sent",
}


@dataclass(frozen=True, kw_only=True)
class LedgerHolds:
    name: ClassVar[str] = "ledger"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    def counts(self) -> dict[str, Column]:
        return {
            "without_ledger": c.records_where(~c.has_ledger()),
            "acked": c.records_where(c.acked()),
            "missing": c.records_where(self._missing()),
            "moved": c.records_where(self._moved()),
            "damaged": c.records_where(self._damaged()),
            "refused": c.records_where(self._refused()),
            "unlisted": c.records_where(self._unlisted()),
            "deleted_since": c.records_where(c.acked() & c.gone_from_source()),
        }

    def offending(self) -> Column:
        return self._missing() | self._moved() | self._damaged() | self._refused() | self._unlisted()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        told = [f"{counts[trouble]:,} {words}" for trouble, words in _TROUBLES.items() if counts[trouble]]
        if told:
            return Outcome.FAIL, f"of {counts['acked']:,} acked records: {', '.join(told)}"
        if counts["without_ledger"]:
            return Outcome.NOT_APPLICABLE, "the topic has no ledger: what was sent is not known"
        if not counts["acked"]:
            return Outcome.UNKNOWN, "the ledger has no acked record"
        kept = counts["acked"] - counts["deleted_since"]
        if not kept:
            return Outcome.UNKNOWN, "all acked records were deleted from the source before the check"
        return Outcome.PASS, f"{kept} acked records are in the source as they were sent"

    @staticmethod
    def _missing() -> Column:
        return c.acked() & ~c.in_source() & ~c.gone_from_source() & ~c.compacted()

    @staticmethod
    def _moved() -> Column:
        there = f.col("l_offset").between(f.col("s_first"), f.col("s_last"))
        same = (f.col("l_partition") == f.col("s_partition")) & f.coalesce(there, f.lit(True))
        return c.is_true(c.acked() & c.in_source() & ~same)

    @staticmethod
    def _damaged() -> Column:
        return c.is_true(c.in_source() & f.col("made_by_lab") & ~f.col("s_intact"))

    @staticmethod
    def _refused() -> Column:
        return c.in_source() & c.failed()

    @staticmethod
    def _unlisted() -> Column:
        return c.in_source() & c.has_ledger() & f.col("made_by_lab") & ~c.in_ledger()
