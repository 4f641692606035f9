"""Checks: each file asks one question of the evidence. `run_checks` runs many of them in few jobs."""

from typing import Final

from lab.verify.checks.catch_up import CaughtUp
from lab.verify.checks.check import Check, Counts, run_checks
from lab.verify.checks.compaction import SameLastValues
from lab.verify.checks.duplicates import Duplicates
from lab.verify.checks.headers import HeadersKept
from lab.verify.checks.ledger import LedgerHolds
from lab.verify.checks.loss import NoLoss
from lab.verify.checks.order import OrderKept
from lab.verify.checks.partition import PartitionKept
from lab.verify.checks.payload import PayloadIntact
from lab.verify.checks.phantoms import NoPhantoms
from lab.verify.checks.reading import AllRead
from lab.verify.checks.timestamp import TimestampKept

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
