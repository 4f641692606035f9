"""Checks: each file asks one question of the evidence. `run_checks` runs many of them in few jobs."""

from typing import Final

from lab.checks.catch_up import CaughtUp
from lab.checks.check import Check, Counts, run_checks
from lab.checks.compaction import SameLastValues
from lab.checks.duplicates import Duplicates
from lab.checks.headers import HeadersKept
from lab.checks.ledger import LedgerHolds
from lab.checks.loss import NoLoss
from lab.checks.order import OrderKept
from lab.checks.partition import PartitionKept
from lab.checks.payload import PayloadIntact
from lab.checks.phantoms import NoPhantoms
from lab.checks.reading import AllRead
from lab.checks.timestamp import TimestampKept

__all__ = [
    "STANDARD",
    "AllRead",
    "CaughtUp",
    "Check",
    "Counts",
    "Duplicates",
    "HeadersKept",
    "LedgerHolds",
    "NoLoss",
    "NoPhantoms",
    "OrderKept",
    "PartitionKept",
    "PayloadIntact",
    "SameLastValues",
    "TimestampKept",
    "run_checks",
]

# In the order in which they are shown: what the others rest on first.
STANDARD: Final[tuple[Check, ...]] = (
    AllRead(),
    LedgerHolds(),
    NoLoss(),
    CaughtUp(),
    Duplicates(),
    OrderKept(),
    PayloadIntact(),
    HeadersKept(),
    TimestampKept(),
    PartitionKept(),
    NoPhantoms(),
    SameLastValues(),
)
