"""What a group processed, on all clusters together, against what the producers' ledgers say was acknowledged.

table.py     one row per record: what its producer knows of it, how often and where it was processed
checks.py    what was skipped, read again, processed out of order, or is of nobody's ledger
judging.py   the accounts and ledgers of a migration handed to Spark, and its verdict
"""

from lab.consumption.checks import NoneForeign, NoneSkipped, ProcessingOrder, ReadAgain, checks
from lab.consumption.judging import Consumption, judge
from lab.consumption.table import PROCESSED_COLUMNS, PRODUCED_COLUMNS, per_record

__all__ = [
    "PROCESSED_COLUMNS",
    "PRODUCED_COLUMNS",
    "Consumption",
    "NoneForeign",
    "NoneSkipped",
    "ProcessingOrder",
    "ReadAgain",
    "checks",
    "judge",
    "per_record",
]
