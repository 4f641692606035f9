"""Plans each round of collections, and answers scrapes from the last one."""

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from prometheus_client.core import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from lab.connect import Connect
from lab.exporter.flows import Flow, Plan, plan
from lab.exporter.metrics import Snapshot, families
from lab.exporter.places import WORKER_ANSWERS_S, WorkerState, collect_cluster, collect_worker
from lab.exporter.rounds import Rounds
from lab.exporter.settings import Settings
from lab.kafka import Cluster

_LOG: Final = logging.getLogger("lab.exporter")


class Exporter(Collector):
    """The flows that it knows are those of Connect's last answer: while no worker answers, they stay."""

    def __init__(
        self,
        settings: Settings,
        *,
        cluster: Callable[..., Cluster] = Cluster,
        connect: Callable[[str], Connect] = lambda url: Connect(url, timeout_s=WORKER_ANSWERS_S),
        flow: Callable[..., Flow] = Flow,
        rounds: Rounds | None = None,
    ) -> None:
        self._settings, self._new_cluster, self._new_flow = settings, cluster, flow
        self._clusters = {
            alias: cluster(alias, bootstrap, settings.properties.get(alias))
            for alias, bootstrap in settings.clusters.items()
        }
        self._others: dict[tuple[str, str], Cluster] = {}
        self._workers = {url: connect(url) for url in settings.workers}
        self._flows: dict[str, Flow] = {}
        dedicated = {connector.name: connector.config for connector in settings.connectors}
        self._plan = plan(dedicated, settings.kafka_version) if dedicated else Plan()
        self._rounds = rounds or Rounds()

    def run(self, stop: threading.Event) -> None:
        _LOG.info("collecting every %g s: %s", self._settings.interval_s, ", ".join(self._clusters))
        while True:
            self.round()
            if stop.wait(self._settings.interval_s):
                return

    def round(self) -> None:
        """Begin a collection of every part that is not being collected still."""
        for alias, cluster in self._clusters.items():
            self._rounds.begin(f"cluster {alias}", partial(collect_cluster, cluster))
        for url, connect in self._workers.items():
            self._rounds.begin(f"worker {url}", partial(collect_worker, connect))
        told = self._told()
        if told is None or told.deployed is None:
            planned = self._plan
        else:
            configs = {name: deployed.config for name, deployed in told.deployed.items()}
            planned = self._plan = plan(configs, told.version)
        for gone in self._flows.keys() - planned.flows.keys():
            self._rounds.drop(f"flow {gone}", self._flows.pop(gone).close)
        for name, connectors in planned.flows.items():
            flow = self._flows.setdefault(name, self._new_flow(self._cluster))
            collect = partial(flow.collect, connectors, kafka_4=planned.kafka_4)
            self._rounds.begin(f"flow {name}", collect)

    def collect(self) -> Iterator[Metric]:
        """A scrape."""
        return families(self.snapshot())

    def snapshot(self) -> Snapshot:
        told = self._told()
        return Snapshot(
            clusters=self._known("cluster", self._clusters),
            workers={url: state is not None for url, state in self._known("worker", self._workers).items()},
            connectors=told.deployed if told else None,
            flows=self._known("flow", dict(self._flows)),
            took_s=self._rounds.slowest_s(),
        )

    def _known(self, kind: str, parts: dict[str, Any]) -> dict[str, Any]:
        names = {part: f"{kind} {part}" for part in parts}
        return {p: self._rounds.value(name) for p, name in names.items() if self._rounds.knows(name)}

    def _told(self) -> WorkerState | None:
        """What the first worker says that answers and is not about to share out its connectors anew."""
        states = [self._rounds.value(f"worker {url}") for url in self._workers]
        answers = [state for state in states if state is not None]
        return next((s for s in answers if s.deployed is not None), answers[0] if answers else None)

    def _cluster(self, alias: str, bootstrap: str) -> Cluster:
        """The cluster that a connector names: known by an address, by its alias, or by nothing yet."""
        addresses = set(bootstrap.split(","))
        for cluster in self._clusters.values():
            if addresses & set(cluster.bootstrap.split(",")):
                return cluster
        if alias in self._clusters:
            return self._clusters[alias]
        if (alias, bootstrap) not in self._others:
            self._others[alias, bootstrap] = self._new_cluster(alias, bootstrap)
        return self._others[alias, bootstrap]


def registry(exporter: Collector) -> CollectorRegistry:
    found = CollectorRegistry()
    found.register(exporter)
    return found
