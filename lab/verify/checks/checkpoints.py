"""Checkpoints of a group and partition never go back, unless the group itself has gone back."""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class MonotonicCheckpoints:
    name: ClassVar[str] = "checkpoints"
    table: ClassVar[str] = "checkpoints"
    coordinates: ClassVar[tuple[str, ...]] = (
        *("partition", "position", "group", "upstream", "downstream", "prev_upstream", "prev_downstream"),
    )

    applies: bool = True  # False: no checkpoint connector is there
    has_groups: bool = True  # False: no group has committed anything that a checkpoint could be of

    def counts(self) -> dict[str, Column]:
        return {
            "checkpoints": count_where(f.col("upstream").isNotNull()),
            "followed": count_where(f.col("prev_upstream").isNotNull()),
            "rewinds": count_where(f.col("upstream") < f.col("prev_upstream")),
            "backwards": count_where(self.offending()),
        }

    def offending(self) -> Column:
        forward = f.col("upstream") >= f.col("prev_upstream")
        return forward & (f.col("downstream") < f.col("prev_downstream"))

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        if counts["backwards"]:
            return Outcome.FAIL, (
                f"{counts['backwards']:,} of {counts['checkpoints']:,} checkpoints go back although their "
                "groups did not"
            )
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "no checkpoint connector is there"
        if not counts["checkpoints"] and not self.has_groups:
            return Outcome.NOT_APPLICABLE, "no consumer group has committed offsets of this topic"
        if not counts["checkpoints"]:
            return Outcome.UNKNOWN, "there is no checkpoint of this topic"
        rewinds = f", {counts['rewinds']:,} after a rewind of the group" if counts["rewinds"] else ""
        return Outcome.PASS, f"none of {counts['checkpoints']:,} checkpoints goes back{rewinds}"
