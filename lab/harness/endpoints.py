"""Where what runs in a lab answers on this host, and what it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lab import monitoring
from lab.topology import Topology

_SPARK: Final = ("spark", "spark-connect")
_WEB: Final = {
    "prometheus": "Prometheus",
    "exporter": "metrics",
    "grafana": "Grafana",
    "kafka-ui": "Kafka UI",
}


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    service: str
    what: str
    address: str


def of(lab: str, topology: Topology, ports: Mapping[str, int]) -> list[Endpoint]:
    roles = topology.roles
    what = {broker: f"cluster {alias}" for alias, brokers in roles.clusters.items() for broker in brokers}
    what |= dict.fromkeys(roles.connect, "Connect REST") | dict.fromkeys(_SPARK, "Spark Connect")
    if roles.link:
        what[roles.link] = "the link's API"
    through = {port.variable: f"the link to {broker}" for broker, port in topology.proxies.items()}
    what |= dict.fromkeys(roles.mirror_maker, "MirrorMaker 2, metrics")
    login = f"{monitoring.USER}, password in {monitoring.password_file(lab)}"
    what |= _WEB | {service: f"{_WEB[service]}: {login}" for service in ("grafana", "kafka-ui")}
    web = (*roles.connect, *roles.mirror_maker, *_WEB)
    scheme = dict.fromkeys(web, "http://") | dict.fromkeys(_SPARK, "sc://")
    elsewhere = [
        Endpoint(service=alias, what=f"cluster {alias}", address=external.bootstrap)
        for alias, external in roles.external.items()
    ]
    if roles.connect_url:
        elsewhere.append(Endpoint(service="connect", what="Connect REST", address=roles.connect_url))
    return elsewhere + [
        Endpoint(
            service=port.service,
            what=through.get(port.variable) or what.get(port.service, "ZooKeeper"),
            address=f"{scheme.get(port.service, '')}127.0.0.1:{ports[port.variable]}",
        )
        for port in topology.ports
    ]
