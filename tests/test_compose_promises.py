"""What every topology promises: images of the lab, limits, health, labels, loopback, pinned versions."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import topology
from lab.images import wanted
from lab.mm2 import Severity, read_connector
from lab.mm2_problems import problems
from lab.project import COMPOSE, ROOT, VERSIONS, kafka_version, versions
from lab.topology import interpolate

COMPOSE_FILES = sorted(COMPOSE.rglob("*.yaml"))
BUILD_FILES = [*COMPOSE_FILES, *sorted(COMPOSE.rglob("Dockerfile"))]


def document(path: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(path.read_text())
    return parsed


def resolved(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A service with the keys of the fragments that it extends beneath its own."""
    if "extends" not in body:
        return body
    path = folder / body["extends"]["file"]
    below = resolved(document(path)["services"][body["extends"]["service"]], path.parent)
    return {**below, **body}


SERVICES = {
    f"{name} {service}": resolved(body, COMPOSE / name)
    for name in topology.names()
    for service, body in document(COMPOSE / name / "compose.yaml")["services"].items()
}
every_service = pytest.mark.parametrize("body", SERVICES.values(), ids=SERVICES)
every_topology = pytest.mark.parametrize("name", topology.names())


@every_service
def test_a_service_runs_an_image_of_the_lab(body: dict[str, Any]) -> None:
    """Or, of the profile `ui` alone, one that is published only, of a version that is pinned."""
    of_the_lab = {image.tag for image in wanted(kafka_version())}

    if body.get("profiles") == ["ui"]:
        assert body["image"].startswith("${LAB_REGISTRY:-}")
        of_the_lab = {
            f"grafana/grafana:{versions()['GRAFANA_VERSION']}",
            f"kafbat/kafka-ui:{versions()['KAFKA_UI_VERSION']}",
        }
    assert interpolate(body["image"], versions()) in of_the_lab


