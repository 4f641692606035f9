"""What a check is, and how many of them are run in few jobs.

All checks over one table are counted in a single pass, and all tables in one job. The coordinates are
looked up only for checks that are not PASS, in one more job per table, so a clean verdict costs one scan
however many checks there are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar, Final, Protocol

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from lab.verify.evidence import KNOWN, NOT_LOOKED_AT
from lab.verify.verdict import Outcome, Verdict

Counts = Mapping[str, int]

FIRST: Final = 20  # coordinates that a verdict carries


class Check(Protocol):
    """Settings are the fields of a frozen, keyword-only dataclass; the members below judge.

    `table` names the evidence: "records" and "keys" are made by lab.verify.evidence, any other is a DataFrame
    with a column `case`. `coordinates` are columns of it: what is shown, in the order in which "first"
    is meant.
    """

    name: ClassVar[str]
    table: ClassVar[str]
    coordinates: ClassVar[tuple[str, ...]]

    def counts(self) -> dict[str, Column]:
        """Aggregate expressions over the table, by the name of the count; integers, 0 over no rows."""
        ...

    def offending(self) -> Column:
        """Which rows are to be shown as first coordinates."""
        ...

    def judge(self, counts: Counts) -> tuple[Outcome, str]:
        """The outcome, and in one sentence what it means. Counts are 0 when the case has no rows."""
        ...


def count_where(statement: Column) -> Column:
    """How many rows it holds for; 0, not null, over no rows."""
    return f.count_if(f.coalesce(statement, f.lit(False)))


def run_checks(
    tables: Mapping[str, DataFrame], checks: Sequence[Check], cases: Iterable[int] = (0,)
) -> dict[int, list[Verdict]]:
    """Each case's verdicts, in the order of the checks; a real verification is case 0."""
    counted = _counted(tables, checks)
    judged: dict[int, list[Verdict]] = {case: [] for case in cases}
    for case, verdicts in judged.items():
        for check in checks:
            if check.table not in counted:
                meaning = f"no evidence of {check.table} was read"
                verdicts.append(Verdict(check=check.name, outcome=Outcome.UNKNOWN, meaning=meaning))
                continue
            of_case = counted[check.table].get(case, {})
            counts = of_case.get(check.name)
            counts = dict.fromkeys(check.counts(), 0) if counts is None else counts
            outcome, meaning = check.judge(counts)
            verdict = Verdict(check=check.name, outcome=outcome, meaning=meaning, counts=counts)
            verdicts.append(as_far_as_looked_at(verdict, of_case.get(_UNSEEN, {})))
    return _with_first(tables, checks, judged)


def as_far_as_looked_at(verdict: Verdict, unseen: Counts) -> Verdict:
    """The verdict, where so many blocks differ that only the first were looked at record by record.

    unseen: `details`, records of other blocks that differ; `content`, those of them whose key or value may
    be others, of which nothing else can be said either.
    """
    details, content = unseen.get("details", 0), unseen.get("content", 0)
    if verdict.outcome is Outcome.FAIL and details:
        meaning = f"at least {verdict.meaning}" if verdict.meaning[:1].isdigit() else verdict.meaning
        return replace(verdict, meaning=meaning, counts={**verdict.counts, "not_looked_at": details})
    if verdict.outcome is Outcome.PASS and content:
        return replace(
            verdict,
            outcome=Outcome.UNKNOWN,
            meaning=f"{content:,} records stand in blocks that differ, and were not looked at one by one; "
            f"else: {verdict.meaning}",
            counts={**verdict.counts, "not_looked_at": content},
        )
    return verdict


_UNSEEN: Final = "not looked at"


def _counted(
    tables: Mapping[str, DataFrame], checks: Sequence[Check]
) -> dict[str, dict[int, dict[str, dict[str, int]]]]:
    """Table → case → check → counts, for the cases that have rows. One job for all tables."""
    found: dict[str, dict[int, dict[str, dict[str, int]]]] = {name: {} for name in tables}
    counting: list[DataFrame] = []
    for name, table in tables.items():
        counts = [
            f.struct(*(count.alias(of) for of, count in check.counts().items())).alias(check.name)
            for check in checks
            if check.table == name
        ]
        if counts:
            if name == "records":
                counts.append(_unseen())
            told = f.to_json(f.struct(*counts), {"ignoreNullFields": "false"})
            of_table = table.groupBy(f.col("case")).agg(told.alias("counts"))
            counting.append(of_table.select(f.lit(name).alias("table"), "case", "counts"))
    if counting:
        for row in reduce(DataFrame.unionAll, counting).collect():
            found[row["table"]][row["case"]] = json.loads(row["counts"])
    return found


def _unseen() -> Column:
    weight = f.col("weight")
    return f.struct(
        f.coalesce(f.sum(f.when(f.col("unseen") > KNOWN, weight)), f.lit(0)).alias("details"),
        f.coalesce(f.sum(f.when(f.col("unseen") == NOT_LOOKED_AT, weight)), f.lit(0)).alias("content"),
    ).alias(_UNSEEN)


def _with_first(
    tables: Mapping[str, DataFrame], checks: Sequence[Check], judged: dict[int, list[Verdict]]
) -> dict[int, list[Verdict]]:
    """The same verdicts, those that are not PASS with their first coordinates."""
    wanted = {
        verdict.check
        for verdicts in judged.values()
        for verdict in verdicts
        if verdict.outcome in (Outcome.FAIL, Outcome.UNKNOWN) and any(verdict.counts.values())
    }
    first: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for name, table in tables.items():
        offending = [_first(table, check) for check in checks if check.table == name and check.name in wanted]
        if offending:
            everyone = offending[0]
            for more in offending[1:]:
                everyone = everyone.unionAll(more)
            for row in sorted(everyone.collect(), key=lambda row: row["rank"]):
                first.setdefault((row["case"], row["check"]), []).append(json.loads(row["coordinates"]))
    return {
        case: [
            Verdict(
                check=v.check,
                outcome=v.outcome,
                meaning=v.meaning,
                counts=v.counts,
                first=() if v.outcome is Outcome.PASS else tuple(first.get((case, v.check), ())),
            )
            for v in verdicts
        ]
        for case, verdicts in judged.items()
    }


def _first(table: DataFrame, check: Check) -> DataFrame:
    order = Window.partitionBy("case").orderBy(*(f.col(c).asc_nulls_last() for c in check.coordinates))
    return (
        table.where(f.coalesce(check.offending(), f.lit(False)))
        .select("case", *check.coordinates, f.row_number().over(order).alias("rank"))
        .where(f.col("rank") <= FIRST)
        .select(
            "case",
            f.lit(check.name).alias("check"),
            "rank",
            f.to_json(f.struct(*check.coordinates)).alias("coordinates"),
        )
    )
