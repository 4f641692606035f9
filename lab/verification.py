"""Verify one mirrored topic: wait until the target has caught up, freeze both sides, read, judge.

The order matters. The source's end is taken first: what lies before it is owed. Then, when the target
has caught up or the time is over, the target's end. A source that has grown meanwhile cannot be judged:
the target may have records from after its end, which would look as if nobody had sent them.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab.checks import STANDARD, Check, run_checks
from lab.errors import NotEnough
from lab.evidence import LEDGER_COLUMNS, PARTITION_COLUMNS, RECORD_COLUMNS, Histories, evidence
from lab.kafka import Cluster, Offsets
from lab.ledger import ledgers, summary
from lab.spark import SERVER_FOLDER, SparkSession, topic_frame, upload
from lab.verdict import Outcome, Verdict, worst
from lab.wait import NotYet, TimedOut, wait_until

QUIET_S: Final = 10.0  # a target that has not grown for so long will not catch up by itself

Frozen = Mapping[int, Offsets]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One topic's way from a cluster to another, as clients and as Spark reach them."""

    topic: str
    remote: str
    source: Cluster
    target: Cluster
    source_bootstrap: str  # for Spark, which may see the brokers from elsewhere
    target_bootstrap: str
    isolation: str = "read_uncommitted"  # of MM2's own consumer
    source_options: Mapping[str, str] = field(default_factory=dict, repr=False)  # of Spark's Kafka source
    target_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str = SERVER_FOLDER  # where Spark keeps ledgers and evidence


@dataclass(kw_only=True)
class Judged:
    """What a verification found, and everything that a report of it needs."""

    outcome: Outcome
    verdicts: list[Verdict]
    frozen_at: str
    partitions: list[dict[str, Any]]
    series: dict[str, list[list[int]]] = field(default_factory=dict)
    stages: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Ends:
    """The offsets between which both topics are read, and before which records are owed."""

    source: Frozen
    target: Frozen
    frozen_at: datetime


