"""A lab that is up, reached by its parts: clusters, Connect, Spark, containers, addresses, connectors.

The clients are imported where they are used: `up` loads them while its containers start, and Spark's,
which takes half a second, not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import engine, leases, mm2_dedicated, monitoring, security
from lab.client_properties import ClientProperties
from lab.engine import Container, Project
from lab.errors import BadInput, nearest
from lab.harness import endpoints
from lab.harness.endpoints import Endpoint
from lab.mm2 import Connector, aliases_of, cluster_of, is_kafka_4, read_connector
from lab.project import existing_spark
from lab.topology import MM2_PROPERTIES, Topology

if TYPE_CHECKING:
    from lab.connect import Connect
    from lab.dedicated import Dedicated
    from lab.kafka import Cluster
    from lab.metrics import Metrics
    from lab.mm2_status import Status
    from lab.spark import SparkSession

PROJECT_PREFIX: Final = "lab-"


@dataclass
class Parts:
    """What is reached of a running lab. Whatever needs a connection is made when it is asked for first."""

    name: str
    topology: Topology
    kafka_version: str
    ports: Mapping[str, int]

    def close(self) -> None:
        """Close the connections to what runs, and leave it running."""
        for worker in self._workers.values():
            worker.close()
        if "metrics" in self.__dict__:
            self.metrics.close()
        if "spark" in self.__dict__:
            self.spark.stop()

    # -- clients ---------------------------------------------------------------------------------

    def make_clients(self) -> None:
        """Load and make what asks clusters and workers; nothing is asked yet."""
        for alias in self.topology.roles.clusters:
            self.cluster(alias)
        for service in self.topology.workers:
            self.worker(service)

    def cluster(self, alias: str) -> Cluster:
        if alias not in self.topology.roles.clusters:
            raise BadInput(
                f'topology "{self.topology.name}" has no cluster "{alias}"',
                nearest(alias, list(self.topology.roles.clusters)),
            )
        if alias not in self._clusters:
            from lab.external import ReadOnlyCluster
            from lab.kafka import Cluster

            bootstrap = self.topology.bootstrap(alias, listener="EXTERNAL", ports=self.ports)
            self._clusters[alias] = (
                ReadOnlyCluster(self.topology, alias)
                if self.topology.roles.read_only
                else Cluster(alias, bootstrap, self.client(alias, "EXTERNAL").librdkafka)
            )
        return self._clusters[alias]

    def client(self, alias: str, listener: str) -> ClientProperties:
        """How the lab's own clients speak to a cluster on one of its listeners."""
        if alias in self.topology.roles.external:
            return self.topology.client(alias)
        return security.client(self.name, self.topology.protocols(alias).get(listener, "PLAINTEXT"))

    @cached_property
    def _clusters(self) -> dict[str, Cluster]:
        return {}

    @property
    def source(self) -> Cluster:
        """The source cluster, where there is one."""
        return self.cluster(self._only("source"))

    @property
    def target(self) -> Cluster:
        return self.cluster(self._only("target"))

    def _only(self, side: str) -> str:
        found = aliases_of(self.topology, side)
        if len(found) != 1:
            some = f"{len(found)} {side} clusters: {', '.join(found)}" if found else f"no {side} cluster"
            raise BadInput(
                f'topology "{self.topology.name}" has {some}',
                f"name one with --cluster: {', '.join(self.topology.roles.clusters) or 'there is none'}",
            )
        return found[0]

    @property
    def connect(self) -> Connect:
        if url := self.topology.roles.connect_url:
            if url not in self._workers:
                from lab.connect import Connect
                from lab.external import ReadOnlyConnect

                read_only = self.topology.roles.read_only
                self._workers[url] = ReadOnlyConnect(self.topology) if read_only else Connect(url)
            return self._workers[url]
        if self.topology.mirror_makers:
            raise BadInput(
                f'in topology "{self.topology.name}" MM2 runs by itself, without a Connect worker to ask',
                f'"lab up {self.topology.name} --set {MM2_PROPERTIES}=FILE" starts it with other properties',
            )
        if not self.topology.workers:
            raise BadInput(f'topology "{self.topology.name}" has no Connect worker', 'see "lab list"')
        workers = [self.worker(service) for service in self.topology.workers]
        if len(workers) == 1:
            return workers[0]
        # Any worker speaks for its cluster, so the loss of one must not silence the rest.
        return next((worker for worker in workers if _answers(worker)), workers[0])

    def worker(self, service: str) -> Connect:
        if service not in self._workers:
            from lab.connect import Connect

            self._workers[service] = Connect(f"http://{self.address(service)}", service=service)
        return self._workers[service]

    @cached_property
    def _workers(self) -> dict[str, Connect]:
        return {}

    @cached_property
    def spark(self) -> SparkSession:
        from lab.spark import session

        return session("" if existing_spark() else self.address("spark"))

    @cached_property
    def metrics(self) -> Metrics:
        from lab.metrics import Metrics

        return Metrics(f"http://{self.address(monitoring.PROMETHEUS)}")

    # -- containers and addresses ------------------------------------------------------------------

    @cached_property
    def project(self) -> Project:
        chosen = self.topology
        decided = frozenset((*chosen.variables, *(port.variable for port in chosen.ports)))
        return Project(PROJECT_PREFIX + self.name, chosen.compose_file, leases.env_file(self.name), decided)

    def containers(self) -> list[Container]:
        return engine.containers(self.project.name) if self.topology.services else []

    @property
    def up_again(self) -> str:
        """The command that brings it into shape."""
        return f"lab up {self.topology.reference} --name {self.name}"

    def require_service(self, service: str) -> None:
        if service not in self.topology.services:
            raise BadInput(
                f'lab "{self.name}" has no service "{service}"',
                nearest(service, list(self.topology.services)),
            )

    def address(self, service: str) -> str:
        """Where a service's first published port answers on this host."""
        self.require_service(service)
        for port in self.topology.services[service].ports:
            return f"127.0.0.1:{self.ports[port.variable]}"
        raise BadInput(f'service "{service}" publishes no port', '"lab exec" reaches it')

    def internal_bootstrap(self, alias: str) -> str:
        """A cluster's address for what runs in the lab's network: Connect, Spark, the tools."""
        return self.topology.bootstrap(alias, listener="INTERNAL", ports=self.ports)

    def endpoints(self) -> list[Endpoint]:
        return endpoints.of(self.name, self.topology, self.ports)

    # -- connectors ------------------------------------------------------------------------------

    def connector(self, name: str, **overrides: str | None) -> Connector:
        """A connector file of the topology, with some keys changed; None takes a key away.

        Keys with dots are passed as `**{"offset.lag.max": "0"}`.
        """
        files = self.topology.connector_files()
        if name not in files:
            raise BadInput(
                f'topology "{self.topology.name}" has no connector "{name}"', nearest(name, list(files))
            )
        return read_connector(files[name]).with_overrides(overrides)

    @cached_property  # to ask may take a while where a worker hangs
    def kafka_4(self) -> bool:
        """Whether the workers are of Kafka 4 or later, where other topics count as internal."""
        return is_kafka_4(self.connect.version() if self.topology.has_connect else self.kafka_version)

    def worker_setting(self, key: str) -> str | None:
        """A setting of the Connect workers, as they were started with it."""
        return self.topology.worker_setting(key, leases.leased(self.name))

    def deployed(self) -> list[Connector]:
        if self.topology.has_connect:
            return self.connect.connectors()
        if self.topology.mirror_makers:
            return mm2_dedicated.connectors(self.mm2_properties())
        return [read_connector(path) for path in self.topology.connector_files().values()]

    def mm2_file(self) -> Path:
        """The properties file that the dedicated nodes of MM2 were started with."""
        return self.topology.mm2_properties(leases.leased(self.name) or {})

    def mm2_properties(self) -> dict[str, str]:
        return mm2_dedicated.read(self.mm2_file())

    @property
    def dedicated(self) -> Dedicated:
        """What dedicated nodes of MM2 do, as their own topics tell."""
        return self.dedicated_of(self.mm2_properties())

    def dedicated_of(self, properties: Mapping[str, str]) -> Dedicated:
        """The same with properties as they are, which MM2 might not take.

        They may have other names for the clusters than the topology has.
        """
        from lab.dedicated import Dedicated

        def cluster(alias: str) -> Cluster:
            address = properties.get(f"{alias}.bootstrap.servers", "")
            return self.cluster(self.topology.known_as(alias, address))

        return Dedicated(mm2_dedicated.pairs(properties), cluster)

    def statuses(self) -> list[Status]:
        """What is said of each connector, wherever it runs."""
        if self.topology.mirror_makers:
            return self.dedicated.statuses()
        return self.connect.statuses() if self.topology.has_connect else []

    def aliases_of(self, connector: Connector) -> tuple[str, str]:
        """Source and target of a connector by the topology's names; it may have other ones for them."""
        return cluster_of(self.topology, connector, "source"), cluster_of(self.topology, connector, "target")

    def ends(self, connector: Connector) -> tuple[Cluster, Cluster]:
        source, target = self.aliases_of(connector)
        return self.cluster(source), self.cluster(target)

    def known_connectors(self) -> list[Connector]:
        """What is deployed, and what the topology's files say: MM2's topics outlive worker and connector."""
        from lab.connect import ConnectError

        try:
            deployed = self.deployed()
        except ConnectError:
            deployed = []
        names = {connector.name for connector in deployed}
        files = [read_connector(path) for path in self.topology.connector_files().values()]
        return [*deployed, *(connector for connector in files if connector.name not in names)]


def _answers(worker: Connect) -> bool:
    from lab.connect import ConnectError

    try:
        worker.version()
    except ConnectError:
        return False
    return True
