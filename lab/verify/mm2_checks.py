"""What MM2 did for one topic besides mirroring its records, as tables and checks.

The tables are made of what lab.verify.mm2_state read, once the records have become evidence.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab import offsets
from lab.kafka import Cluster, Offsets
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
from lab.verify.mm2_state import Mm2State, read

__all__ = ["CHECKS", "Mm2State", "checks", "read", "tables"]

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


def checks(state: Mm2State) -> tuple[Check, ...]:
    """All of CHECKS, knowing what the connectors were asked to do."""
    flow, later = state.flow, state.later
    config, given = flow.connector.config, flow.emits_checkpoints
    lag_max = int(config.get("offset.lag.max", "100"))

    def when(check: type[Check]) -> str:
        return later.get(check.name, "is not due yet")

    return (
        TrueSyncPairs(applies=flow.emits_syncs),
        NothingSkipped(
            applies=flow.emits_syncs,
            counts_records=not flow.writes_transactions and not flow.others,
            transactions=state.transactions,
        ),
        SafeTranslation(applies=given),
        TightTranslation(applies=given, offset_lag_max=lag_max, later=when(TightTranslation)),
        MonotonicCheckpoints(applies=given, has_groups=state.groups != []),
        CheckpointCoverage(applies=given, offset_lag_max=lag_max, later=when(CheckpointCoverage)),
        SyncedGroupOffsets(later=when(SyncedGroupOffsets)),
        SameTopicConfigs(
            applies=config.get("sync.topic.configs.enabled") != "false", later=when(SameTopicConfigs)
        ),
        SameAcls(
            applies=config.get("sync.topic.acls.enabled") != "false" and state.has_acls,
            later=when(SameAcls),
        ),
        SameTopics(later=when(SameTopics)),
    )


def tables(
    spark: SparkSession, state: Mm2State, evidence: Mapping[str, DataFrame], judging: Collection[Check]
) -> dict[str, DataFrame]:
    """The tables that these checks judge, beside the evidence; without those that could not be read."""
    # read once, for the first table that needs them
    read_checkpoints = cache(lambda: _checkpoints(spark, state))
    ways: dict[str, Callable[[], DataFrame | None]] = {
        "syncs": lambda: _syncs_table(spark, state, evidence),
        "checkpoints": lambda: _checkpoints_table(spark, read_checkpoints()),
        "groups": lambda: _groups_table(spark, state, evidence, read_checkpoints),
        "configs": lambda: _rows_table(spark, parity.ConfigRow, state.configs),
        "acls": lambda: _rows_table(spark, parity.AclRow, state.acls),
        "topics": lambda: _rows_table(spark, parity.TopicRow, state.topics),
    }
    wanted = {check.table for check in judging}
    made = {name: make() for name, make in ways.items() if name in wanted}
    return {name: table for name, table in made.items() if table is not None}


def _syncs_table(spark: SparkSession, state: Mm2State, evidence: Mapping[str, DataFrame]) -> DataFrame:
    if not state.syncs:
        return _empty(spark, internals.SYNC_COLUMNS, internals.SYNC_ADDED)
    flow = state.flow
    frame = _frame(spark, flow, flow.syncs_at, flow.connector.offset_syncs_topic, state.syncs)
    syncs = _of(offsets.offset_syncs(frame), flow.topic)
    return internals.syncs_table(syncs, evidence["records"], evidence["partitions"])


def _checkpoints(spark: SparkSession, state: Mm2State) -> DataFrame | None:
    """Of this topic; None where none are written."""
    flow = state.flow
    if not (state.checkpoints and flow.checkpointer):
        return None
    frame = _frame(spark, flow, flow.target, flow.checkpointer.checkpoints_topic, state.checkpoints)
    return _of(offsets.checkpoints(frame), flow.checkpointer.remote_topic(flow.topic))


def _checkpoints_table(spark: SparkSession, found: DataFrame | None) -> DataFrame:
    if found is None:
        return _empty(spark, internals.CHECKPOINT_COLUMNS, internals.CHECKPOINT_ADDED)
    return internals.checkpoints_table(found)


def _groups_table(
    spark: SparkSession,
    state: Mm2State,
    evidence: Mapping[str, DataFrame],
    read_checkpoints: Callable[[], DataFrame | None],
) -> DataFrame | None:
    if state.groups is None:
        return None
    if not state.flow.emits_checkpoints:
        return _empty(spark, internals.GROUP_COLUMNS, internals.GROUP_ADDED)
    found = read_checkpoints()
    checkpoints = _empty(spark, internals.CHECKPOINT_COLUMNS) if found is None else found
    groups = internals.rows_table(spark, parity.GroupRow, state.groups)
    return internals.groups_table(
        internals.without_read_on(groups, checkpoints),
        checkpoints,
        evidence["records"],
        evidence["partitions"],
    )


def _rows_table(
    spark: SparkSession, kind: type[internals.Row], rows: Sequence[internals.Row] | None
) -> DataFrame | None:
    return None if rows is None else internals.rows_table(spark, kind, rows)


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
