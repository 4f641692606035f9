"""The exporter's metrics: their names, what they mean, and how they follow from what was collected."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric

from lab.exporter.flows import BUCKETS_S, FlowState
from lab.exporter.places import ClusterState

# Every state that Connect has for a task: one that no task is in is 0, not absent.
TASK_STATES: Final = ("running", "paused", "failed", "unassigned", "restarting")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What was collected last. None stands for what does not answer, or not in time."""

    clusters: Mapping[str, ClusterState | None] = field(default_factory=dict)  # by alias
    workers: Mapping[str, bool] = field(default_factory=dict)  # by address: whether it answers
    connectors: Mapping[str, Any] | None = None  # by name: config and status
    flows: Mapping[str, FlowState | None] = field(default_factory=dict)
    took_s: float | None = None


def families(snapshot: Snapshot) -> Iterator[Metric]:
    yield from _up(snapshot)
    yield from _groups(snapshot)
    yield from _connectors(snapshot)
    # Of a cluster that is known to be down nothing is told, however lately it was asked.
    down = {alias for alias, state in snapshot.clusters.items() if state is None}
    flows = {
        name: state
        for name, state in snapshot.flows.items()
        if state is not None and not {state.source, state.target} & down
    }
    yield from _lag(flows)
    yield _latency(flows)
    yield from _ages(flows)


def _up(snapshot: Snapshot) -> Iterator[Metric]:
    cluster_up = GaugeMetricFamily(
        "mirror_lab_cluster_up", "Whether the cluster answers (1) or not (0).", labels=["cluster"]
    )
    for alias, state in snapshot.clusters.items():
        cluster_up.add_metric([alias], float(state is not None))
    connect_up = GaugeMetricFamily(
        "mirror_lab_connect_up", "Whether the Connect worker answers (1) or not (0).", labels=["worker"]
    )
    for worker, answers in snapshot.workers.items():
        connect_up.add_metric([worker], float(answers))
    scrape = GaugeMetricFamily(
        "mirror_lab_scrape_seconds",
        "How long the slowest part of the last collection took; scrapes are answered from the last one.",
    )
    if snapshot.took_s is not None:
        scrape.add_metric([], snapshot.took_s)
    yield from (cluster_up, connect_up, scrape)


def _groups(snapshot: Snapshot) -> Iterator[Metric]:
    lag = GaugeMetricFamily(
        "mirror_lab_group_lag",
        "Offsets from what a consumer group committed to the partition's end, as kafka-consumer-groups.sh"
        " tells it: markers of transactions count.",
        labels=["cluster", "group", "topic", "partition"],
    )
    for alias, state in snapshot.clusters.items():
        for (group, (topic, partition)), offsets in ((state and state.group_lag) or {}).items():
            lag.add_metric([alias, group, topic, str(partition)], offsets)
    yield lag


def _connectors(snapshot: Snapshot) -> Iterator[Metric]:
    tasks = GaugeMetricFamily(
        "mirror_lab_connector_tasks",
        "Tasks of a connector in each state. cluster: the target's alias in the connector's config.",
        labels=["cluster", "connector", "state"],
    )
    running = GaugeMetricFamily(
        "mirror_lab_connector_running",
        "1 when the connector and all its tasks are RUNNING and it has at least one; no proof that"
        " records arrive.",
        labels=["connector"],
    )
    for name, deployed in (snapshot.connectors or {}).items():
        status = deployed.status
        states = Counter(task.state.lower() for task in status.tasks) if status else Counter[str]()
        for state in sorted({*TASK_STATES, *states}):
            target = deployed.config.get("target.cluster.alias", "")
            tasks.add_metric([target, name, state], states[state])
        running.add_metric([name], float(status is not None and status.running))
    yield from (tasks, running)


def _lag(flows: Mapping[str, FlowState]) -> Iterator[Metric]:
    lag = GaugeMetricFamily(
        "mirror_lab_record_lag",
        "Records of the source partition that are not on the target yet, counted record by record. Absent"
        " where nobody can tell; at most that many where mirror_lab_record_lag_exact is 0.",
        labels=["flow", "topic", "partition"],
    )
    exact = GaugeMetricFamily(
        "mirror_lab_record_lag_exact",
        "Whether mirror_lab_record_lag is exact: 0 while a large backlog is still being counted, and where"
        " it is not known.",
        labels=["flow", "topic", "partition"],
    )
    for flow, state in flows.items():
        for sample in state.partitions:
            labels = [flow, sample.topic, str(sample.partition)]
            if sample.lag is not None:
                lag.add_metric(labels, sample.lag)
            exact.add_metric(labels, float(sample.exact))
    yield from (lag, exact)


def _latency(flows: Mapping[str, FlowState]) -> Metric:
    latency = HistogramMetricFamily(
        "mirror_lab_latency_seconds",
        "How old the last mirrored record of a partition was when it was first seen on the target: one"
        " observation per partition and collection that found a new one. True latency, plus at most the"
        " time between two collections.",
        labels=["flow", "topic"],
    )
    limits = [*(str(limit) for limit in BUCKETS_S), "+Inf"]
    for flow, state in flows.items():
        for topic, seen in state.latency.items():
            cumulated = zip(limits, accumulate(map(float, seen.counts)), strict=True)
            latency.add_metric([flow, topic], list(cumulated), seen.sum_s)
    return latency


def _ages(flows: Mapping[str, FlowState]) -> Iterator[Metric]:
    record = GaugeMetricFamily(
        "mirror_lab_record_age_seconds",
        "Age of the oldest record that is not on the target yet, by its timestamp; 0 when none is missing.",
        labels=["flow", "topic"],
    )
    checkpoint = GaugeMetricFamily(
        "mirror_lab_checkpoint_age_seconds",
        "Age of the group's last checkpoint on the target. MM2 writes none while a group stands still.",
        labels=["flow", "group"],
    )
    heartbeat = GaugeMetricFamily(
        "mirror_lab_heartbeat_age_seconds",
        "Age of the last heartbeat that crossed the flow. Absent where none does: on Connect a heartbeat"
        " connector writes to the workers' own cluster, the target, so its heartbeats prove nothing about a"
        " one-way flow.",
        labels=["flow"],
    )
    for flow, state in flows.items():
        for topic, age_s in _record_ages(state).items():
            record.add_metric([flow, topic], age_s)
        for group, age_s in state.checkpoint_age_s.items():
            checkpoint.add_metric([flow, group], age_s)
        if state.heartbeat_age_s is not None:
            heartbeat.add_metric([flow], state.heartbeat_age_s)
    yield from (record, checkpoint, heartbeat)


def _record_ages(state: FlowState) -> dict[str, float]:
    """By topic; left out where the oldest record of a partition is not known."""
    ages: dict[str, list[float | None]] = {}
    for sample in state.partitions:
        ages.setdefault(sample.topic, []).append(sample.oldest_unmirrored_age_s)
    return {
        topic: max(age for age in found if age is not None)
        for topic, found in ages.items()
        if None not in found
    }
