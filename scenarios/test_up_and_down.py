"""A lab converges: up, up again, half of it gone and up, failing and gone, down and down again.

Claim: `up` changes nothing on a running lab, mends a damaged one, brings back one that a power cut ended,
keeps all records where it makes brokers anew, and leaves nothing but its evidence when it fails; `down`
removes a lab in any state, twice without an error.
"""

import json
import re
import socket
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from lab import engine
from lab.harness import PROJECT_PREFIX, Lab
from lab.project import runs_folder
from lab.wait import RECORDS_ARRIVE_S
from scenarios.commands import lab_command, objects_of

pytestmark = pytest.mark.topology("basic-mirror")

TOPIC, COUNT = "to_replicate", 100
NO_HEAP = "LAB_SPARK_OPTS=-Xmx6m"  # its JVM starts, and ends long before any broker is healthy
NO_JVM = "LAB_CONNECT_HEAP=-Xmx1k"  # no JVM starts with it, and Compose waits for the worker's health
TOO_SHORT_S = "1"  # no broker is healthy by then, and no machine need be fast for it


@pytest.fixture(scope="module")
def name(own: Callable[[str], str]) -> str:
    return own("converges")


def _ids(name: str) -> list[str]:
    return [box.id for box in engine.containers(PROJECT_PREFIX + name)]


def _newest_run(name: str) -> Path:
    return max(runs_folder().glob(f"*-up-{name}*"), key=lambda path: path.stat().st_mtime_ns)


def test_up_starts_every_service_and_names_its_addresses(name: str) -> None:
    done = lab_command("up", "basic-mirror", "--name", name, "--json")
    assert done.code == 0, done.err
    assert {e["service"] for e in done.json["endpoints"]} >= {"broker", "broker2", "connect", "spark"}
    assert len(_ids(name)) == 6


def test_a_second_up_changes_no_container(name: str) -> None:
    before = _ids(name)
    assert lab_command("up", "basic-mirror", "--name", name).code == 0
    assert _ids(name) == before


def test_up_mends_a_lab_that_lost_containers(name: str) -> None:
    boxes = {box.service: box.id for box in engine.containers(PROJECT_PREFIX + name)}
    engine.docker("kill", boxes["broker2"])
    engine.docker("rm", "--force", boxes["connect"])
    assert lab_command("up", "basic-mirror", "--name", name).code == 0
    assert all(box.ready for box in engine.containers(PROJECT_PREFIX + name))
    status = lab_command("status", "--name", name, "--json")
    assert status.code == 0, status.err
    assert {row["service"] for row in status.json["services"] if row["state"] == "running"} == set(boxes)


def test_up_brings_back_what_a_power_cut_ended(name: str) -> None:
    """With its records. ZooKeeper remembers the sessions of brokers that were killed with it."""
    produce = ("produce", TOPIC, "--name", name, "--records", str(COUNT))
    assert lab_command(*produce).code == 0
    with closing(Lab.attach(name)) as lab:
        assert lab.deploy(lab.connector("test_mirror")).running
        lab.target.wait_for_records(f"source.{TOPIC}", at_least=COUNT, timeout_s=RECORDS_ARRIVE_S)
        for service in ("zookeeper", "zookeeper2", "broker", "broker2", "connect", "spark"):
            lab.project.kill(service)
    before = _ids(name)
    done = lab_command("up", "basic-mirror", "--name", name)
    assert (done.code, _ids(name)) == (0, before), done.err
    assert lab_command(*produce).code == 0
    with closing(Lab.attach(name)) as lab:
        assert sum(offsets.count for offsets in lab.source.offsets(TOPIC).values()) == 2 * COUNT
        lab.target.wait_for_records(f"source.{TOPIC}", at_least=2 * COUNT, timeout_s=RECORDS_ARRIVE_S)


