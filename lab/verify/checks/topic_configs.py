"""The configs of mirrored topics are what MM2's rules make of the source's; lab.verify.parity has the rules.

A key is copied, or reset to the target's own default, or excluded and then untouched. The last is judged
only for keys of which somebody knows what they were before.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Counts, count_where
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class SameTopicConfigs:
    name: ClassVar[str] = "topic_configs"
    table: ClassVar[str] = "configs"
    coordinates: ClassVar[tuple[str, ...]] = ("topic", "key", "rule", "expected", "found")

    applies: bool = True  # False: sync.topic.configs.enabled is false
    later: str = "is not due yet"  # when what MM2 may still put right will be judged

    def counts(self) -> dict[str, Column]:
        return {
            "keys": count_where(f.col("key").isNotNull()),
            "judged": count_where(f.col("judged")),
            "not_due": count_where(self.offending() & ~f.col("due")),
            **{
                rule: count_where(self.offending() & f.col("due") & (f.col("rule") == rule))
                for rule in _WRONG
            },
        }

    def offending(self) -> Column:
        return f.col("judged") & ~f.col("expected").eqNullSafe(f.col("found"))

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        if not self.applies:
            return Outcome.NOT_APPLICABLE, "sync.topic.configs.enabled is false"
        found = [f"{counts[rule]:,} {words}" for rule, words in _WRONG.items() if counts[rule]]
        if found:
            return Outcome.FAIL, f"of {counts['judged']:,} config keys {', '.join(found)}"
        if counts["not_due"]:
            return Outcome.UNKNOWN, (
                f"{counts['not_due']:,} of {counts['judged']:,} config keys are not as MM2's rules have them"
                f", since when is not known: {self.later}"
            )
        if not counts["judged"]:
            return Outcome.UNKNOWN, "no mirrored topic's config was read"
        left = counts["keys"] - counts["judged"]
        excluded = f"; {left} are excluded, and nobody knows what they were before" if left else ""
        return Outcome.PASS, f"{counts['judged']:,} config keys are as MM2's rules have it{excluded}"


_WRONG = {
    "copied": "are not the source's",
    "reset": "stand on the target although the source has the default",
    "untouched": "are excluded and became, since the last verdict, what MM2 would make of them",
}
