"""Statements about a row of the table "records" that several checks share, as expressions."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.ledger import ACKED, FAILED

# Where the record is in the source, as far as is known, and where its first copy is on the target.
AT_SOURCE: Final = ("partition", "offset", "t_partition", "t_first", "id")
AT_TARGET: Final = ("t_partition", "t_first", "partition", "offset", "id")


def records_where(statement: Column) -> Column:
    """How many records it holds for; a row may stand for a whole block of them."""
    return f.coalesce(f.sum(f.when(statement, f.col("weight")).otherwise(0)), f.lit(0))


def in_source() -> Column:
    return f.col("s_count") > 0


def in_target() -> Column:
    return f.col("t_count") > 0


def in_both() -> Column:
    """On both sides, and what is compared are copies of the same record."""
    return in_source() & in_target() & f.col("told_apart")


def in_ledger() -> Column:
    return f.col("l_outcome").isNotNull()


def acked() -> Column:
    """The source has it for certain; of a transaction whose end is unknown nobody can say."""
    return is_true((f.col("l_outcome") == ACKED) & f.col("l_committed"))


def failed() -> Column:
    return is_true(f.col("l_outcome") == FAILED)


def aborted() -> Column:
    """Sent in a transaction that was aborted on purpose."""
    return is_true(~f.col("l_committed"))


def compacted() -> Column:
    return is_true(f.col("compacted"))


def has_ledger() -> Column:
    return is_true(f.col("ledger"))


def is_true(statement: Column) -> Column:
    """False where it cannot be said; so that "not" of it can be used."""
    return f.coalesce(statement, f.lit(False))


def owed() -> Column:
    """What the source holds, and what its ledger says it was given; nobody owes what was aborted.

    A compacted topic has records only until a later one of their key: those are owed no more.
    """
    given_and_kept = acked() & ~(compacted() & ~in_source())
    return (in_source() | given_and_kept) & ~aborted() & ~too_new() & ~may_be_compacted_away()


def too_new() -> Column:
    """Written after the source's ends were named that the target had to reach; it may be there or not."""
    acked_late = (f.col("l_offset") >= f.col("s_owed")) & (f.col("l_offset") < f.col("s_end"))
    return f.when(in_source(), f.col("s_late") == f.col("s_count")).otherwise(is_true(acked_late))


def may_be_compacted_away() -> Column:
    """Not on the target, of a compacted topic, with a later record of its key in the source.

    A tombstone goes some time after all that it deletes; whether its key is gone is asked by Compaction.
    """
    gone = f.col("superseded") | is_true(f.col("s_tombstone")) | (f.col("s_late") > 0)
    return compacted() & in_source() & ~in_target() & gone


def lost() -> Column:
    """Owed and not on the target, or there fewer times than in the source, which equal records can be."""
    fewer = ~compacted() & (f.col("t_count") < f.col("s_count") - f.col("s_late"))
    return owed() & ~gone_from_both() & ~gone_from_target() & (~in_target() | fewer)


def gone_from_both() -> Column:
    """Deleted from the source since, and from the target too: whether it was mirrored shows no more."""
    return is_true(acked() & ~in_source() & ~in_target() & gone_from_source() & gone_from_target())


def gone_from_source() -> Column:
    """Acked at an offset that the source has since deleted, or perhaps, if it was acked without one."""
    deleted = f.coalesce(f.col("l_offset") < f.col("s_start"), acked() & (f.col("s_start") > 0))
    return is_true(~in_source() & deleted)


def gone_from_target() -> Column:
    """The target has deleted records, and all that is left of what was mirrored comes after this one."""
    nothing_left = f.col("mirrored_first").isNull()
    before = f.col("offset") < f.col("mirrored_first")
    return is_true((f.col("t_start") > 0) & ~in_target() & (nothing_left | before))


def in_tail() -> Column:
    """No later record of its partition is on the target."""
    return is_true(f.col("mirrored_last").isNull() | (f.col("offset") > f.col("mirrored_last")))


def older_than_source() -> Column:
    """Comes from before all that is still in the source, which has lost its beginning.

    Of a record that no ledger names nobody can say whether the source had it.
    """
    return is_true(~f.col("made_by_lab") & f.col("t_older"))