def test_up_with_other_ports_makes_brokers_anew_and_keeps_what_they_hold(name: str) -> None:
    before = {box.service: box.id for box in engine.containers(PROJECT_PREFIX + name)}
    moved = ("zookeeper", "broker", "broker2", "connect")
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in moved]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        ports = [f"{service}={p.getsockname()[1]}" for service, p in zip(moved, probes, strict=True)]
    options = [part for port in ports for part in ("--port", port)]
    done = lab_command("up", "basic-mirror", "--name", name, *options)
    assert done.code == 0, done.err
    after = {box.service: box.id for box in engine.containers(PROJECT_PREFIX + name)}
    assert {service for service in before if before[service] != after[service]} == set(moved)
    assert lab_command("produce", TOPIC, "--name", name, "--records", str(COUNT)).code == 0
    with closing(Lab.attach(name)) as lab:
        assert f"broker={lab.source.bootstrap.rpartition(':')[2]}" in ports
        assert sum(offsets.count for offsets in lab.source.offsets(TOPIC).values()) == 3 * COUNT
        lab.target.wait_for_records(f"source.{TOPIC}", at_least=3 * COUNT, timeout_s=RECORDS_ARRIVE_S)


def test_another_kafka_version_needs_another_lab(name: str) -> None:
    before = _ids(name)
    done = lab_command("up", "basic-mirror", "--name", name, "--kafka", "3.6.2")
    assert (done.code, _ids(name)) == (2, before)
    assert f'lab "{name}" is there already' in done.err


def test_every_port_is_on_loopback_and_no_container_is_privileged(name: str) -> None:
    boxes = engine.inspect(_ids(name))
    bindings = [b for box in boxes for ports in box["HostConfig"]["PortBindings"].values() for b in ports]
    assert len(bindings) == 6
    assert {binding["HostIp"] for binding in bindings} == {"127.0.0.1"}
    assert not [box["Name"] for box in boxes if box["HostConfig"]["Privileged"]]
    mounts = [mount["Source"] for box in boxes for mount in box["Mounts"]]
    assert not [source for source in mounts if source.endswith("docker.sock")]


def test_down_removes_everything_and_twice_is_fine(name: str) -> None:
    assert objects_of(name)
    assert lab_command("down", "--name", name).code == 0
    assert objects_of(name) == []
    assert lab_command("down", "--name", name).code == 0


def test_a_failing_up_leaves_its_evidence_and_nothing_else(name: str) -> None:
    """Spark has no health check: Compose may see it end, or ask it a moment before it does."""
    done = lab_command("up", "basic-mirror", "--name", name, "--set", NO_HEAP)
    assert done.code == 1, done.out
    what, hint = done.err.splitlines()[-2:]
    assert what.startswith(f'error: lab "{name}" did not come up: ')
    assert "spark" in what
    run = _newest_run(name)
    assert hint == f"hint: evidence is in {run}; nothing is left of it"
    assert "java.lang.OutOfMemoryError" in (run / "logs" / "spark.log").read_text()
    saved = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert {"run.json", "steps.jsonl", "containers.json", "compose.yaml", "logs/broker.log"} <= saved
    assert json.loads((run / "run.json").read_text())["outcome"].startswith("failed: ")
    assert objects_of(name) == []


def test_what_compose_said_of_a_failing_up_is_evidence_too(name: str) -> None:
    done = lab_command("up", "kraft-2x2", "--name", name, "--set", NO_JVM)
    assert done.code == 1, done.out
    assert re.search(r"kafka-connect-[01](-1)? (ended|exited)", done.err)
    assert "Started" in (_newest_run(name) / "engine.log").read_text()
    assert objects_of(name) == []


def test_an_up_that_takes_too_long_ends_in_its_time(name: str) -> None:
    done = lab_command("up", "basic-mirror", "--name", name, "--timeout", TOO_SHORT_S)
    assert done.code == 1, done.out
    assert f"docker up failed: not done within {TOO_SHORT_S} s" in done.err
    assert objects_of(name) == []


def test_keep_leaves_a_failed_lab_for_a_look(name: str) -> None:
    done = lab_command("up", "basic-mirror", "--name", name, "--set", NO_HEAP, "--keep")
    assert done.code == 1, done.out
    assert "spark" in done.err
    assert objects_of(name)
    assert f"lab status --name {name}" in done.err
    assert lab_command("down", "--name", name).code == 0
    assert objects_of(name) == []
