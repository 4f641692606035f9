"""Flows to export: of every topology's connector files, of every properties file, and odd ones."""

from collections.abc import Iterator
from functools import cache

from lab import mm2_dedicated, topology
from lab.export import Flow
from lab.export.flow import Worker, flow_of, meet
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE, Connector, read_connector
from lab.mm2_names import together
from lab.project import COMPOSE

SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
FILES = sorted((COMPOSE / "dedicated-tls/mirror-maker").glob("*.properties"))
TOPOLOGIES = [name for name in topology.names() if topology.load(name).connector_files()]
ADDRESSES = {
    "source.cluster.alias": "a",
    "source.cluster.bootstrap.servers": "a1:9092,a2:9092",
    "target.cluster.alias": "b",
    "target.cluster.bootstrap.servers": "b:9092",
}


def connector(cls: str = SOURCE, **config: str) -> Connector:
    """One from a to b; dots of keys are passed as `**{"tasks.max": "2"}`."""
    return Connector(name=cls.rpartition(".")[2], config={"connector.class": cls, **ADDRESSES, **config})


def all_three(**config: str) -> list[Connector]:
    return [connector(cls, **config) for cls in (SOURCE, CHECKPOINT, HEARTBEAT)]


@cache
def of_topology(name: str) -> tuple[tuple[str, Flow], ...]:
    """As its connectors would run on its workers; alternatives are flows of their own."""
    return tuple(_flows(name))


def _flows(name: str) -> Iterator[tuple[str, Flow]]:
    chosen = topology.load(name)
    files = chosen.connector_files()
    worker = Worker(
        bootstrap=chosen.worker_bootstrap(),
        converters={"header.converter": SIMPLE, **chosen.worker_settings("key.converter", "value.converter")},
        settings={"config.storage.replication.factor": "1"},
    )

    def one_cluster(some: str, others: str) -> bool:
        return meet(some, others) or chosen.alias_of(some) == chosen.alias_of(others)

    for names in together(list(files.values())):
        connectors = [read_connector(files[file]) for file in names]
        yield f"{name} {names[0]}", flow_of(connectors, worker=worker, one_cluster=one_cluster)


def of_files() -> Iterator[tuple[str, Flow]]:
    for path in FILES:
        yield path.name, flow_of(mm2_dedicated.connectors(mm2_dedicated.read(path)), file=path.name)


def every_flow() -> dict[str, Flow]:
    return dict([*(found for name in TOPOLOGIES for found in of_topology(name)), *of_files()])
