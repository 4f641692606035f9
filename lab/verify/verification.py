"""Verify one mirrored topic: wait until the target has caught up, freeze both sides, read, judge.

The order matters. The source's ends are named first: what lies before them is owed. When the target has
caught up or the time is over, MM2's own topics are read, so that whatever they point to has been written;
then the target's ends are named, then the ledgers that are there, and the source's ends once more: what
the target has from a producer that is at work was read from before those.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial, reduce
from operator import or_
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lab.errors import NotEnough
from lab.kafka import Cluster, Offsets
from lab.ledger import UNKNOWN, Summary
from lab.spark import SparkSession, topic_frame, upload
from lab.verify import mm2_checks
from lab.verify.catching_up import wait_for_target
from lab.verify.checks import STANDARD, AllRead, Check, Duplicates, NoPhantoms, run_checks
from lab.verify.ends import (
    COMMITTED,
    Ends,
    Frozen,
    Say,
    Unstable,
    name_ends,
    other_accounts,
    others_at_rest,
    source_ends,
)
from lab.verify.evidence import (
    LEDGER_COLUMNS,
    LITTLE,
    OWED_COLUMNS,
    PARTITION_COLUMNS,
    RECORD_COLUMNS,
    Histories,
    evidence,
)
from lab.verify.figures import figures
from lab.verify.flow import Flow
from lab.verify.mm2_checks import Mm2State
from lab.verify.verdict import Outcome, Verdict, worst

# Offsets that are compared at once: the fewer, the less is looked at where one record differs.
BLOCK_OF_FEW: Final = 128
BLOCK_OF_MANY: Final = 1_024


@dataclass(kw_only=True)
class Judged:
    """What a verification found, and everything that a report of it needs."""

    outcome: Outcome
    source: str
    target: str
    verdicts: list[Verdict]
    frozen_at: str
    partitions: list[dict[str, Any]]
    series: dict[str, list[list[int]]] = field(default_factory=dict)
    stages: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    latency_ms: dict[str, Any] | None = None
    trouble: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)  # what was left out
    saved: Path | None = None  # in a run


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


def check_names() -> list[str]:
    """Of every check that `verify` knows, in the order in which they are shown."""
    return [*(check.name for check in STANDARD), *(check.name for check in mm2_checks.CHECKS)]


def wanted_checks(only: Collection[str] | None) -> set[str]:
    """All, or those with these names and `reading`: what was not read proves nothing."""
    return set(check_names()) if only is None else {*only, AllRead.name}


def verify(
    spark: SparkSession,
    flow: Flow,
    *,
    timeout_s: float,
    only: Collection[str] | None = None,
    allow_duplicates: bool = False,
    say: Say = lambda _: None,
) -> Judged:
    """The verdicts on what MM2 did with the topic: of all checks, or `only` of those with these names."""
    stages = Stages()
    wanted = wanted_checks(only)
    with stages.stage("wait until the target has caught up", say):
        owed, frozen_at = source_ends(flow), datetime.now(UTC)
        with others_at_rest(flow) as others:
            samples = wait_for_target(flow, owed, others, timeout_s=timeout_s, say=say)
    state: Mm2State | None = None
    if wanted & {check.name for check in mm2_checks.CHECKS}:
        with stages.stage("read MM2's own topics, groups, configs and ACLs", say):
            state = mm2_checks.read(flow)
    with stages.stage("hand the ledgers to Spark", say):
        notes: list[str] = []
        ends = name_ends(flow, owed, frozen_at, tell=notes.append)
        histories = histories_of(spark, flow, ends)
    say("read both topics into evidence")
    begin = time.monotonic()
    with evidence(histories, f"{flow.folder}/evidence") as records:
        stages.took("read both topics into evidence", time.monotonic() - begin)
        with stages.stage("judge", say):
            known = [
                *_of_records(flow, allow_duplicates=allow_duplicates),
                *(mm2_checks.checks(state) if state else ()),
            ]
            checks = [check for check in known if check.name in wanted]
            tables = {**records, **(mm2_checks.tables(spark, state, records, checks) if state else {})}
            verdicts = run_checks(tables, checks)[0]
        with stages.stage("count for the report", say):
            drawn = figures(records, verdicts)
    return Judged(
        outcome=worst(v.outcome for v in verdicts),
        source=flow.source.alias,
        target=flow.target.alias,
        verdicts=verdicts,
        frozen_at=ends.frozen_at.isoformat(timespec="milliseconds"),
        stages=stages.taken,
        samples=[asdict(sample) for sample in samples],
        notes=notes,
        **vars(drawn),
    )


def _of_records(flow: Flow, *, allow_duplicates: bool) -> list[Check]:
    """Those of every topic, knowing what the connector was asked to do, and what is put up with."""
    special: list[Check] = [NoPhantoms(read_committed=flow.connector.isolation == COMMITTED)]
    if allow_duplicates:
        special.append(Duplicates(allowed_fraction=1.0))
    by_name = {check.name: check for check in special}
    return [by_name.get(check.name, check) for check in STANDARD]


def histories_of(spark: SparkSession, flow: Flow, ends: Ends) -> Histories:
    known, others = ends.ledgers, other_accounts(flow)
    transactional = any(s.heading.plan.get("transaction_size") for s in (*known, *others))
    policy = flow.source.topic_configs([flow.topic])[flow.topic]["cleanup.policy"]
    compacted = "compact" in (policy.value or "")
    if compacted and flow.others:
        raise NotEnough(
            f'topic "{flow.remote}" is compacted and has several sources',
            "whose record of a key is the last one there, nobody promises",
        )
    holes = 0 if ends.without_holes and not transactional and not compacted else None
    # of a source that has no markers MM2 then makes a target that has
    target_holes = None if flow.writes_transactions else holes
    nothing = Offsets(start=0, end=0)
    count = sum(o.count for side in (ends.source, ends.target) for o in side.values())
    rows = [
        (0, p, o.start, o.end, holes, t.start, t.end, target_holes, bool(known), compacted)
        for p, o in ends.source.items()
        for t in (ends.target.get(p, nothing),)
    ]
    owed = [(0, partition, named.end) for partition, named in ends.owed.items()]
    return Histories(
        source=_records(spark, flow, flow.source, ends.source),
        target=_records(spark, flow, flow.target, ends.target),
        ledger=_ledger(spark, known, flow.folder, ends.unstable),
        partitions=spark.createDataFrame(rows, PARTITION_COLUMNS),
        runs=[s.heading.run for s in known],
        sizes=[s.heading.plan.get("size_bytes") for s in known],
        other_runs=[s.heading.run for s in others],
        owed=spark.createDataFrame(owed, OWED_COLUMNS) if ends.grown else None,
        compacted=compacted,
        block=BLOCK_OF_FEW if count <= LITTLE else BLOCK_OF_MANY,
        rows=count,
        read_again={
            "s": partial(_records_between, spark, flow, flow.source, ends.source),
            "t": partial(_records_between, spark, flow, flow.target, ends.target),
        },
    )


def _records_between(
    spark: SparkSession, flow: Flow, cluster: Cluster, named: Frozen, ranges: Mapping[int, tuple[int, int]]
) -> DataFrame:
    """The records of one side between such offsets; of a partition without any, none."""
    return _records(spark, flow, cluster, of_every_partition(named, ranges))


def of_every_partition(known: Frozen, ranges: Mapping[int, tuple[int, int]]) -> Frozen:
    """The ranges, and empty ones of all other partitions: Spark has to be given each one of a topic."""
    return {
        partition: Offsets(start=start, end=end)
        for partition, offsets in known.items()
        for start, end in (ranges.get(partition, (offsets.start, offsets.start)),)
    }


def _records(spark: SparkSession, flow: Flow, cluster: Cluster, ends: Frozen) -> DataFrame:
    if not any(offsets.count for offsets in ends.values()):
        return spark.createDataFrame([], RECORD_COLUMNS)
    from_source = cluster is flow.source
    read = topic_frame(
        spark,
        flow.topic if from_source else flow.remote,
        ends,
        bootstrap=flow.bootstrap(cluster),
        # of the source what MM2 itself reads
        isolation=flow.connector.isolation if from_source else COMMITTED,
        options=flow.options_of(cluster),
    )
    return as_records(read)


def as_records(frame: DataFrame) -> DataFrame:
    """What Spark's Kafka source gives, with the columns that lab.verify.evidence wants."""
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


