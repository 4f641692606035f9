"""The ACLs of mirrored topics are what MM2 makes of the source's; lab.verify.parity has the rules.

MM2 adds and never deletes. So an ACL too many is wrong only if it was not there before MM2 came.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class SameAcls:
    name: ClassVar[str] = "acls"
    table: ClassVar[str] = "acls"
    coordinates: ClassVar[tuple[str, ...]] = (
        *("topic", "pattern", "principal", "host", "operation", "permission", "expected", "found"),
    )

    applies: bool = True  # False: sync.topic.acls.enabled is false, or the source has no authorizer
    later: str = "is not due yet"  # when what MM2 may still add will be judged

    def counts(self) -> dict[str, Column]:
        return {
            "expected": count_where(f.col("expected")),
            "missing": count_where(self._missing() & f.col("due")),
            "not_due": count_where(self._missing() & ~f.col("due")),
            "added": count_where(self._added()),
            "others": count_where(~f.col("expected") & f.col("found") & ~self._added()),
        }

    def offending(self) -> Column:
        return self._missing() | self._added()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        others = f"; the target has {counts['others']:,} more of its own" if counts["others"] else ""
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "no ACLs are synced: switched off, or the source has no authorizer"
        if counts["missing"] or counts["added"]:
            return Outcome.FAIL, (
                f"of {counts['expected']:,} ACLs that MM2 copies {counts['missing']:,} are missing, and "
                f"{counts['added']:,} were added since the "
                f"last verdict that it must not copy{others}"
            )
        if counts["not_due"]:
            return Outcome.UNKNOWN, (
                f"{counts['not_due']:,} of {counts['expected']:,} ACLs that MM2 copies are not on the target"
                f", since when is not known: {self.later}{others}"
            )
        if not counts["expected"]:
            return Outcome.NOT_APPLICABLE, f"the source has no ACL that MM2 would copy{others}"
        return Outcome.PASS, f"all {counts['expected']:,} ACLs that MM2 copies are there{others}"

    @staticmethod
    def _missing() -> Column:
        return f.col("expected") & ~f.col("found")

    @staticmethod
    def _added() -> Column:
        gone_before = f.coalesce(~f.col("before"), f.lit(False))
        return ~f.col("expected") & f.col("found") & gone_before
