"""The verdict on a migration, from the ledgers of its producers and the accounts of its applications."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab import consuming, ledger
from lab.consumption.checks import TABLE, checks
from lab.consumption.table import PROCESSED_COLUMNS, PRODUCED_COLUMNS, per_record
from lab.spark import SERVER_FOLDER, SparkSession, in_memory, upload
from lab.verify.checks import run_checks
from lab.verify.verdict import Outcome, Verdict, worst

_NAMES: Final = {
    columns: [column.split()[0] for column in columns.split(", ")]
    for columns in (PRODUCED_COLUMNS, PROCESSED_COLUMNS)
}


@dataclass(frozen=True, kw_only=True)
class Consumption:
    """What a group's applications did with what was sent; `partitions` are those of the ledgers."""

    outcome: Outcome
    verdicts: list[Verdict]
    partitions: list[dict[str, Any]]

    def verdict(self, check: str) -> Verdict:
        return next(verdict for verdict in self.verdicts if verdict.check == check)


def judge(
    spark: SparkSession,
    *,
    streams: Mapping[str, Sequence[Sequence[Path]]],
    accounts: Sequence[Path],
    allowed_again: int | None = None,
    folder: str = SERVER_FOLDER,
) -> Consumption:
    """Of each stream the producers' ledgers, by generations; and the accounts of who reads all of them."""
    produced = [
        _produced(spark, path, stream, generation, folder)
        for stream, generations in streams.items()
        for generation, ledgers in enumerate(generations)
        for path in ledgers
    ]
    told = sorted((consuming.summary(path) for path in accounts), key=lambda said: said.heading.started_ms)
    processed = [_processed(spark, said, n, folder) for n, said in enumerate(told)]
    clusters = tuple(dict.fromkeys(said.heading.cluster for said in told))
    table = in_memory(
        per_record(
            _all(spark, produced, PRODUCED_COLUMNS), _all(spark, processed, PROCESSED_COLUMNS), clusters
        )
    )
    verdicts = run_checks({TABLE: table}, checks(clusters, allowed_again=allowed_again))[0]
    return Consumption(
        outcome=worst(verdict.outcome for verdict in verdicts),
        verdicts=verdicts,
        partitions=by_partition(table),
    )


def by_partition(table: DataFrame) -> list[dict[str, Any]]:
    """What became of each partition's records, by where their producer sent them."""
    processed = f.col("acked") & (f.col("times") > 0)
    counted = (
        table.where(f.col("generation").isNotNull() & f.col("partition").isNotNull())
        .groupBy("cluster", "topic", "partition")
        .agg(
            f.count_if("acked").alias("acked"),
            f.count_if(processed).alias("processed"),
            f.count_if(f.col("acked") & (f.col("times") == 0)).alias("skipped"),
            f.count_if(f.col("times") > 1).alias("repeated"),
            f.sum(f.greatest(f.col("times") - 1, f.lit(0))).alias("again"),
            f.count_if("inverted").alias("inverted"),
        )
        .orderBy("cluster", "topic", "partition")
    )
    return [row.asDict() for row in counted.collect()]


def _produced(spark: SparkSession, path: Path, stream: str, generation: int, folder: str) -> DataFrame:
    heading = ledger.summary(path).heading
    said = {
        "case": f.lit(0),
        "stream": f.lit(stream),
        "generation": f.lit(generation),
        "cluster": f.lit(heading.cluster),
        "topic": f.lit(heading.topic),
        "run": f.lit(heading.run),
    }
    return _at_server(spark, path, folder).withColumns(said).select(*_NAMES[PRODUCED_COLUMNS])


def _processed(spark: SparkSession, said: consuming.Summary, session: int, folder: str) -> DataFrame:
    told = {"case": f.lit(0), "session": f.lit(session), "cluster": f.lit(said.heading.cluster)}
    return _at_server(spark, said.path, folder).withColumns(told).select(*_NAMES[PROCESSED_COLUMNS])


def _at_server(spark: SparkSession, path: Path, folder: str) -> DataFrame:
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    return spark.read.parquet(upload(spark, path, f"consumption/{name}.parquet", folder))


def _all(spark: SparkSession, frames: Sequence[DataFrame], columns: str) -> DataFrame:
    return reduce(DataFrame.unionByName, frames, spark.createDataFrame([], columns))
