"""Whoever reads a compacted topic to its end knows the same of every key on both sides.

The last record of a key counts. A tombstone may be gone once it has done its work; a deleted key that
is alive on the target was resurrected, or never deleted there.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.checks.columns import is_true
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class SameLastValues:
    name: ClassVar[str] = "compaction"
    table: ClassVar[str] = "keys"
    coordinates: ClassVar[tuple[str, ...]] = ("partition", "s_offset", "t_offset", "id")

    def counts(self) -> dict[str, Column]:
        return {
            "keys": count_where(f.lit(True)),
            "deleted": count_where(~self._alive("s") & ~self._alive("t")),
            "missing": count_where(self._missing()),
            "stale": count_where(self._stale()),
            "alive": count_where(self._alive_again()),
            "gone_from_target": count_where(self._gone_from_target()),
        }

    def offending(self) -> Column:
        return self._missing() | self._stale() | self._alive_again()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        told = [
            f"{counts[trouble]:,} {words}"
            for trouble, words in (
                ("missing", "have no value on the target"),
                ("stale", "have another last value there"),
                ("alive", "are deleted in the source and have a value on the target"),
            )
            if counts[trouble]
        ]
        if told:
            return Outcome.FAIL, f"of {counts['keys']:,} keys {', '.join(told)}"
        if counts["gone_from_target"]:
            return Outcome.UNKNOWN, (
                f"of {counts['keys']:,} keys {counts['gone_from_target']:,} are not on the target, which has "
                "deleted its beginning"
            )
        if not counts["keys"]:
            return Outcome.NOT_APPLICABLE, "the topic is not compacted, or holds no record"
        alive = counts["keys"] - counts["deleted"]
        return Outcome.PASS, f"{alive:,} keys have the same last value, {counts['deleted']:,} are deleted"

    @staticmethod
    def _alive(side: str) -> Column:
        return is_true(~f.col(f"{side}_tombstone"))

    def _missing(self) -> Column:
        return self._alive("s") & ~self._alive("t") & self._owed() & ~self._gone()

    def _gone_from_target(self) -> Column:
        return self._alive("s") & self._owed() & self._gone()

    @staticmethod
    def _gone() -> Column:
        """Not on the target at all, where it may have been deleted with the beginning."""
        return f.col("t_offset").isNull() & (f.col("t_start") > 0)

    def _stale(self) -> Column:
        return self._alive("s") & self._alive("t") & self._owed() & (f.col("s_content") != f.col("t_content"))

    def _alive_again(self) -> Column:
        """A source that has also deleted its beginning may have had the key."""
        may_have_had_it = f.col("s_offset").isNull() & (f.col("s_start") > 0)
        return self._alive("t") & ~self._alive("s") & ~may_have_had_it & self._owed()

    @staticmethod
    def _owed() -> Column:
        """The last record is not one that came after the ends which the target had to reach."""
        return ~is_true(f.col("s_offset") >= f.col("s_owed"))
