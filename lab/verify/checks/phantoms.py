"""The target has nothing that the source never had, and nothing goes round between the clusters.

Records of aborted transactions reach a target whose MM2 reads uncommitted: then they are counted, and
are phantoms only where it is to read committed.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.ledger import ACKED, UNKNOWN
from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome

_TROUBLES: Final = {
    "foreign": "the source never had",
    "returned": "stand in the source more often than they were sent, as a mirror in a circle does it",
}


@dataclass(frozen=True, kw_only=True)
class NoPhantoms:
    name: ClassVar[str] = "phantoms"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_TARGET

    read_committed: bool = False

    def counts(self) -> dict[str, Column]:
        return {
            "on_target": c.records_where(c.in_target()),
            "foreign": c.records_where(self._foreign()),
            "returned": c.records_where(self._returned()),
            "aborted": c.records_where(self._aborted()),
            "unjudged": c.records_where(self._unjudged()),
        }

    def offending(self) -> Column:
        phantoms = self._foreign() | self._returned()
        return phantoms | self._aborted() if self.read_committed else phantoms

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        told = [f"{counts[name]:,} records {words}" for name, words in _TROUBLES.items() if counts[name]]
        aborted = f"{counts['aborted']:,} records of aborted transactions" if counts["aborted"] else ""
        if aborted and self.read_committed:
            told.append(f"{aborted} were mirrored")
        if told:
            return Outcome.FAIL, "; ".join(told)
        judged = counts["on_target"] - counts["unjudged"]
        if not judged:
            return Outcome.UNKNOWN, "the target has no record that could be judged"
        notes = [f"{aborted} among them"] if aborted else []
        if counts["unjudged"]:
            notes.append(f"{counts['unjudged']:,} are from before what the source still has")
        return Outcome.PASS, "; ".join([f"all {judged:,} records on the target came from the source", *notes])

    @staticmethod
    def _unjudged() -> Column:
        """The source has deleted what this may have come from, and no ledger names it."""
        deleted = c.older_than_source() | (c.compacted() & ~f.col("made_by_lab"))
        return c.in_target() & ~c.in_source() & ~c.in_ledger() & deleted

    def _foreign(self) -> Column:
        sent = c.is_true(f.col("l_outcome") == ACKED)
        may_be_gone = (f.col("s_start") > 0) | c.compacted()
        perhaps_sent = c.is_true((f.col("l_outcome") == UNKNOWN) & may_be_gone)
        return c.in_target() & ~c.in_source() & ~(sent | perhaps_sent | self._unjudged())

    @staticmethod
    def _returned() -> Column:
        return f.col("made_by_lab") & c.in_ledger() & (f.col("s_count") > 1)

    @staticmethod
    def _aborted() -> Column:
        return c.in_target() & c.aborted()
