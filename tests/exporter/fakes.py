"""Two clusters that are lists, a worker that is a dict, and the exporter's output as Prometheus reads it."""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import httpx
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from lab.connect import Connect
from lab.exporter.exporter import Exporter, registry
from lab.exporter.flows import Flow
from lab.exporter.settings import Settings
from lab.exporter.tails import Tails
from lab.kafka import Cluster, ClusterError, GroupOffset, Offsets, Place, Record
from lab.lag import LagWatcher
from lab.mm2 import CHECKPOINT, SOURCE
from tests.test_lag import NOW_S, Lists, record

__all__ = ["NOW_S", "FakeCluster", "checkpoint", "exporter", "flow", "heartbeat", "record", "scraped"]


class FakeCluster(Lists):
    """Refuses while it is `down`, and answers only when `hangs` lets it."""

    def __init__(self, alias: str, **topics: list[Record]) -> None:
        super().__init__(**topics)
        self.alias, self.bootstrap = alias, f"{alias}:9092"
        self.groups: dict[str, dict[Place, int]] = {}
        self.down = False
        self.hangs: Callable[[], object] = lambda: None

    def _asked(self) -> None:
        self.hangs()
        if self.down:
            raise ClusterError(f'asking cluster "{self.alias}" failed', "see there")

    def brokers(self) -> list[str]:
        self._asked()
        return [self.bootstrap]

    def topic_names(self) -> list[str]:
        self._asked()
        return sorted(self.topics)

    def offsets_of(
        self, topics: Iterable[str], *, isolation: str = "read_uncommitted"
    ) -> dict[Place, Offsets]:
        self._asked()
        return super().offsets_of(topics, isolation=isolation)

    def group_states(self) -> dict[str, str]:
        self._asked()
        return dict.fromkeys(self.groups, "stable")

    def group_offsets(self, group: str) -> dict[Place, GroupOffset]:
        return {p: GroupOffset(offset=o, metadata="") for p, o in self.groups[group].items()}


def tails(cluster: Cluster) -> Tails:
    return Tails(cluster, reader=lambda _: cast(Any, cluster))


def watcher(source: Cluster, target: Cluster, mirrored: Any, *, isolation: str) -> LagWatcher:
    return LagWatcher(
        source,
        target,
        mirrored,
        isolation=isolation,
        clock=lambda: NOW_S,
        reader=lambda cluster, _: cast(Any, cluster),
    )


def flow(clusters: Callable[[str, str], Cluster]) -> Flow:
    return Flow(clusters, clock=lambda: NOW_S, watcher=watcher, tails=tails)


def source_config(**more: str) -> dict[str, str]:
    return {"connector.class": SOURCE, "source.cluster.alias": "a", "target.cluster.alias": "b", **more}


def checkpoint_config(**more: str) -> dict[str, str]:
    return source_config(**{"connector.class": CHECKPOINT, **more})


class Worker:
    """A Connect worker whose connectors are a dict of configs; every task of them has this state."""

    def __init__(self, **connectors: Mapping[str, str]) -> None:
        self.connectors: dict[str, Mapping[str, str]] = connectors
        self.state, self.down, self.rebalancing = "RUNNING", False, False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("refused")
        if request.url.path == "/":
            return httpx.Response(200, json={"version": "3.9.1"})
        if self.rebalancing:
            return httpx.Response(409, json={"error_code": 409, "message": "rebalance in progress"})
        part = {"state": self.state, "worker_id": "w"}
        return httpx.Response(
            200,
            json={
                name: {
                    "info": {"config": config},
                    "status": {"name": name, "connector": part, "tasks": [{"id": 0, **part}]},
                }
                for name, config in self.connectors.items()
            },
        )


def exporter(*clusters: FakeCluster, workers: Mapping[str, Worker], **more: Any) -> Exporter:
    by_alias = {cluster.alias: cluster for cluster in clusters}
    return Exporter(
        Settings(clusters={c.alias: c.bootstrap for c in clusters}, workers=tuple(workers)),
        cluster=lambda alias, *_: cast(Cluster, by_alias[alias]),
        connect=lambda url: Connect(url, transport=httpx.MockTransport(workers[url])),
        flow=flow,
        **more,
    )


def scraped(of: Exporter) -> dict[tuple[str, ...], float]:
    """Each series, as its name and the values of its labels, read by Prometheus' own client."""
    text = generate_latest(registry(of)).decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def checkpoint(offset: int, group: str, timestamp_ms: int) -> Record:
    key = _text(group) + _text("a.t") + struct.pack(">i", 0)
    value = struct.pack(">hqq", 0, 5, 5) + _text("")
    return _record(offset, timestamp_ms, key, value)


def heartbeat(offset: int, made_ms: int) -> Record:
    key = _text("a") + _text("b")
    return _record(offset, 1, key, struct.pack(">hq", 0, made_ms))


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _record(offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> Record:
    return Record(partition=0, offset=offset, timestamp_ms=timestamp_ms, key=key, value=value, headers=())
