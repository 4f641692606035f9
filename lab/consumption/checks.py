"""What is asked of the table "consumption": four checks, of the kind of those in lab.verify.checks."""

from dataclasses import dataclass
from typing import ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks.check import Check, Counts, count_where
from lab.verify.verdict import Outcome

TABLE: Final = "consumption"
_PLACE: Final = ("cluster", "topic", "partition", "offset", "id")


def checks(clusters: tuple[str, ...], *, allowed_again: int | None = None) -> list[Check]:
    """`clusters`: where applications ran, in the order of `per_record`."""
    again = ReadAgain(clusters=clusters, allowed=allowed_again)
    return [NoneSkipped(), again, ProcessingOrder(), NoneForeign()]


def _total(of: Column) -> Column:
    return f.coalesce(f.sum(of), f.lit(0))


def _processed() -> Column:
    return f.col("times") > 0


def _of_a_ledger() -> Column:
    return f.col("generation").isNotNull()


@dataclass(frozen=True, kw_only=True)
class NoneSkipped:
    """Every record that a cluster has acknowledged was processed, on whichever cluster."""

    name: ClassVar[str] = "skipped"
    table: ClassVar[str] = TABLE
    coordinates: ClassVar[tuple[str, ...]] = _PLACE

    def counts(self) -> dict[str, Column]:
        return {
            "acked": count_where(f.col("acked")),
            "processed": count_where(f.col("acked") & _processed()),
            "skipped": count_where(self.offending()),
            "unsure": count_where(f.col("possible") & ~f.col("acked") & _processed()),
        }

    def offending(self) -> Column:
        return f.col("acked") & ~_processed()

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        acked, skipped = counts["acked"], counts["skipped"]
        if not acked:
            return Outcome.UNKNOWN, "no record was acknowledged"
        if not counts["processed"]:
            return Outcome.UNKNOWN, f"none of {acked:,} acknowledged records was processed anywhere"
        if skipped:
            return Outcome.FAIL, f"{skipped:,} of {acked:,} acknowledged records were never processed"
        unsure = f"; {counts['unsure']:,} more, whose ack was lost, too" if counts["unsure"] else ""
        return Outcome.PASS, f"all {acked:,} acknowledged records were processed{unsure}"


@dataclass(frozen=True, kw_only=True)
class ReadAgain:
    """How many records were processed more than once, and where the repetition was; any number is allowed
    unless `allowed` says how many.
    """

    name: ClassVar[str] = "read_again"
    table: ClassVar[str] = TABLE
    coordinates: ClassVar[tuple[str, ...]] = _PLACE

    clusters: tuple[str, ...]
    allowed: int | None = None

    def counts(self) -> dict[str, Column]:
        of = {
            f"again_on_{alias}": _total(f.when(_of_a_ledger(), f.col(f"again_{number}")))
            for number, alias in enumerate(self.clusters)
        }
        return {
            "processed": count_where(_of_a_ledger() & _processed()),
            "repeated": count_where(self.offending()),
            "again": _total(f.when(self.offending(), f.col("times") - 1)),
            **of,
            "most": f.coalesce(f.max(f.when(_of_a_ledger(), f.col("times"))), f.lit(0)),
        }

    def offending(self) -> Column:
        return _of_a_ledger() & (f.col("times") > 1)

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        processed, again = counts["processed"], counts["again"]
        if not processed:
            return Outcome.UNKNOWN, "no record of a ledger was processed"
        if not again:
            return Outcome.PASS, f"each of {processed:,} records was processed once"
        where = ", ".join(f"{counts[f'again_on_{alias}']:,} on {alias}" for alias in self.clusters)
        told = (
            f"{counts['repeated']:,} of {processed:,} records were processed again, {again:,} times: {where}"
        )
        if self.allowed is not None and again > self.allowed:
            return Outcome.FAIL, f"{told}; {self.allowed} were allowed"
        return Outcome.PASS, told


@dataclass(frozen=True, kw_only=True)
class ProcessingOrder:
    """First times come in the order in which a partition's records were sent."""

    name: ClassVar[str] = "processing_order"
    table: ClassVar[str] = TABLE
    coordinates: ClassVar[tuple[str, ...]] = _PLACE

    def counts(self) -> dict[str, Column]:
        return {
            "compared": count_where(_of_a_ledger() & _processed()),
            "inverted": count_where(self.offending()),
            "replayed": count_where(_of_a_ledger() & (f.col("times") > 1)),
        }

    def offending(self) -> Column:
        return f.col("inverted")

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        compared, inverted = counts["compared"], counts["inverted"]
        if not compared:
            return Outcome.UNKNOWN, "no record of a ledger was processed"
        if inverted:
            return (
                Outcome.FAIL,
                f"{inverted:,} of {compared:,} records were processed after a later one of their partition",
            )
        replayed = f"; {counts['replayed']:,} were replayed later" if counts["replayed"] else ""
        return Outcome.PASS, f"{compared:,} records were processed in the order of their partitions{replayed}"


@dataclass(frozen=True, kw_only=True)
class NoneForeign:
    """Nothing was processed that no ledger has, or that its ledger says cannot be there."""

    name: ClassVar[str] = "foreign"
    table: ClassVar[str] = TABLE
    coordinates: ClassVar[tuple[str, ...]] = _PLACE

    def counts(self) -> dict[str, Column]:
        return {"processed": count_where(_processed()), "foreign": count_where(self.offending())}

    def offending(self) -> Column:
        return _processed() & ~f.col("possible")

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        processed, foreign = counts["processed"], counts["foreign"]
        if not processed:
            return Outcome.UNKNOWN, "no record was processed"
        if foreign:
            return Outcome.FAIL, f"{foreign:,} of {processed:,} processed records are in no ledger"
        return Outcome.PASS, f"all {processed:,} processed records are in the ledgers"
