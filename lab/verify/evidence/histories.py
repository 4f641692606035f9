"""What is judged: the records of both sides and the ledger, as frames with columns of their own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark.sql import DataFrame

RECORD_COLUMNS: Final = (
    "case int, partition int, offset long, timestamp long, timestamp_type int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
LEDGER_COLUMNS: Final = (
    "case int, run string, producer int, sequence long, outcome int, transaction int, committed boolean, "
    "partition int, offset long"
)
PARTITION_COLUMNS: Final = (
    "case int, partition int, s_start long, s_end long, s_holes long, "
    "t_start long, t_end long, t_holes long, ledger boolean, compacted boolean"
)
OWED_COLUMNS: Final = "case int, partition int, s_owed long"
ReadAgain = Callable[[Mapping[int, tuple[int, int]]], DataFrame]


@dataclass(frozen=True, kw_only=True)
class Histories:
    """What is judged: records of both sides, the ledger, and where each partition began and ended.

    `partitions` are the offsets that the brokers named before the scan, nothing outside them is read,
    and how many of the offsets between may hold no record: markers of transactions, records aborted or
    compacted away; null where any number may. `ledger` and `compacted` are the same in all rows of a case.
    """

    source: DataFrame
    target: DataFrame
    ledger: DataFrame
    partitions: DataFrame
    runs: Sequence[str] = ()  # those of the ledger
    sizes: Sequence[int | None] = ()  # bytes of their records' values, where it is known
    other_runs: Sequence[str] = ()  # of the ledgers of other sources of the same target topic
    # Where the source's partitions ended before the target's end was named: what came later, while a producer
    # was at work, may be on the target or not. None: nothing came later.
    owed: DataFrame | None = None
    compacted: bool = False  # whether any case is
    unlabelled: bool = True  # whether any record of the target may be without an id of a known run
    block: int = 1_024  # offsets that are compared at once
    many_cases: bool = False  # a real verification is one
    # By side, "s" or "t": reads its records between offsets of the partitions. A side without it is read as a
    # whole a second time.
    read_again: Mapping[str, ReadAgain] = field(default_factory=dict)
    rows: int = 0  # about how many, to choose the number of tasks

    def with_target(self, target: DataFrame) -> "Histories":
        """With other records in the target's place; a second reading must not go back to those of before."""
        again = {side: read for side, read in self.read_again.items() if side != "t"}
        return replace(self, target=target, read_again=again)
