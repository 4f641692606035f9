"""Statements about a record's evidence that several checks share, as expressions."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.evidence import ACKED, FAILED


def count_where(statement: Column) -> Column:
    """How many rows it holds for; 0, not null, over no rows."""
    return f.count_if(f.coalesce(statement, f.lit(False)))


def in_source() -> Column:
    return f.col("s_count") > 0


def in_target() -> Column:
    return f.col("t_count") > 0


def acked() -> Column:
    return f.col("l_outcome") == ACKED


def aborted() -> Column:
    """Sent in a transaction that was aborted on purpose."""
    return f.coalesce(~f.col("l_committed"), f.lit(False))


def failed() -> Column:
    return f.col("l_outcome") == FAILED


FIRST: Final = 20  # coordinates per check that a verdict carries