class Stages:
    """How long each part took."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []

    @contextmanager
    def stage(self, name: str, say: Say) -> Iterator[None]:
        say(name)
        begin = time.monotonic()
        yield
        self.took(name, time.monotonic() - begin)

    def took(self, name: str, seconds: float) -> None:
        self.taken.append({"name": name, "seconds": round(seconds, 2)})


def verify(
    spark: SparkSession,
    flow: Flow,
    *,
    checks: Sequence[Check] = STANDARD,
    timeout_s: float,
    say: Say = lambda _: None,
) -> Judged:
    """Every check's verdict on what MM2 did with the topic's records."""
    stages = Stages()
    with stages.stage("wait until the target has caught up", say):
        ends = freeze(flow, timeout_s=timeout_s, say=say)
    with stages.stage("hand the ledgers to Spark", say):
        histories = histories_of(spark, flow, ends)
    say("read both topics into evidence")
    begin = time.monotonic()
    with evidence(histories, f"{flow.folder}/evidence") as tables:
        stages.took("read both topics into evidence", time.monotonic() - begin)
        with stages.stage("judge", say):
            verdicts = run_checks(tables, checks)[0]
        with stages.stage("count for the report", say):
            partitions = _partitions(tables["partitions"])
            series = _series(tables["records"])
    return Judged(
        outcome=worst(v.outcome for v in verdicts),
        verdicts=verdicts,
        frozen_at=ends.frozen_at.isoformat(timespec="milliseconds"),
        partitions=partitions,
        series=series,
        stages=stages.taken,
    )


def freeze(flow: Flow, *, timeout_s: float, say: Say) -> Ends:
    """Wait for the target, then name the offsets that everything is judged by."""
    source = flow.source.offsets(flow.topic)
    frozen_at = datetime.now(UTC)
    wanted = sum(offsets.count for offsets in source.values())
    grown_at, before = time.monotonic(), -1

    def observe() -> bool | NotYet:
        nonlocal grown_at, before
        there = flow.target.has_topic(flow.remote)
        count = sum(o.count for o in flow.target.offsets(flow.remote).values()) if there else 0
        if count != before:
            grown_at, before = time.monotonic(), count
            say(f"{count:,} of {wanted:,} records on the target")
        still_s = time.monotonic() - grown_at
        # Markers of transactions take offsets at the source only, so the count may never be reached.
        return count >= wanted or still_s > QUIET_S or NotYet(f"{count} of {wanted} records")

    try:
        wait_until(observe, timeout_s=timeout_s, what=f'topic "{flow.remote}" caught up')
    except TimedOut:
        say(f"not caught up in {timeout_s:g} s; judged as it is")
    target = flow.target.offsets(flow.remote) if flow.target.has_topic(flow.remote) else {}
    now = flow.source.offsets(flow.topic)
    if any(now[partition].end != offsets.end for partition, offsets in source.items()):
        raise NotEnough(
            f'topic "{flow.topic}" of cluster "{flow.source.alias}" is still being written to',
            "stop its producers, then verify again",
        )
    # Retention may have passed meanwhile: what is gone cannot be read.
    return Ends(source=now, target=target, frozen_at=frozen_at)


def histories_of(spark: SparkSession, flow: Flow, ends: Ends) -> Histories:
    topic_id = flow.source.topic_id(flow.topic)
    paths = ledgers(flow.source.alias, flow.topic, topic_id)
    known = [summary(path) for path in paths]
    transactional = any(s.heading.plan.get("transaction_size") for s in known)
    policy = flow.source.topic_configs([flow.topic])[flow.topic]["cleanup.policy"]
    compacted = "compact" in (policy.value or "")
    # Where the lab did not write itself, it cannot know what the holes between offsets are.
    holes = 0 if paths and not transactional and not compacted else None
    nothing = Offsets(start=0, end=0)
    rows = [
        (0, p, o.start, o.end, holes, t.start, t.end, holes, bool(paths), compacted)
        for p, o in ends.source.items()
        for t in (ends.target.get(p, nothing),)
    ]
    return Histories(
        source=_records(
            spark, flow.topic, ends.source, flow.source_bootstrap, flow.isolation, flow.source_options
        ),
        target=_records(
            spark, flow.remote, ends.target, flow.target_bootstrap, "read_committed", flow.target_options
        ),
        ledger=_ledger(
            spark, [(s.heading.run, path) for s, path in zip(known, paths, strict=True)], flow.folder
        ),
        partitions=spark.createDataFrame(rows, PARTITION_COLUMNS),
        runs=[s.heading.run for s in known],
        compacted=compacted,
        rows=sum(o.count for side in (ends.source, ends.target) for o in side.values()),
    )


def _records(
    spark: SparkSession,
    topic: str,
    ends: Frozen,
    bootstrap: str,
    isolation: str,
    options: Mapping[str, str],
) -> DataFrame:
    if not any(offsets.count for offsets in ends.values()):
        return spark.createDataFrame([], RECORD_COLUMNS)
    read = topic_frame(spark, topic, ends, bootstrap=bootstrap, isolation=isolation, options=options)
    return as_records(read)


def as_records(frame: DataFrame) -> DataFrame:
    """What Spark's Kafka source gives, with the columns that lab.evidence wants."""
    return frame.select(
        f.lit(0).alias("case"),
        "partition",
        "offset",
        f.unix_millis("timestamp").alias("timestamp"),
        f.col("timestampType").alias("timestamp_type"),
        "key",
        "value",
        "headers",
    )


def _ledger(spark: SparkSession, files: Sequence[tuple[str, Path]], folder: str) -> DataFrame:
    """The ledgers, uploaded as files and read at the server."""
    everything = spark.createDataFrame([], LEDGER_COLUMNS)
    for run, path in files:
        at_server = spark.read.parquet(upload(spark, path, f"ledgers/{run}.parquet", folder))
        everything = everything.unionByName(
            at_server.select(f.lit(0).alias("case"), f.lit(run).alias("run"), "*")
        )
    return everything


def _partitions(table: DataFrame) -> list[dict[str, Any]]:
    columns = ("partition", "s_start", "s_end", "s_rows", "t_start", "t_end", "t_rows")
    return [row.asDict() for row in table.where("case = 0").select(*columns).orderBy("partition").collect()]


def _series(records: DataFrame) -> dict[str, list[list[int]]]:
    """Records by the second of their own timestamp, which MM2 keeps, on both sides."""
    sides = [
        records.where(f.col(f"{letter}_count") > 0).select(
            f.lit(side).alias("side"),
            f.floor(f.col(f"{letter}_timestamp") / 1000).cast("long").alias("second"),
            f.col(f"{letter}_count").alias("count"),
        )
        for side, letter in (("source", "s"), ("target", "t"))
    ]
    per_second = sides[0].unionAll(sides[1]).groupBy("side", "second").agg(f.sum("count").alias("count"))
    series: dict[str, list[list[int]]] = {"source": [], "target": []}
    for row in per_second.orderBy("second").collect():
        series[row["side"]].append([row["second"], row["count"]])
    return series
