"""What MM2 did for one topic besides mirroring its records: read from both clusters, as tables and checks.

`read` comes before the ends of the mirrored topics are named, `tables` after their records have become
evidence. What a cluster refuses to tell is left out, and its checks then say UNKNOWN.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab import internals, offsets, parity
from lab.checks import Check
from lab.checks.acls import SameAcls
from lab.checks.checkpoints import MonotonicCheckpoints
from lab.checks.coverage import CheckpointCoverage
from lab.checks.group_offsets import SyncedGroupOffsets
from lab.checks.sync_pairs import TrueSyncPairs
from lab.checks.tightness import TightTranslation
from lab.checks.topic_configs import SameTopicConfigs
from lab.checks.topic_set import SameTopics
from lab.checks.translation import SafeTranslation
from lab.kafka import Cluster, ClusterError, Offsets
from lab.mm2 import Connector
from lab.spark import SparkSession, topic_frame

T = TypeVar("T")
_PATIENCE_S: Final = 5.0  # beyond three intervals of syncing, for a slow machine


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Who mirrors a topic, from where to where, and how Spark reaches the two clusters."""

    topic: str
    connector: Connector
    checkpointer: Connector | None
    source: Cluster
    target: Cluster
    bootstraps: Mapping[str, str]  # alias → address for Spark
    kafka_4: bool = False  # the worker's version: what counts as internal

    @property
    def emits_syncs(self) -> bool:
        return self.connector.config.get("emit.offset-syncs.enabled") != "false"

    @property
    def emits_checkpoints(self) -> bool:
        given = self.checkpointer
        return given is not None and given.config.get("emit.checkpoints.enabled") != "false"

    @property
    def syncs_at(self) -> Cluster:
        here = self.connector.offset_syncs_alias == self.connector.source_alias
        return self.source if here else self.target


@dataclass(frozen=True, kw_only=True)
class Workings:
    """What the clients read at one moment; None is what a cluster would not tell."""

    parts: Parts
    syncs: Mapping[int, Offsets]
    checkpoints: Mapping[int, Offsets]
    groups: list[parity.GroupRow] | None
    configs: list[parity.ConfigRow] | None
    acls: list[parity.AclRow] | None
    topics: list[parity.TopicRow] | None
    has_acls: bool  # False: the source is known to have no authorizer, and so none

    @property
    def due_ms(self) -> int:
        """Checkpoints written before it must have been synced to the target's groups."""
        return min((group.due_ms for group in self.groups or ()), default=0)


def read(parts: Parts) -> Workings:
    """Name the ends of MM2's topics, then read what the clients can: groups, configs, ACLs, topics."""
    connector, kafka_4 = parts.connector, parts.kafka_4
    syncs = _ends(parts.syncs_at, connector.offset_syncs_topic) if parts.emits_syncs else {}
    checkpointer = parts.checkpointer if parts.emits_checkpoints else None
    checkpoints = _ends(parts.target, checkpointer.checkpoints_topic) if checkpointer else {}
    acls = _or_none(lambda: _acls(parts))
    return Workings(
        parts=parts,
        syncs=syncs,
        checkpoints=checkpoints,
        groups=_or_none(lambda: _groups(parts, checkpointer)) if checkpointer else [],
        configs=_or_none(lambda: _configs(parts)),
        acls=None if acls is None else acls[0],
        topics=_or_none(
            lambda: parity.topic_rows(
                connector, parts.source.topics(), parts.target.topics(), kafka_4=kafka_4
            )
        ),
        has_acls=acls is None or acls[1],
    )


def checks(workings: Workings) -> tuple[Check, ...]:
    """Those over the tables, knowing what the connectors were asked to do."""
    parts = workings.parts
    config, given = parts.connector.config, parts.emits_checkpoints
    return (
        TrueSyncPairs(applies=parts.emits_syncs),
        SafeTranslation(applies=given),
        TightTranslation(applies=given, offset_lag_max=int(config.get("offset.lag.max", "100"))),
        MonotonicCheckpoints(applies=given),
        CheckpointCoverage(applies=given),
        SyncedGroupOffsets(),
        SameTopicConfigs(applies=config.get("sync.topic.configs.enabled") != "false"),
        SameAcls(applies=config.get("sync.topic.acls.enabled") != "false" and workings.has_acls),
        SameTopics(),
    )


