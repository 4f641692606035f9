"""The Spark session of a lab, and Kafka topics as DataFrames. The home of pyspark.

The host runs the thin client; every job runs at the Spark Connect server beside the brokers, or at the
one that LAB_SPARK_REMOTE names. Column expressions only: the server has no Python workers to match.
"""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import grpc  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, RetriesExceeded
from pyspark.sql import DataFrame
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.session import SparkSession

from lab.errors import BadInput, LabError
from lab.kafka import Offsets
from lab.project import SPARK_REMOTE, existing_spark
from lab.wait import SPARK_ANSWERS_S, wait_until

__all__ = [
    "SparkError",
    "SparkSession",
    "in_memory",
    "interpreting",
    "session",
    "topic_frame",
    "translated",
    "undoing",
    "upload",
]

SERVER_FOLDER: Final = "/var/lib/spark"  # what the server may write to
_READERS: Final = 8  # at the most, of a topic with fewer partitions
_PIECE: Final = 100_000  # records that are worth a task
_DEFAULT_PORT: Final = 15002
_LISTENS_S: Final = 5.0
_EXISTING_ANSWERS_S: Final = 30.0
# The client's own way is to ask for ten minutes, whatever answers there. A server that is gone has forgotten
# its sessions: that long pays only where a cluster of somebody's may be out of reach for a while.
_SOON: Final = {"max_retries": 5, "max_backoff": 1_000}  # some 4 s
_OWN: Final = {"max_retries": 9, "max_backoff": 5_000}  # some 30 s


# A session is closed by whoever made it, never by Python. That may drop one in the midst of another's call,
# and closing it there would wait for threads that wait for a lock which the call holds.
SparkSession.__del__ = lambda _: None


class SparkError(LabError):
    """The Spark server did not answer, or a job failed."""


def session(address: str) -> SparkSession:
    """A session at a Spark Connect server, once it answers a query."""
    remote = existing_spark()
    if remote is not None:
        _require_listener(remote)
    remote = remote or f"sc://{address}"

    def observe() -> SparkSession:
        spark: SparkSession | None = None
        try:
            spark = SparkSession.builder.remote(remote).create()
            with _asking(spark, _SOON):
                spark.range(1).collect()
            if not existing_spark():
                spark.client.set_retry_policies([DefaultPolicy(**_OWN)])
        except (PySparkException, OSError, RuntimeError) as error:
            if spark is not None:
                spark.release_session_on_close = False  # of what does not answer
                spark.stop()
            raise SparkError(f"no answer from {remote}: {str(error).splitlines()[0]}") from error
        return spark

    return wait_until(
        observe,
        timeout_s=_EXISTING_ANSWERS_S if existing_spark() else SPARK_ANSWERS_S,
        what=f"Spark answers at {remote}",
        transient=(SparkError,),
        hint=f"is {remote} a Spark Connect server?" if existing_spark() else 'see "lab logs spark"',
    )


def _require_listener(remote: str) -> None:
    """The client would go on trying for minutes where nothing listens."""
    parts = urlsplit(remote)
    try:
        host, port = parts.hostname, parts.port or _DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    if parts.scheme != "sc" or not host:
        raise BadInput(f'{SPARK_REMOTE} "{remote}" is not sc://host:port', "e.g. sc://spark.example:15002")
    try:
        socket.create_connection((host, port), timeout=_LISTENS_S).close()
    except OSError as error:
        raise SparkError(
            f"no Spark Connect server answers at {host}:{port}: {error.strerror or error}",
            f"start it, mend {SPARK_REMOTE}, or unset it to use the lab's own Spark",
        ) from error


@contextmanager
def _asking(spark: SparkSession, patience: Mapping[str, int]) -> Iterator[None]:
    patient = spark.client.get_retry_policies()
    spark.client.set_retry_policies([DefaultPolicy(**patience)])
    yield
    spark.client.set_retry_policies(patient)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """What a job fails with at the server, as of memory that ran out or records that retention took."""
    try:
        yield
    except RetriesExceeded as error:
        raise _failed(doing, "the Spark server does not answer any more") from error
    except PySparkException as error:
        raise _failed(doing, str(error)) from error
    except grpc.RpcError as error:  # not all of the client's own requests are translated by it
        raise _failed(doing, str(error.details() if isinstance(error, grpc.Call) else error)) from error


def _failed(doing: str, told: str) -> SparkError:
    first = next(iter(told.strip().splitlines()), "Spark says nothing")
    see = "the Spark server's log" if existing_spark() else '"lab logs spark"'
    return SparkError(f"{doing} failed: {first}", f"{see} tells more; verify again")


@contextmanager
def undoing(spark: SparkSession, undo: Callable[[], None]) -> Iterator[None]:
    """Undo what was done at the server when the block ends; failing at that never hides what ended it."""
    try:
        yield
    except BaseException:
        with suppress(PySparkException, grpc.RpcError), _asking(spark, _SOON):
            undo()
        raise
    undo()


def topic_frame(
    spark: SparkSession,
    topic: str,
    offsets: Mapping[int, Offsets],
    *,
    bootstrap: str,
    isolation: str = "read_uncommitted",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The records of a topic between offsets that were taken from its brokers, headers included.

    Never "latest": what is judged must not move while it is being read. Records that are gone fail the
    job rather than being skipped (Spark's `failOnDataLoss`, left at its default). More options are Spark's
    own, or those of its Kafka clients under `kafka.`.
    """
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.isolation.level", isolation)
        # Spark asks a broker twice for offsets after each poll: with polls of 500 records half of the time.
        .option("kafka.max.poll.records", "5000")
        .option("kafka.max.partition.fetch.bytes", "4194304")
        .option("minPartitions", str(_pieces(offsets)))
        # Spark closes an idle consumer minutes later, which asks for its topic, and would create it anew.
        .option("kafka.allow.auto.create.topics", "false")
        .option("subscribe", topic)
        .option("startingOffsets", _json(topic, {p: o.start for p, o in offsets.items()}))
        .option("endingOffsets", _json(topic, {p: o.end for p, o in offsets.items()}))
        .option("includeHeaders", "true")
        .options(**(options or {}))
        .load()
    )


def _pieces(offsets: Mapping[int, Offsets]) -> int:
    """Tasks that read: one for each partition, and more of few large ones."""
    count = sum(its.count for its in offsets.values())
    return max(len(offsets), min(_READERS, count // _PIECE), 1)


def in_memory(frame: DataFrame) -> DataFrame:
    """The same rows, made now and kept in the server's memory as long as somebody refers to them."""
    session = frame.sparkSession
    # The client gives it to the session that is "active": the first of this thread, be it one of another
    # server. Once that is stopped there is none, and it fails.
    SparkSession._set_default_and_active_session(session)
    kept = frame.localCheckpoint()
    kept._plan._spark_session = session
    return ConnectFrame(kept._plan, session)


@contextmanager
def interpreting(spark: SparkSession) -> Iterator[None]:
    """For few rows: to compile expressions takes the server longer than to go over such rows."""
    interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

    def unset() -> None:
        for key in interpreted:
            spark.conf.unset(key)

    with undoing(spark, unset):
        for key, value in interpreted.items():
            spark.conf.set(key, value)
        yield


def upload(spark: SparkSession, path: Path, name: str, folder: str = SERVER_FOLDER) -> str:
    """Copy a file to the Spark server, wherever that is, and give its path there."""
    at_server = f"{folder}/{name}"
    with translated(f"uploading {path.name}"):
        spark.copyFromLocalToFs(str(path), at_server)
    return at_server


def _json(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})
