"""What watches a lab is told about just the containers that run, and its password is nobody else's."""

import json
import os
import stat
from pathlib import Path

import pytest

from lab import monitoring, topology
from lab.errors import HostNotReady
from lab.monitoring import PROMETHEUS, UI, folder, mark_step, password_file, targets, write

KRAFT = "kraft-2x2"


def addresses(name: str) -> dict[str, list[str]]:
    return {job: [t["targets"][0] for t in found] for job, found in targets(topology.load(name)).items()}


def test_the_jobs_are_the_tutorials() -> None:
    assert addresses(KRAFT) == {
        "kafka-source-exporter": ["kafka-source-0:9404", "kafka-source-1:9404"],
        "kafka-target-exporter": ["kafka-target-0:9404", "kafka-target-1:9404"],
        "kafka-connect-exporter": ["kafka-connect-0:9404", "kafka-connect-1:9404"],
    }


def test_a_target_is_labelled_with_its_cluster_and_service() -> None:
    found = targets(topology.load(KRAFT))

    labels = [target["labels"] for job in found.values() for target in job]
    assert {"cluster": "source-0", "service": "kafka-source-1"} in labels
    assert {"cluster": "target-0", "service": "kafka-connect-0"} in labels


def test_what_has_no_agent_is_not_scraped() -> None:
    assert not any(addresses("basic-mirror").values())


@pytest.mark.parametrize("name", topology.names())
def test_a_topology_with_prometheus_has_all_its_agents_scraped(name: str) -> None:
    loaded = topology.load(name)
    agents = {s.name for s in loaded.services.values() if "LAB_JMX_EXPORTER_PORT" in s.environment}

    if PROMETHEUS in loaded.services:
        assert agents
        assert {a.partition(":")[0] for found in addresses(name).values() for a in found} == agents


def test_kafka_ui_gets_both_clusters_and_the_workers_where_they_belong() -> None:
    source, target = monitoring.kafka_ui(topology.load(KRAFT))["kafka"]["clusters"]

    assert source == {
        "name": "source-0",
        "bootstrapServers": "kafka-source-0:9092,kafka-source-1:9092",
        "metrics": {"type": "PROMETHEUS", "port": 9404},
    }
    assert target["name"] == "target-0"
    assert target["kafkaConnect"] == [
        {"name": "kafka-connect-0", "address": "http://kafka-connect-0:8083"},
        {"name": "kafka-connect-1", "address": "http://kafka-connect-1:8083"},
    ]


def test_the_password_is_made_once_and_readable_by_one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[tuple[Path, int]] = []
    monkeypatch.setattr(os, "chown", lambda path, uid, _: owners.append((path, uid)))
    loaded = topology.load(KRAFT)
    write("a", loaded)
    first = password_file("a").read_text()
    write("a", loaded)
    write("b", loaded)

    assert stat.S_IMODE(password_file("a").stat().st_mode) == 0o600
    assert password_file("a").read_text() == first
    assert password_file("b").read_text() != first
    assert len(first) >= 20
    reader = int(monitoring.settings("a")["LAB_UI_USER"])
    assert reader != 0
    assert all(uid == reader for _, uid in owners)


def test_containers_can_read_the_rest() -> None:
    write("a", topology.load(KRAFT))

    for path in [*folder("a").rglob("*.json"), folder("a") / "kafka-ui.yml"]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert json.loads(path.read_text())
    assert monitoring.settings("a")["LAB_MONITORING"] == str(folder("a"))


def test_a_topology_without_prometheus_gets_no_files() -> None:
    write("a", topology.load("basic-mirror"))
    mark_step("a", "lag", "test_it")

    assert not folder("a").exists()


def test_a_step_is_a_target_while_it_lasts() -> None:
    write("a", topology.load(KRAFT))
    file = folder("a") / "targets/mirror-lab-step.json"

    mark_step("a", "lag", "test_it")
    labels = {"scenario": "lag", "step": "test_it"}
    assert json.loads(file.read_text()) == [{"targets": ["localhost:9090"], "labels": labels}]
    mark_step("a", "lag", None)
    assert json.loads(file.read_text()) == []


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """What a registry gives, and what this host has."""
    there: dict[str, set[str]] = {"registry": set(), "host": set()}
    monkeypatch.setattr(monitoring, "registry_answers", lambda image: image in there["registry"])
    monkeypatch.setattr(monitoring, "docker", lambda *args: "id\n" if args[-1] in there["host"] else "")
    monkeypatch.setattr(monitoring, "versions", lambda: {"GRAFANA_VERSION": "1", "KAFKA_UI_VERSION": "2"})
    return there


def test_the_ui_is_left_out_where_an_image_is_missing(registry: dict[str, set[str]]) -> None:
    loaded = topology.load(KRAFT)
    assert monitoring.without_ui(loaded) == (
        "left out, since no image registry gives grafana/grafana:1 and kafbat/kafka-ui:2"
    )

    registry["registry"] = {"grafana/grafana:1"}
    assert monitoring.without_ui(loaded) == "left out, since no image registry gives kafbat/kafka-ui:2"

    registry["host"] = {"kafbat/kafka-ui:2"}
    assert monitoring.without_ui(loaded) == ""


def test_a_registry_prefix_names_what_this_host_has(
    registry: dict[str, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_REGISTRY", "registry.example/")
    registry["host"] = {"registry.example/grafana/grafana:1", "registry.example/kafbat/kafka-ui:2"}

    assert monitoring.without_ui(topology.load(KRAFT)) == ""


def test_asked_for_by_name_the_ui_is_not_left_out(registry: dict[str, set[str]]) -> None:
    chosen = topology.load(KRAFT).with_profile(UI)
    with pytest.raises(HostNotReady) as caught:
        monitoring.require_ui(chosen)
    assert caught.value.message == "no image registry gives grafana/grafana:1 and kafbat/kafka-ui:2"
    assert caught.value.hint == (
        'leave "--profile ui" out, or name a registry that has them with LAB_REGISTRY'
    )

    registry["registry"] = {"grafana/grafana:1", "kafbat/kafka-ui:2"}
    monitoring.require_ui(chosen)


def test_a_topology_without_the_profile_asks_nobody() -> None:
    assert monitoring.without_ui(topology.load("basic-mirror")) == ""
