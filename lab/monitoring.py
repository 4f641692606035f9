"""What the containers that watch a lab are told: whom Prometheus scrapes, what Kafka UI shows, a password.

All of it follows from the topology and is written into the lab's state folder, which they mount.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lab import leases
from lab.engine import docker
from lab.errors import HostNotReady
from lab.mm2 import read_connector
from lab.project import registry, versions
from lab.setup import registry_answers
from lab.topology import Service, Topology, interpolate

PROMETHEUS: Final = "prometheus"
UI: Final = "ui"  # the profile of what exists only as published images
USER: Final = "admin"
STEP_JOB: Final = "mirror-lab-step"
_AGENT: Final = "LAB_JMX_EXPORTER_PORT"
_GRAFANA_UID: Final = 472  # in Grafana's image
_JOBS: Final = ("kafka-source-exporter", "kafka-target-exporter", "kafka-connect-exporter")

Targets = list[dict[str, Any]]  # Prometheus' form of a file of targets


def folder(lab: str) -> Path:
    return leases.env_file(lab).parent / "monitoring"


def password_file(lab: str) -> Path:
    return folder(lab) / "password"


def settings(lab: str) -> dict[str, str]:
    """For Compose: the folder that is mounted, and the user who can read the password in it."""
    return {"LAB_MONITORING": str(folder(lab)), "LAB_UI_USER": str(_reader())}


def write(lab: str, topology: Topology) -> None:
    """Before the containers start. Prometheus sees later changes of the targets by itself."""
    if PROMETHEUS not in topology.services:
        return
    place = folder(lab)
    (place / "targets").mkdir(parents=True, exist_ok=True)
    for job, found in targets(topology).items():
        _write(place / "targets" / f"{job}.json", found)
    _write(place / "kafka-ui.yml", kafka_ui(topology))  # JSON is YAML
    if not password_file(lab).exists():
        _write_password(password_file(lab))


def mark_step(lab: str, scenario: str, step: str | None) -> None:
    """Tell Prometheus what a scenario is doing, for the dashboards' annotations; None: nothing."""
    place = folder(lab) / "targets"
    if place.is_dir():
        marked = {"targets": ["localhost:9090"], "labels": {"scenario": scenario, "step": step}}
        _write(place / f"{STEP_JOB}.json", [] if step is None else [marked])


def targets(topology: Topology) -> dict[str, Targets]:
    """By job: every service that is started and has the JMX agent, with the cluster that it belongs to."""
    roles = topology.roles
    deployed = [read_connector(path) for path in topology.connector_files().values()]
    written_to = {connector.target_alias for connector in deployed}
    of_brokers = {broker: alias for alias, brokers in roles.clusters.items() for broker in brokers}
    found: dict[str, Targets] = {job: [] for job in _JOBS}
    for name, service in topology.services.items():
        if port := service.environment.get(_AGENT):
            source, target, connect = _JOBS
            if name in of_brokers:
                alias = of_brokers[name]
                job = target if alias in written_to else source
            else:  # a Connect worker, or a dedicated MirrorMaker 2, which belongs to no cluster
                alias = (
                    (topology.alias_of(topology.worker_bootstrap()) or "") if name in roles.connect else ""
                )
                job = connect
            found[job].append({"targets": [f"{name}:{port}"], "labels": {"cluster": alias, "service": name}})
    return found


def kafka_ui(topology: Topology) -> dict[str, Any]:
    """Kafka UI's configuration: every cluster, with the Connect workers that belong to it."""
    workers = topology.alias_of(topology.worker_bootstrap())
    clusters = []
    for alias, brokers in topology.roles.clusters.items():
        cluster: dict[str, Any] = {
            "name": alias,
            "bootstrapServers": topology.bootstrap(alias, listener="INTERNAL", ports={}),
        }
        if ports := {topology.services[broker].environment.get(_AGENT) for broker in brokers} - {None}:
            cluster["metrics"] = {"type": "PROMETHEUS", "port": int(str(ports.pop()))}
        if alias == workers:
            cluster["kafkaConnect"] = [
                {"name": worker, "address": f"http://{worker}:{topology.services[worker].ports[0].container}"}
                for worker in topology.workers
            ]
        clusters.append(cluster)
    return {"kafka": {"clusters": clusters}}


def without_ui(topology: Topology) -> str:
    """Why the profile's services must be left out; "" when they can be started, or the topology has none."""
    pinned = versions()
    missing = [image for image in _images(topology.optional, pinned) if not _can_be_had(image)]
    return f"left out, since no image registry gives {' and '.join(missing)}" if missing else ""


def require_ui(topology: Topology) -> None:
    """The profile was asked for by name: then leaving it out is no way out."""
    missing = [image for image in _images(topology.services, versions()) if not _can_be_had(image)]
    if missing:
        raise HostNotReady(
            f"no image registry gives {' and '.join(missing)}",
            f'leave "--profile {UI}" out, or name a registry that has them with LAB_REGISTRY',
        )


def _images(services: Mapping[str, Service], pinned: Mapping[str, str]) -> Iterator[str]:
    return (interpolate(s.image, pinned) for s in services.values() if UI in s.profiles)


def _can_be_had(image: str) -> bool:
    here = docker("image", "ls", "--quiet", registry() + image)
    return bool(here.strip()) or registry_answers(image)


def _reader() -> int:
    """A container's user who can read what the lab's user wrote for nobody else; never root."""
    return os.getuid() or _GRAFANA_UID


def _write_password(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(18))
    if os.getuid() == 0:
        os.chown(path, _GRAFANA_UID, -1)


def _write(path: Path, content: object) -> None:
    """All at once: Prometheus may read at any moment. Readable by the containers' users."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(content, indent=2))
    temporary.chmod(0o644)
    temporary.replace(path)
