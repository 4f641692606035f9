"""The two kinds of parts that have an address: Kafka clusters and Connect workers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lab.connect import Connect, Rebalancing
from lab.kafka import Cluster, ClusterError, Place

WORKER_ANSWERS_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class ClusterState:
    """Of a cluster that answers; the lag of its groups is None when not all partitions answer."""

    group_lag: Mapping[tuple[str, Place], int] | None


def collect_cluster(cluster: Cluster) -> ClusterState:
    """Fails when the cluster does not answer; one that lacks a partition's leader does."""
    cluster.brokers()
    try:
        return ClusterState(group_lag=_group_lag(cluster))
    except ClusterError:
        return ClusterState(group_lag=None)


def _group_lag(cluster: Cluster) -> dict[tuple[str, Place], int]:
    """As kafka-consumer-groups.sh tells it: offsets, so that markers of transactions count too."""
    committed = {group: cluster.group_offsets(group) for group in cluster.group_states()}
    topics = {topic for places in committed.values() for topic, _ in places}
    ends = cluster.offsets_of(topics) if topics else {}
    return {
        (group, place): ends[place].end - at.offset
        for group, places in committed.items()
        for place, at in places.items()
        if place in ends
    }


@dataclass(frozen=True, kw_only=True)
class WorkerState:
    """Of a worker that answers; while the workers agree on who runs what it tells no connectors."""

    version: str = ""
    deployed: Mapping[str, Any] | None = field(default=None)  # name -> config and status


def collect_worker(connect: Connect) -> WorkerState:
    try:
        return WorkerState(version=connect.version(), deployed=connect.deployed())
    except Rebalancing:
        return WorkerState()
