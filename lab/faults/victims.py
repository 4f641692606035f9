"""Whom a fault hits: services by name, or by the part that they play at this moment."""

import re
from dataclasses import dataclass
from typing import Final, Protocol

from lab.errors import BadInput, LabError, nearest
from lab.faults.fault import Ground
from lab.faults.topics import require_topic
from lab.topology import interpolate

_LEADER_ID: Final = re.compile(r"^LeaderId:\s*(\d+)", re.MULTILINE)


class Victim(Protocol):
    """Written as text, as the command line has it."""

    def services(self, lab: Ground) -> tuple[str, ...]:
        """One or more; raises LabError when nobody plays that part now."""


@dataclass(frozen=True)
class Service:
    """kafka-source-1"""

    name: str

    def services(self, lab: Ground) -> tuple[str, ...]:
        lab.require_service(self.name)
        return (self.name,)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Services:
    """kafka-connect-1,kafka-connect-2"""

    names: tuple[str, ...]

    def services(self, lab: Ground) -> tuple[str, ...]:
        for name in self.names:
            lab.require_service(name)
        if twice := [name for name in self.names if self.names.count(name) > 1]:
            raise BadInput(f'service "{twice[0]}" is named twice', "name each once")
        return self.names

    def __str__(self) -> str:
        return ",".join(self.names)


@dataclass(frozen=True, kw_only=True)
class Leader:
    """leader:source/orders/0"""

    cluster: str
    topic: str
    partition: int = 0

    def services(self, lab: Ground) -> tuple[str, ...]:
        cluster = lab.cluster(self.cluster)
        if self.partition >= (count := require_topic(cluster, self.topic).partitions):
            raise BadInput(f'topic "{self.topic}" has no partition {self.partition}', f"it has {count}")
        address = cluster.leader(self.topic, self.partition)
        return (_broker_at(lab, self.cluster, address),)

    def __str__(self) -> str:
        return f"leader:{self.cluster}/{self.topic}/{self.partition}"


@dataclass(frozen=True)
class Controller:
    """controller:source"""

    cluster: str

    def services(self, lab: Ground) -> tuple[str, ...]:
        brokers = _brokers(lab, self.cluster)
        environment = lab.topology.services[brokers[0]].environment
        if "KAFKA_PROCESS_ROLES" not in environment:  # ZooKeeper: brokers tell it with their metadata
            return (_broker_at(lab, self.cluster, lab.cluster(self.cluster).controller()),)
        asked = lab.topology.bootstrap(self.cluster, listener="INTERNAL", ports=lab.ports)
        at_work = [c.service for c in lab.containers() if c.service in brokers and c.state == "running"]
        told = lab.project.run_in(
            next(iter(at_work), brokers[0]),
            ["kafka-metadata-quorum", "--bootstrap-server", asked, "describe", "--status"],
        )
        if (found := _LEADER_ID.search(told)) is None:
            raise LabError(f'cluster "{self.cluster}" has no controller', 'see "lab status"')
        ids = {lab.topology.services[b].environment.get("KAFKA_NODE_ID"): b for b in brokers}
        return (ids[found[1]],)

    def __str__(self) -> str:
        return f"controller:{self.cluster}"


@dataclass(frozen=True)
class Brokers:
    """brokers:source, all of them"""

    cluster: str

    def services(self, lab: Ground) -> tuple[str, ...]:
        return _brokers(lab, self.cluster)

    def __str__(self) -> str:
        return f"brokers:{self.cluster}"


@dataclass(frozen=True)
class Workers:
    """workers, all of them: of Connect, or dedicated nodes of MM2"""

    def services(self, lab: Ground) -> tuple[str, ...]:
        found = tuple(lab.topology.workers or lab.topology.mirror_makers)
        if not found:
            raise BadInput(f'topology "{lab.topology.name}" has no worker', 'see "lab list"')
        return found

    def __str__(self) -> str:
        return "workers"


@dataclass(frozen=True, kw_only=True)
class WorkerOf:
    """task:mm2-msc-source/0, the worker that has it"""

    connector: str
    task: int = 0

    def services(self, lab: Ground) -> tuple[str, ...]:
        tasks = {task.id: task.worker for task in lab.connect.status(self.connector).tasks}
        if self.task not in tasks:
            raise BadInput(
                f'connector "{self.connector}" has no task {self.task}',
                f"it has {', '.join(map(str, sorted(tasks))) or 'none'}",
            )
        worker = tasks[self.task].rpartition(":")[0]
        workers = lab.topology.workers
        return (worker if worker in workers or len(workers) != 1 else workers[0],)

    def __str__(self) -> str:
        return f"task:{self.connector}/{self.task}"


def parse(text: str) -> Victim:
    """Of the command line."""
    kind, colon, rest = text.partition(":")
    parts = rest.split("/")
    if not colon:
        names = tuple(part.strip() for part in text.split(","))
        if text == "workers":
            return Workers()
        return Services(names) if len(names) > 1 else Service(text)
    number = parts[-1] if parts[-1].isdecimal() else None
    if kind == "leader" and len(parts) == 3 and number is not None:
        return Leader(cluster=parts[0], topic=parts[1], partition=int(number))
    if kind == "task" and len(parts) == 2 and number is not None:
        return WorkerOf(connector=parts[0], task=int(number))
    if kind == "controller" and len(parts) == 1 and rest:
        return Controller(rest)
    if kind == "brokers" and len(parts) == 1 and rest:
        return Brokers(rest)
    raise BadInput(
        f'"{text}" names no victim',
        "a service, several with commas between, workers, leader:CLUSTER/TOPIC/PARTITION, "
        "controller:CLUSTER, brokers:CLUSTER or task:CONNECTOR/TASK",
    )


def _brokers(lab: Ground, cluster: str) -> tuple[str, ...]:
    clusters = lab.topology.roles.clusters
    if cluster not in clusters:
        raise BadInput(f'no cluster "{cluster}"', nearest(cluster, list(clusters)))
    if not clusters[cluster]:
        raise BadInput(f'the lab did not start cluster "{cluster}"', "faults hit what the lab has started")
    return tuple(clusters[cluster])


def _broker_at(lab: Ground, cluster: str, address: str) -> str:
    for broker in _brokers(lab, cluster):
        advertised = lab.topology.services[broker].environment["KAFKA_ADVERTISED_LISTENERS"]
        if address in {entry.partition("://")[2] for entry in interpolate(advertised, lab.ports).split(",")}:
            return broker
    raise LabError(f'no broker of cluster "{cluster}" answers at {address}', 'see "lab status"')
