"""What a check is: aggregate expressions over one evidence table, and a query for the first coordinates.

All checks over one table are counted in a single pass. The coordinates are looked up only for a check
whose count is not 0, so a clean verdict costs one scan however many checks there are.
"""

from collections.abc import Mapping
from typing import ClassVar, Protocol

from pyspark.sql import Column

from lab.verdict import Outcome

Counts = Mapping[str, int]


class Check(Protocol):
    """Settings are the fields of a frozen, keyword-only dataclass; the four members below judge.

    `table` names the evidence: "records" (lab.evidence), or another of `lab.checks.TABLES`.
    """

    name: ClassVar[str]
    table: ClassVar[str]

    def counts(self) -> dict[str, Column]:
        """Aggregate expressions over the table, by the name of the count; integers, never null."""
        ...

    def guilty(self) -> Column:
        """Which rows are to be shown as first coordinates."""
        ...

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        """The outcome, and in one sentence what it means."""
        ...
