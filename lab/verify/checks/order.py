"""First copies stand on the target in the order of the source, partition by partition.

A replay repeats records that are there already: it is counted, and no disorder. A compacted topic may
have lost first copies, and then a replay looks like disorder: such records are counted too.
"""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class OrderKept:
    name: ClassVar[str] = "order"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_TARGET

    def counts(self) -> dict[str, Column]:
        known = c.in_target() & f.col("offset").isNotNull() & f.col("told_apart")
        one_of_many = f.col("s_count") > 1
        return {
            "compared": c.records_where(known & ~one_of_many),
            "inverted": c.records_where(self.offending()),
            "late": c.records_where(f.col("inverted") & c.compacted()),
            "replayed": c.records_where(known & ~one_of_many & (f.col("t_count") > 1)),
            "equal": c.records_where(known & one_of_many),
        }

    def offending(self) -> Column:
        return f.col("inverted") & ~c.compacted()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        compared, inverted = counts["compared"], counts["inverted"]
        if inverted:
            return (
                Outcome.FAIL,
                f"{inverted:,} of {compared:,} records stand after a later one of the source",
            )
        if not compared:
            return Outcome.UNKNOWN, "no record that can be told from others is on the target"
        replayed = f"; {counts['replayed']:,} were repeated later" if counts["replayed"] else ""
        equal = f"; {counts['equal']:,} kinds of equal records have no order" if counts["equal"] else ""
        late = counts["late"]
        later = f"; {late:,} are late, as copies whose first was compacted away" if late else ""
        return (
            Outcome.PASS,
            f"{compared - late:,} records are in the order of the source{replayed}{equal}{later}",
        )
