"""What MM2 did for one topic besides mirroring its records: read from both clusters, as tables and checks.

`read` comes before the ends of the mirrored topics are named, `tables` after their records have become
evidence. What a cluster refuses to tell is left out, and its checks then say UNKNOWN.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab import offsets
from lab.kafka import Cluster, ClusterError, Offsets
from lab.mm2 import Connector
from lab.spark import SparkSession, in_memory, topic_frame
from lab.verify import internals, parity
from lab.verify.checks import Check
from lab.verify.checks.acls import SameAcls
from lab.verify.checks.checkpoints import MonotonicCheckpoints
from lab.verify.checks.coverage import CheckpointCoverage
from lab.verify.checks.group_offsets import SyncedGroupOffsets
from lab.verify.checks.skipped import NothingSkipped
from lab.verify.checks.sync_pairs import TrueSyncPairs
from lab.verify.checks.tightness import TightTranslation
from lab.verify.checks.topic_configs import SameTopicConfigs
from lab.verify.checks.topic_set import SameTopics
from lab.verify.checks.translation import SafeTranslation
from lab.verify.flow import Flow
from lab.wait import TimedOut, wait_until

T = TypeVar("T")
ASK_AGAIN_S: Final = 3.0
_TRANSACTIONS: Final = "__transaction_state"  # a cluster makes it for its first transaction
_PATIENCE_S: Final = 5.0  # beyond three intervals of syncing, for a slow machine


@dataclass(frozen=True, kw_only=True)
class Workings:
    """What the clients read at one moment; None is what a cluster would not tell."""

    flow: Flow
    syncs: Mapping[int, Offsets]
    checkpoints: Mapping[int, Offsets]
    groups: list[parity.GroupRow] | None
    configs: list[parity.ConfigRow] | None
    acls: list[parity.AclRow] | None
    topics: list[parity.TopicRow] | None
    has_acls: bool  # False: the source is known to have no authorizer, and so none
    transactions: (
        bool  # whether a producer of the source cluster ever had a transaction, as far as is visible
    )

    @property
    def due_ms(self) -> int:
        """Checkpoints written before it must have been synced to the target's groups."""
        return min((group.due_ms for group in self.groups or ()), default=0)


def read(flow: Flow) -> Workings:
    """Name the ends of MM2's topics, then read what the clients can: groups, configs, ACLs, topics."""
    connector, kafka_4 = flow.connector, flow.kafka_4
    syncs = _ends(flow.syncs_at, connector.offset_syncs_topic) if flow.emits_syncs else {}
    checkpointer = flow.checkpointer if flow.emits_checkpoints else None
    checkpoints = _ends(flow.target, checkpointer.checkpoints_topic) if checkpointer else {}
    acls = _or_none(lambda: _acls(flow))
    return Workings(
        flow=flow,
        syncs=syncs,
        checkpoints=checkpoints,
        groups=_or_none(lambda: _groups(flow, checkpointer)) if checkpointer else [],
        configs=_or_none(lambda: _configs(flow)),
        acls=None if acls is None else acls[0],
        topics=_or_none(
            lambda: parity.topic_rows(connector, flow.source.topics(), flow.target.topics(), kafka_4=kafka_4)
        ),
        has_acls=acls is None or acls[1],
        transactions=flow.source.has_topic(_TRANSACTIONS),
    )


# Those over the tables, in the order in which they are shown.
CHECKS: Final[tuple[type[Check], ...]] = (
    *(
        TrueSyncPairs,
        NothingSkipped,
        SafeTranslation,
        TightTranslation,
        MonotonicCheckpoints,
        CheckpointCoverage,
    ),
    *(SyncedGroupOffsets, SameTopicConfigs, SameAcls, SameTopics),
)


def checks(workings: Workings) -> tuple[Check, ...]:
    """All of CHECKS, knowing what the connectors were asked to do."""
    flow = workings.flow
    config, given = flow.connector.config, flow.emits_checkpoints
    return (
        TrueSyncPairs(applies=flow.emits_syncs),
        NothingSkipped(
            applies=flow.emits_syncs,
            counts_records=not flow.writes_transactions and not flow.others,
            transactions=workings.transactions,
        ),
        SafeTranslation(applies=given),
        TightTranslation(applies=given, offset_lag_max=int(config.get("offset.lag.max", "100"))),
        MonotonicCheckpoints(applies=given, has_groups=workings.groups != []),
        CheckpointCoverage(applies=given),
        SyncedGroupOffsets(),
        SameTopicConfigs(applies=config.get("sync.topic.configs.enabled") != "false"),
        SameAcls(applies=config.get("sync.topic.acls.enabled") != "false" and workings.has_acls),
        SameTopics(),
    )


def tables(
    spark: SparkSession, workings: Workings, evidence: Mapping[str, DataFrame], judging: Collection[Check]
) -> dict[str, DataFrame]:
    """The tables that these checks judge, beside the evidence; without those that could not be read."""
    # read once, by whoever wants them first
    read_checkpoints = cache(lambda: _checkpoints(spark, workings))
    ways: dict[str, Callable[[], DataFrame | None]] = {
        "syncs": lambda: _syncs_table(spark, workings, evidence),
        "checkpoints": lambda: _checkpoints_table(spark, read_checkpoints()),
        "groups": lambda: _groups_table(spark, workings, evidence, read_checkpoints),
        "configs": lambda: _rows_table(spark, parity.ConfigRow, workings.configs),
        "acls": lambda: _rows_table(spark, parity.AclRow, workings.acls),
        "topics": lambda: _rows_table(spark, parity.TopicRow, workings.topics),
    }
    wanted = {check.table for check in judging}
    made = {name: make() for name, make in ways.items() if name in wanted}
    return {name: table for name, table in made.items() if table is not None}


