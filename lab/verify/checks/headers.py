"""Headers are what they were: their order, repetitions, empty and missing values, and every byte."""

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as f

from lab.verify.checks import columns as c
from lab.verify.checks.check import Counts
from lab.verify.verdict import Outcome


@dataclass(frozen=True, kw_only=True)
class HeadersKept:
    name: ClassVar[str] = "headers"
    table: ClassVar[str] = "records"
    coordinates: ClassVar[tuple[str, ...]] = c.AT_SOURCE

    def counts(self) -> dict[str, Column]:
        return {
            "compared": c.records_where(c.in_both()),
            "changed": c.records_where(self.offending()),
            "base64": c.records_where(self.offending() & f.col("t_encoded") & ~f.col("s_encoded")),
        }

    def offending(self) -> Column:
        return c.in_both() & ~f.col("same_headers")

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        compared, changed = counts["compared"], counts["changed"]
        if changed:
            told = f"{changed:,} of {compared:,} records have other headers"
            if counts["base64"]:
                told += f"; {counts['base64']:,} are in base64, as by SimpleHeaderConverter"
            return Outcome.FAIL, told
        if not compared:
            return Outcome.UNKNOWN, "no record is in both topics"
        return Outcome.PASS, f"{compared:,} records have the headers that they had"