@every_service
def test_a_service_is_limited_and_labelled(body: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+[mg]|\${LAB_\w+_MEMORY:-\d+[mg]}", body["mem_limit"])
    assert body["labels"] == {"io.mirror-lab": "true", "io.mirror-lab.name": "${LAB_NAME:-by-hand}"}


@every_service
def test_a_service_is_published_on_this_host_only(body: dict[str, Any]) -> None:
    assert body.get("ports") or "profiles" in body, "Lab.address() gives the first"
    for port in body.get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\$\{\w+_PORT:-\d+\}:\d+", port)


@every_service
def test_a_service_keeps_to_itself(body: dict[str, Any]) -> None:
    """Two labs live side by side, nothing comes back by itself, nothing reaches the engine or the host.

    One service may use the host's network: the Spark that reads clusters which the lab knows by addresses
    on this host, and it listens on loopback only.
    """
    refused = {"privileged", "network_mode", "container_name", "restart", "pid", "ipc", "devices", "cap_add"}
    if body.get("extends", {}).get("service") == "spark-on-host-network":
        assert body["network_mode"] == "host"
        settings = set(body["environment"].values())
        assert {key + "=127.0.0.1" for key in ADDRESSES_OF_SPARK} <= settings
        refused.remove("network_mode")

    assert refused & set(body) == set()
    assert "docker.sock" not in str(body)


def _is_not_waited_for(name: str, body: dict[str, Any]) -> bool:
    return " spark" in name or body.get("profiles") == ["ui"]


@pytest.mark.parametrize("name", ["grafana", "kafka-ui"])
def test_a_web_interface_has_its_password_in_a_file_and_does_not_run_as_root(name: str) -> None:
    service = document(COMPOSE / "services/ui.yaml")["services"][name]

    assert service["user"] == "${LAB_UI_USER:-472}:0"
    assert service["secrets"]
    secret = re.compile(r"password(?!__FILE)|secret", re.IGNORECASE)
    assert [key for key in service["environment"] if secret.search(key)] == []
    secrets = document(COMPOSE / "kraft-2x2/compose.yaml")["secrets"]
    assert secrets == {"password": {"file": "${LAB_MONITORING:-../../prometheus/by-hand}/password"}}


ADDRESSES_OF_SPARK = ("spark.connect.grpc.binding.address", "spark.driver.bindAddress", "spark.driver.host")


@pytest.mark.parametrize(
    "body",
    # `up --wait` waits for what has a health check; the first verification waits for Spark instead. What
    # is published only has no lab-healthy in it, and nothing waits for it.
    [body for name, body in SERVICES.items() if not _is_not_waited_for(name, body)],
    ids=[name for name, body in SERVICES.items() if not _is_not_waited_for(name, body)],
)
def test_a_service_says_when_it_is_healthy(body: dict[str, Any]) -> None:
    assert body["healthcheck"]["test"][:2] == ["CMD", "lab-healthy"]


IN_MEMORY = {"type": "tmpfs", "device": "tmpfs"}


@every_topology
def test_a_topology_has_a_labelled_network_and_no_name_of_its_own(name: str) -> None:
    compose = document(COMPOSE / name / "compose.yaml")

    assert compose["networks"] == {"default": {"labels": {"io.mirror-lab": "true"}}}
    for volume in compose.get("volumes", {}).values():
        assert volume["labels"] == {"io.mirror-lab": "true"}
        assert volume.get("driver_opts", IN_MEMORY) | {"o": ""} == IN_MEMORY | {"o": ""}, (
            "nothing of the host"
        )
        assert volume.keys() <= {"labels", "driver_opts"}
    known = {"services", "networks", "volumes", "secrets"}
    assert {key for key in compose if not key.startswith("x-")} <= known  # Compose ignores x-…


@every_topology
def test_what_a_cluster_holds_outlives_its_containers(name: str) -> None:
    """Compose makes a container anew where its port or another setting has changed."""
    compose = document(COMPOSE / name / "compose.yaml")

    for service, body in compose["services"].items():
        holds = resolved(body, COMPOSE / name).get("command", [""])[0] in ("broker", "zookeeper")
        if holds and "profiles" not in body:
            own = [volume.partition(":") for volume in body.get("volumes", [])]
            kept = [name for name, _, at in own if at == "/var/lib/kafka"]
            assert kept, service
            in_memory = "driver_opts" in compose["volumes"][kept[0]]
            assert in_memory == ((name, service) == ("resilience", "kafka-target-3")), "README names it"


@every_topology
def test_plain_compose_finds_the_versions_too(name: str) -> None:
    link = COMPOSE / name / ".env"

    assert link.is_symlink()
    assert link.readlink() == Path("../versions.env")
    assert link.resolve() == VERSIONS


@every_topology
def test_a_profiles_services_are_not_started_by_default(name: str) -> None:
    loaded = topology.load(name)
    written = document(COMPOSE / name / "compose.yaml")["services"]

    assert loaded.services.keys() | loaded.optional.keys() == written.keys()
    assert not any("profiles" in resolved(written[s], COMPOSE / name) for s in loaded.services)
    assert all("profiles" in resolved(written[s], COMPOSE / name) for s in loaded.optional)


@every_topology
def test_no_two_services_share_a_variable_or_a_default_port(name: str) -> None:
    loaded = topology.load(name)
    ports = [
        port for s in (loaded.services, loaded.optional) for service in s.values() for port in service.ports
    ]

    assert len({port.variable for port in ports}) == len(ports)
    assert len({port.default for port in ports}) == len(ports)


@every_topology
def test_connectors_are_readable_and_without_errors(name: str) -> None:
    chosen = topology.load(name)

    for path in chosen.connector_files().values():
        found = problems(read_connector(path), chosen)
        assert [problem for problem in found if problem.severity is Severity.ERROR] == []


def test_the_default_kafka_version_is_one_that_can_be_built() -> None:
    pinned = versions()

    assert pinned["KAFKA_VERSION"] in pinned["KAFKA_VERSIONS"].split()


@pytest.mark.parametrize("path", BUILD_FILES, ids=lambda path: str(path.relative_to(COMPOSE)))
def test_versions_stand_in_one_place(path: Path) -> None:
    text = path.read_text()
    pinned = {word for value in versions().values() for word in value.split()}

    repeated = {word for word in pinned if re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", text)}

    assert repeated == set()


def test_the_spark_client_is_as_old_as_its_server() -> None:
    lock = (ROOT / "requirements.lock").read_text()

    assert f"pyspark-client=={versions()['SPARK_VERSION']} " in lock


def test_the_lock_names_no_address_and_has_every_hash() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    requirements = re.findall(r"^[^\s#].*(?:\n    --hash.*)*", lock, re.MULTILINE)

    assert "://" not in lock
    assert re.search(r"^\s*(-i|--index-url|--extra-index-url|-f|--find-links)\b", lock, re.MULTILINE) is None
    assert len(requirements) > 20
    for requirement in requirements:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==[\w.!+]+ ", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement


DOCUMENTS = [path for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]) if path.stat().st_size]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_resolve(path: Path) -> None:
    links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", path.read_text())

    assert [link for link in links if not (path.parent / link).exists()] == []


def test_each_proxy_of_the_link_leads_to_the_broker_that_advertises_it() -> None:
    chosen = topology.load("resilience")
    proxies = json.loads((chosen.folder / "link.json").read_text())

    assert {p["name"]: p["listen"] for p in proxies} == {
        broker: f"0.0.0.0:{port.container}" for broker, port in chosen.proxies.items()
    }
    assert len(proxies) == 6
    assert all(p["enabled"] and p["upstream"] == f"{p['name']}:9095" for p in proxies)