def tables(
    spark: SparkSession, workings: Workings, evidence: Mapping[str, DataFrame]
) -> dict[str, DataFrame]:
    """The tables that `checks` judge, beside lab.evidence's."""
    parts, given = workings.parts, (evidence["records"], evidence["partitions"])
    found = {
        "syncs": _empty(spark, internals.SYNC_COLUMNS, internals.SYNC_ADDED),
        "checkpoints": _empty(spark, internals.CHECKPOINT_COLUMNS, internals.CHECKPOINT_ADDED),
    }
    if workings.syncs:
        frame = _frame(spark, parts, parts.syncs_at, parts.connector.offset_syncs_topic, workings.syncs)
        found["syncs"] = internals.syncs_table(_of(offsets.offset_syncs(frame), parts.topic), *given)
    checkpoints = _empty(spark, internals.CHECKPOINT_COLUMNS)
    if workings.checkpoints and parts.checkpointer:
        topic = parts.checkpointer.checkpoints_topic
        frame = _frame(spark, parts, parts.target, topic, workings.checkpoints)
        remote = parts.checkpointer.remote_topic(parts.topic)
        checkpoints = _of(offsets.checkpoints(frame), remote)
        found["checkpoints"] = internals.checkpoints_table(checkpoints)
    for name, kind, rows in (
        ("groups", parity.GroupRow, workings.groups),
        ("configs", parity.ConfigRow, workings.configs),
        ("acls", parity.AclRow, workings.acls),
        ("topics", parity.TopicRow, workings.topics),
    ):
        if rows is None:
            found.pop(name, None)
        else:
            found[name] = internals.rows_table(spark, kind, rows)
    if workings.groups is not None and parts.emits_checkpoints:
        found["groups"] = internals.groups_table(found["groups"], checkpoints, *given)
    elif workings.groups is not None:
        found["groups"] = _empty(spark, internals.GROUP_COLUMNS, internals.GROUP_ADDED)
    return found


def _groups(parts: Parts, checkpointer: Connector) -> list[parity.GroupRow]:
    names = [g for g in parts.source.group_states() if parity.is_synced_group(checkpointer, g)]
    interval_s = float(checkpointer.config.get("sync.group.offsets.interval.seconds", "60"))
    due_ms = int((time.time() - 3 * interval_s - _PATIENCE_S) * 1000)
    states = parts.target.group_states()
    return parity.group_rows(
        checkpointer,
        parts.topic,
        {group: parts.source.group_offsets(group) for group in names},
        {group: parts.target.group_offsets(group) for group in names if group in states},
        states,
        due_ms=due_ms,
    )


def _configs(parts: Parts) -> list[parity.ConfigRow]:
    remote = parts.connector.remote_topic(parts.topic)
    there = [remote] if parts.target.has_topic(remote) else []
    return parity.config_rows(
        parts.connector, parts.source.topic_configs([parts.topic]), parts.target.topic_configs(there)
    )


def _acls(parts: Parts) -> tuple[list[parity.AclRow], bool]:
    """The rows, and whether the source has an authorizer at all."""
    given = parts.source.acls()
    there = parts.target.acls() or []
    return parity.acl_rows(parts.connector, given or [], there, kafka_4=parts.kafka_4), given is not None


def _ends(cluster: Cluster, topic: str) -> Mapping[int, Offsets]:
    """Nothing when the topic is empty, or not there, as before MM2's first record of the kind."""
    ends = cluster.offsets(topic) if cluster.has_topic(topic) else {}
    return ends if any(place.count for place in ends.values()) else {}


def _or_none(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except ClusterError:
        return None


def _frame(
    spark: SparkSession, parts: Parts, cluster: Cluster, topic: str, ends: Mapping[int, Offsets]
) -> DataFrame:
    # Committed ones only: where MM2 works exactly once, an aborted transaction leaves syncs of nothing.
    bootstrap = parts.bootstraps[cluster.alias]
    return topic_frame(spark, topic, ends, bootstrap=bootstrap, isolation="read_committed")


def _of(decoded: DataFrame, topic: str) -> DataFrame:
    return decoded.where(f.col("topic") == topic).select(f.lit(0).alias("case"), "*")


def _empty(spark: SparkSession, *columns: str) -> DataFrame:
    return internals.table(spark, ", ".join(columns), [])
