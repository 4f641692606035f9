"""A lab converges: up, up again, half of it gone and up, failing and gone, down and down again.

Claim: `up` changes nothing on a running lab, mends a damaged one, leaves nothing but its evidence when
it fails, and `down` removes a lab in any state, twice without an error.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import engine
from lab.harness import PROJECT_PREFIX
from lab.project import runs_folder
from scenarios.commands import lab_command, objects_of

pytestmark = pytest.mark.topology("basic-mirror")

NAME = "converges"
NO_HEAP = "LAB_SPARK_OPTS=-Xmx6m"  # its JVM starts, and ends long before any broker is healthy
NO_JVM = "LAB_CONNECT_HEAP=-Xmx1k"  # no JVM starts with it, and Compose waits for the worker's health
TOO_SHORT_S = "1"  # no broker is healthy by then, and no machine need be fast for it


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    lab_command("down", "--name", NAME)


def _ids() -> list[str]:
    return [box.id for box in engine.containers(PROJECT_PREFIX + NAME)]


def _newest_run() -> Path:
    return max(runs_folder().glob(f"*-up-{NAME}*"), key=lambda path: path.stat().st_mtime_ns)


def test_up_starts_every_service_and_names_its_addresses() -> None:
    done = lab_command("up", "basic-mirror", "--name", NAME, "--json")
    assert done.code == 0, done.err
    assert {e["service"] for e in done.json["endpoints"]} >= {"broker", "broker2", "connect", "spark"}
    assert len(_ids()) == 6


def test_a_second_up_changes_no_container() -> None:
    before = _ids()
    assert lab_command("up", "basic-mirror", "--name", NAME).code == 0
    assert _ids() == before


def test_up_mends_a_lab_that_lost_containers() -> None:
    boxes = {box.service: box.id for box in engine.containers(PROJECT_PREFIX + NAME)}
    engine.docker("kill", boxes["broker2"])
    engine.docker("rm", "--force", boxes["connect"])
    assert lab_command("up", "basic-mirror", "--name", NAME).code == 0
    assert all(box.ready for box in engine.containers(PROJECT_PREFIX + NAME))
    status = lab_command("status", "--name", NAME, "--json")
    assert status.code == 0, status.err
    assert {row["service"] for row in status.json["services"] if row["state"] == "running"} == set(boxes)


def test_another_kafka_version_needs_another_lab() -> None:
    before = _ids()
    done = lab_command("up", "basic-mirror", "--name", NAME, "--kafka", "3.6.2")
    assert (done.code, _ids()) == (2, before)
    assert f'lab "{NAME}" is there already' in done.err


def test_every_port_is_on_loopback_and_no_container_is_privileged() -> None:
    boxes = engine.inspect(_ids())
    bindings = [b for box in boxes for ports in box["HostConfig"]["PortBindings"].values() for b in ports]
    assert len(bindings) == 6
    assert {binding["HostIp"] for binding in bindings} == {"127.0.0.1"}
    assert not [box["Name"] for box in boxes if box["HostConfig"]["Privileged"]]
    mounts = [mount["Source"] for box in boxes for mount in box["Mounts"]]
    assert not [source for source in mounts if source.endswith("docker.sock")]


def test_down_removes_everything_and_twice_is_fine() -> None:
    assert objects_of(NAME)
    assert lab_command("down", "--name", NAME).code == 0
    assert objects_of(NAME) == []
    assert lab_command("down", "--name", NAME).code == 0


def test_a_failing_up_leaves_its_evidence_and_nothing_else() -> None:
    """Spark has no health check: Compose may see it end, or ask it a moment before it does."""
    done = lab_command("up", "basic-mirror", "--name", NAME, "--set", NO_HEAP)
    assert done.code == 1, done.out
    what, hint = done.err.splitlines()[-2:]
    assert what.startswith(f'error: lab "{NAME}" did not come up: ')
    assert "spark" in what
    run = _newest_run()
    assert hint == f"hint: evidence is in {run}; nothing is left of it"
    assert "java.lang.OutOfMemoryError" in (run / "logs" / "spark.log").read_text()
    saved = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert {"run.json", "steps.jsonl", "containers.json", "compose.yaml", "logs/broker.log"} <= saved
    assert json.loads((run / "run.json").read_text())["outcome"].startswith("failed: ")
    assert objects_of(NAME) == []


def test_what_compose_said_of_a_failing_up_is_evidence_too() -> None:
    done = lab_command("up", "kraft-2x2", "--name", NAME, "--set", NO_JVM)
    assert done.code == 1, done.out
    assert "docker up failed: " in done.err
    assert "Waiting" in (_newest_run() / "engine.log").read_text()
    assert objects_of(NAME) == []


def test_an_up_that_takes_too_long_ends_in_its_time() -> None:
    done = lab_command("up", "basic-mirror", "--name", NAME, "--timeout", TOO_SHORT_S)
    assert done.code == 1, done.out
    assert f"docker up failed: not done within {TOO_SHORT_S} s" in done.err
    assert objects_of(NAME) == []


def test_keep_leaves_a_failed_lab_for_a_look() -> None:
    done = lab_command("up", "basic-mirror", "--name", NAME, "--set", NO_HEAP, "--keep")
    assert done.code == 1, done.out
    assert "spark" in done.err
    assert objects_of(NAME)
    assert f"lab status --name {NAME}" in done.err
    assert lab_command("down", "--name", NAME).code == 0
    assert objects_of(NAME) == []
