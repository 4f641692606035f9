"""Observations to be judged, written down: healthy ones, to which a test adds one thing."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from lab.diagnose import Observation
from lab.diagnose.log import entries
from lab.diagnose.observation import Cluster, Deployed, Service, Topic
from lab.mm2 import BYTES_CONVERTER, CHECKPOINT, SOURCE, Connector
from lab.mm2_status import Status, Task

NOW: Final = datetime(2026, 11, 19, 12, 0, 0, tzinfo=UTC)
BYTES: Final = {"header.converter": BYTES_CONVERTER}
ONE_REPLICA: Final = {"replication.factor": "1", "offset-syncs.topic.replication.factor": "1"}
ENDS: Final = {
    "source.cluster.alias": "source",
    "source.cluster.bootstrap.servers": "broker:29092",
    "target.cluster.alias": "target",
    "target.cluster.bootstrap.servers": "broker2:29093",
}


def connector(*, cls: str = SOURCE, trace: str = "", take: str = "", **config: str) -> Deployed:
    """One that mirrors topic "orders" and has nothing wrong; `take` is a key that it goes without."""
    common = {**ENDS, "connector.class": cls}
    own = {"topics": "orders", **BYTES, **ONE_REPLICA} if cls == SOURCE else {}
    if cls == CHECKPOINT:
        own = {"checkpoints.topic.replication.factor": "1"}
    made = Connector(name="mirror", config={**common, **own}).with_overrides({**config, take: None})
    state = "FAILED" if trace else "RUNNING"
    task = Task(id=0, state=state, worker="connect:8083", trace=trace)
    status = Status(name="mirror", connector_class=cls, state="RUNNING", worker="connect:8083", tasks=(task,))
    return Deployed(connector=made, status=status)


def cluster(alias: str, **changes: object) -> Cluster:
    topics = {"orders": Topic(partitions=3, replicas=1)}
    return replace(Cluster(alias=alias, brokers=1, topics=topics), **changes)  # type: ignore[arg-type]


def log(*lines: str, ago_s: float = 5) -> str:
    """As the engine tells it."""
    stamp = (NOW - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%S.000000000Z")
    return "\n".join(f"{stamp} {line}" for text in lines for line in text.splitlines())


def service(name: str = "connect", kind: str = "connect", written: str = "", **changes: object) -> Service:
    made = Service(name=name, kind=kind, until=NOW, entries=tuple(entries(written.splitlines())))
    return replace(made, **changes)  # type: ignore[arg-type]


def lab(
    *deployed: Deployed,
    services: tuple[Service, ...] = (),
    clusters: tuple[Cluster, ...] = (),
    properties: Mapping[str, str] | None = None,
) -> Observation:
    return Observation(
        up="lab up basic-mirror --name monday",
        variables=frozenset({"LAB_CONNECT_HEAP", "LAB_MM2_LOG_DIR"}),
        services=services or (service(),),
        deployed=deployed or (connector(),),
        clusters={c.alias: c for c in (clusters or (cluster("source"), cluster("target")))},
        properties=properties or {},
    )


def logged(*lines: str, ago_s: float = 5, by: str = "connect", times: int = 1) -> Observation:
    """A healthy lab, one of whose services logged these lines."""
    return lab(services=(service(by, by, log(*(lines * times), ago_s=ago_s)),))
