"""The Spark session of a lab, and Kafka topics as DataFrames. The home of pyspark.

The host runs the thin client; every job runs at the Spark Connect server beside the brokers, or at the
one that LAB_SPARK_REMOTE names. Column expressions only: the server has no Python workers to match.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession

from lab.errors import LabError
from lab.kafka import Offsets
from lab.wait import SPARK_ANSWERS_S, wait_until

__all__ = ["SparkError", "SparkSession", "session", "topic_frame", "upload"]

SERVER_FOLDER: Final = "/var/lib/spark"  # what the server may write to


class SparkError(LabError):
    """The Spark server did not answer, or a job failed."""


def session(address: str) -> SparkSession:
    """A session at a Spark Connect server, once it answers a query."""
    remote = os.environ.get("LAB_SPARK_REMOTE") or f"sc://{address}"

    def observe() -> SparkSession:
        try:
            spark = SparkSession.builder.remote(remote).create()
            spark.range(1).collect()
        except (PySparkException, OSError, RuntimeError) as error:
            raise SparkError(f"no answer from {remote}: {str(error).splitlines()[0]}") from error
        return spark

    return wait_until(
        observe,
        timeout_s=SPARK_ANSWERS_S,
        what=f"Spark answers at {remote}",
        transient=(SparkError,),
        hint='see "lab logs spark"',
    )


def topic_frame(
    spark: SparkSession,
    topic: str,
    offsets: Mapping[int, Offsets],
    *,
    bootstrap: str,
    isolation: str = "read_uncommitted",
) -> DataFrame:
    """The records of a topic between offsets that were taken from its brokers, headers included.

    Never "latest": what is judged must not move while it is being read. Records that are gone fail the
    job rather than being skipped (Spark's `failOnDataLoss`, left at its default).
    """
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.isolation.level", isolation)
        .option("subscribe", topic)
        .option("startingOffsets", _json(topic, {p: o.start for p, o in offsets.items()}))
        .option("endingOffsets", _json(topic, {p: o.end for p, o in offsets.items()}))
        .option("includeHeaders", "true")
        .load()
    )


def upload(spark: SparkSession, path: Path, name: str) -> str:
    """Copy a file to the Spark server, wherever that is, and give its path there."""
    at_server = f"{SERVER_FOLDER}/{name}"
    try:
        spark.copyFromLocalToFs(str(path), at_server)
    except PySparkException as error:
        raise SparkError(f"uploading {path.name} failed: {str(error).splitlines()[0]}") from error
    return at_server


def _json(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})
