"""Every selected topic is on the target with no fewer partitions; no internal one is."""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class SameTopics:
    name: ClassVar[str] = "topic_set"
    table: ClassVar[str] = "topics"
    coordinates: ClassVar[tuple[str, ...]] = ("topic", "remote", "s_partitions", "t_partitions")

    later: str = "is not due yet"  # when what MM2 may still create will be judged

    def counts(self) -> dict[str, Column]:
        return {
            "selected": count_where(f.col("selected")),
            "missing": count_where(self._missing() & f.col("due")),
            "too_small": count_where(self._too_small() & f.col("due")),
            "not_due": count_where((self._missing() | self._too_small()) & ~f.col("due")),
            "internal": count_where(self._internal()),
            "left_over": count_where(
                ~f.col("selected") & ~f.col("internal") & f.col("t_partitions").isNotNull()
            ),
        }

    def offending(self) -> Column:
        return self._missing() | self._too_small() | self._internal()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        found = [f"{counts[kind]:,} {words}" for kind, words in _WRONG.items() if counts[kind]]
        if found:
            return Outcome.FAIL, f"of {counts['selected']:,} selected topics {', '.join(found)}"
        if counts["not_due"]:
            return Outcome.UNKNOWN, (
                f"{counts['not_due']:,} of {counts['selected']:,} selected topics are not on the target, or "
                f"have fewer partitions there, since when is not known: {self.later}"
            )
        if not counts["selected"]:
            return Outcome.UNKNOWN, "no topic of the source is selected"
        left = f"; {counts['left_over']:,} more, not selected, are there too" if counts["left_over"] else ""
        return Outcome.PASS, f"all {counts['selected']:,} selected topics are on the target{left}"

    @staticmethod
    def _missing() -> Column:
        return f.col("selected") & f.col("t_partitions").isNull()

    @staticmethod
    def _too_small() -> Column:
        return f.col("selected") & (f.col("t_partitions") < f.col("s_partitions"))

    @staticmethod
    def _internal() -> Column:
        return f.col("internal") & f.col("t_partitions").isNotNull()


_WRONG = {
    "missing": "are not on the target",
    "too_small": "have fewer partitions there",
    "internal": "are internal, and mirrored all the same",
}