def _ledger(
    spark: SparkSession, known: Sequence[Summary], folder: str, unstable: Unstable = MappingProxyType({})
) -> DataFrame:
    """The ledgers, uploaded as files and read at the server."""
    everything = spark.createDataFrame([], LEDGER_COLUMNS)
    for said in known:
        run = said.heading.run
        at_server = spark.read.parquet(upload(spark, said.path, f"ledgers/{run}.parquet", folder))
        everything = everything.unionByName(
            at_server.select(f.lit(0).alias("case"), f.lit(run).alias("run"), "*")
        )
    return _unread_is_unknown(everything, unstable)


def _unread_is_unknown(ledger: DataFrame, unstable: Unstable) -> DataFrame:
    """What was acknowledged where the source is not read, or perhaps there, is neither owed nor missing."""
    if not unstable:
        return ledger

    def may_be_in(partition: int, offsets: range) -> Column:
        there = f.col("offset").isNull() | f.col("offset").between(offsets.start, offsets.stop - 1)
        return (f.col("partition") == partition) & there

    unread = reduce(or_, (may_be_in(partition, offsets) for partition, offsets in unstable.items()))
    outcome = f.when(unread, f.lit(UNKNOWN)).otherwise(f.col("outcome"))
    return ledger.withColumn("outcome", outcome.cast("int"))