def _syncs_table(spark: SparkSession, workings: Workings, evidence: Mapping[str, DataFrame]) -> DataFrame:
    if not workings.syncs:
        return _empty(spark, internals.SYNC_COLUMNS, internals.SYNC_ADDED)
    flow = workings.flow
    frame = _frame(spark, flow, flow.syncs_at, flow.connector.offset_syncs_topic, workings.syncs)
    syncs = _of(offsets.offset_syncs(frame), flow.topic)
    return internals.syncs_table(syncs, evidence["records"], evidence["partitions"])


def _checkpoints(spark: SparkSession, workings: Workings) -> DataFrame | None:
    """Of this topic; None where none are written."""
    flow = workings.flow
    if not (workings.checkpoints and flow.checkpointer):
        return None
    frame = _frame(spark, flow, flow.target, flow.checkpointer.checkpoints_topic, workings.checkpoints)
    return _of(offsets.checkpoints(frame), flow.checkpointer.remote_topic(flow.topic))


def _checkpoints_table(spark: SparkSession, found: DataFrame | None) -> DataFrame:
    if found is None:
        return _empty(spark, internals.CHECKPOINT_COLUMNS, internals.CHECKPOINT_ADDED)
    return internals.checkpoints_table(found)


def _groups_table(
    spark: SparkSession,
    workings: Workings,
    evidence: Mapping[str, DataFrame],
    read_checkpoints: Callable[[], DataFrame | None],
) -> DataFrame | None:
    if workings.groups is None:
        return None
    if not workings.flow.emits_checkpoints:
        return _empty(spark, internals.GROUP_COLUMNS, internals.GROUP_ADDED)
    found = read_checkpoints()
    return internals.groups_table(
        internals.rows_table(spark, parity.GroupRow, workings.groups),
        _empty(spark, internals.CHECKPOINT_COLUMNS) if found is None else found,
        evidence["records"],
        evidence["partitions"],
    )


def _rows_table(
    spark: SparkSession, kind: type[internals.Row], rows: Sequence[internals.Row] | None
) -> DataFrame | None:
    return None if rows is None else internals.rows_table(spark, kind, rows)


def _groups(flow: Flow, checkpointer: Connector) -> list[parity.GroupRow]:
    names = [g for g in flow.source.group_states() if checkpointer.takes_group(g)]
    interval_s = float(checkpointer.config.get("sync.group.offsets.interval.seconds", "60"))
    due_ms = int((time.time() - 3 * interval_s - _PATIENCE_S) * 1000)
    states = flow.target.group_states()
    return parity.group_rows(
        checkpointer,
        flow.topic,
        {group: flow.source.group_offsets(group) for group in names},
        {group: flow.target.group_offsets(group) for group in names if group in states},
        states,
        due_ms=due_ms,
    )


def _configs(flow: Flow) -> list[parity.ConfigRow]:
    remote = flow.connector.remote_topic(flow.topic)
    there = [remote] if flow.target.has_topic(remote) else []
    return parity.config_rows(
        flow.connector, flow.source.topic_configs([flow.topic]), flow.target.topic_configs(there)
    )


def _acls(flow: Flow) -> tuple[list[parity.AclRow], bool]:
    """The rows, and whether the source has an authorizer at all."""
    given = flow.source.acls()
    there = flow.target.acls() or []
    return parity.acl_rows(flow.connector, given or [], there, kafka_4=flow.kafka_4), given is not None


def _ends(cluster: Cluster, topic: str) -> Mapping[int, Offsets]:
    """Nothing when the topic is empty, or not there, as before MM2's first record of the kind."""
    ends = cluster.offsets(topic) if cluster.has_topic(topic) else {}
    return ends if any(place.count for place in ends.values()) else {}


def _or_none(ask: Callable[[], T]) -> T | None:
    """Asked again for a moment: while topics come and go, some have no leader yet."""
    try:
        return wait_until(ask, timeout_s=ASK_AGAIN_S, what="an answer", transient=(ClusterError,))
    except TimedOut:
        return None


def _frame(
    spark: SparkSession, flow: Flow, cluster: Cluster, topic: str, ends: Mapping[int, Offsets]
) -> DataFrame:
    # Committed ones only: where MM2 works exactly once, an aborted transaction leaves syncs of nothing.
    return topic_frame(
        spark,
        topic,
        ends,
        bootstrap=flow.bootstrap(cluster),
        isolation="read_committed",
        options=flow.options_of(cluster),
    )


def _of(decoded: DataFrame, topic: str) -> DataFrame:
    """In memory: they are little, and each look at them would read MM2's topic again."""
    return in_memory(decoded.where(f.col("topic") == topic).select(f.lit(0).alias("case"), "*").coalesce(1))


def _empty(spark: SparkSession, *columns: str) -> DataFrame:
    return internals.table(spark, ", ".join(columns), [])
