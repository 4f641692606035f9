"""A Spark cluster that the lab did not start: whether it can do the job, asked before the job starts.

Whatever is wrong here would otherwise show as a stack trace in the middle of a verification, or not at
all: executors that write into folders of their own leave tables that lack rows.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import functions as f

from lab.errors import BadInput, LabError
from lab.kafka import Offsets
from lab.spark import SparkError, SparkSession, topic_frame, upload

FOLDER_VARIABLE: Final = "LAB_SPARK_FOLDER"
_UPLOADS: Final = "spark.sql.artifact.copyFromLocalToFs.allowDestLocal"
_PARTS: Final = 8  # more than one task for each of a few executors
# Short: an address that cannot be reached is the rule here, not the exception.
_SHORT: Final = {
    "kafka.default.api.timeout.ms": "8000",
    "kafka.request.timeout.ms": "6000",
    "kafka.socket.connection.setup.timeout.ms": "4000",
    "kafka.socket.connection.setup.timeout.max.ms": "4000",
    "fetchOffset.numRetries": "1",
    "kafkaConsumer.pollTimeoutMs": "8000",
    "failOnDataLoss": "false",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A topic that Spark is to read: where it is told that the brokers are, and where these say they are."""

    alias: str
    topic: str
    bootstrap: str
    advertised: tuple[str, ...]
    offsets: Mapping[int, Offsets]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # of Spark's Kafka source


def folder_at(spark: SparkSession, chosen: str | None) -> str:
    """Where the ledgers and the evidence go: as the user says, else where the server keeps its tables.

    A path of the cluster's default file system: Spark refuses to put an upload anywhere else.
    """
    if chosen is None:
        return urlsplit(str(spark.conf.get("spark.sql.warehouse.dir"))).path.rstrip("/") + "/mirror-lab"
    if not chosen.startswith("/") or not chosen.strip("/"):
        raise BadInput(
            f'{FOLDER_VARIABLE} "{chosen}" is not a path such as /shared/mirror-lab',
            "without hdfs:// or the like: Spark takes uploads into its default file system only",
        )
    return chosen.rstrip("/")


def check_folder(spark: SparkSession, folder: str) -> None:
    """An upload into the folder and a table written there by several tasks: both must be read complete."""
    choose = f"{FOLDER_VARIABLE} names one that the server and all its executors share, in HDFS or mounted"
    name = f"probe-{uuid.uuid4().hex}"
    with TemporaryDirectory() as local:
        file = Path(local) / "upload.txt"
        file.write_text("one\n")
        try:
            at_server = upload(spark, file, f"{name}/upload.txt", folder)
        except SparkError as error:
            told = f"the Spark server takes no uploads into {folder}: {error.message}"
            raise SparkError(told, f"into a local folder it needs {_UPLOADS}=true; {choose}") from error
    table = f"{folder}/{name}/table"
    try:
        lines = spark.read.text(at_server).count()
        spark.range(0, _PARTS, 1, _PARTS).write.parquet(table)
        rows = spark.read.parquet(table).agg(f.count_distinct("id")).collect()[0][0]
        spark.range(0).write.mode("overwrite").parquet(table)  # a client cannot remove it
    except PySparkException as error:
        raise SparkError(f"Spark cannot use the folder {folder}: {first_line(error)}", choose) from error
    if (lines, rows) != (1, _PARTS):
        raise SparkError(
            f"Spark's executors do not share the folder {folder}: {rows} of {_PARTS} rows", choose
        )


def check_reach(spark: SparkSession, asked: Asked) -> None:
    """The last record of each partition, so that the leader of each is reached where it says that it is."""
    ends = {p: Offsets(start=max(o.start, o.end - 1), end=o.end) for p, o in asked.offsets.items()}
    options = {**asked.options, **_SHORT}
    try:
        frame = topic_frame(spark, asked.topic, ends, bootstrap=asked.bootstrap, options=options)
        frame.select("offset").collect()
    except PySparkException as error:
        if re.search("Authentication|Authorization", told := first_line(error)):
            raise LabError(
                f'cluster "{asked.alias}" at {asked.bootstrap} refuses Spark: {told}',
                "mend the client properties that the topology names for it, or the account's ACLs",
            ) from error
        others = [address for address in asked.advertised if address not in asked.bootstrap.split(",")]
        also = f" and {', '.join(others)}, which its brokers advertise" if others else ""
        raise LabError(
            f'Spark does not reach cluster "{asked.alias}" at {asked.bootstrap}: {told}',
            f"each machine of the Spark cluster must resolve and reach {asked.bootstrap}{also}; "
            "127.0.0.1 is that machine itself, and names of containers are known in their network only",
        ) from error


def first_line(error: PySparkException) -> str:
    """The innermost cause that Java's stack trace names, else the first line."""
    lines = str(error).splitlines() or ["it said nothing"]
    causes = [line.strip() for line in lines if line.strip().startswith("Caused by: ")]
    told = causes[-1].removeprefix("Caused by: ") if causes else lines[0]
    return told.strip()[:300]
