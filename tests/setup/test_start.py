"""A stopped engine is started once, whatever a killed one left behind."""

import dataclasses
import os
from pathlib import Path

import pytest

from lab.errors import HostNotReady
from lab.setup.command import Completed
from lab.setup.daemon import Daemon, Process, spawn_detached
from lab.setup.host import Host
from lab.setup.start import start_engine

from .conftest import PING, Machine


@dataclasses.dataclass
class FakeProcess:
    code: int | None = None
    ended: bool = False

    def poll(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.ended, self.code = True, -15

    def kill(self) -> None:
        self.code = -9


@dataclasses.dataclass
class Starter:
    """Pretends to start dockerd: each start takes the next outcome, "up" or what it logs as it dies."""

    machine: Machine
    outcomes: list[str]
    starts: int = 0
    stale_seen: list[bool] = dataclasses.field(default_factory=list)

    def __call__(self, command: list[str], log: Path, host: Host) -> Process:
        outcome = self.outcomes[self.starts]
        self.starts += 1
        self.stale_seen.append((self.machine.root / "run/docker.pid").exists())
        if outcome == "up":
            self.machine.engine.answers = {"GET /_ping": PING}
            return FakeProcess()
        with log.open("a") as file:
            file.write(f'level=info msg="chatter"\n{outcome}\n')
        return FakeProcess(code=1)


def daemon_of(machine: Machine, *outcomes: str) -> tuple[Daemon, Starter]:
    starter = Starter(machine, list(outcomes))
    root = machine.root
    log, run = root / "state/dockerd.log", root / "run"
    return Daemon(log=log, run_folder=run, proc=root / "proc", spawn=starter, start_s=0.2), starter


def process(machine: Machine, pid: int, name: str, state: str = "S") -> None:
    machine.write(f"proc/{pid}/stat", f"{pid} ({name}) {state} 1 1 0")


def test_a_stopped_engine_is_started_and_awaited(machine: Machine) -> None:
    machine.stop_engine()
    daemon, starter = daemon_of(machine, "up")
    start_engine(machine.host, daemon)
    assert starter.starts == 1


def test_an_engine_that_answers_is_not_started(machine: Machine) -> None:
    daemon, starter = daemon_of(machine)
    start_engine(machine.host, daemon)
    assert starter.starts == 0


@pytest.mark.parametrize(
    ("name", "state"), [(None, ""), ("dockerd", "Z"), ("bash", "S")], ids=["gone", "zombie", "pid reused"]
)
def test_a_stale_pid_file_is_removed_before_the_start(machine: Machine, name: str | None, state: str) -> None:
    machine.stop_engine()
    machine.write("run/docker.pid", "77")
    machine.write("run/docker/containerd/containerd.pid", "77")
    if name:
        process(machine, 77, name, state)
    daemon, starter = daemon_of(machine, "up")
    start_engine(machine.host, daemon)
    assert starter.stale_seen == [False]
    assert not daemon.containerd_pid_file.exists()


def test_an_engine_on_its_way_up_is_awaited_and_not_started_twice(machine: Machine) -> None:
    machine.stop_engine()
    machine.write("run/docker.pid", "77")
    process(machine, 77, "dockerd")
    daemon, starter = daemon_of(machine)
    with pytest.raises(
        HostNotReady, match=r"not reached in 0\.2 s: docker engine answers; last seen: stopped"
    ):
        start_engine(machine.host, daemon)
    assert starter.starts == 0
    assert daemon.pid_file.exists()


def test_an_engine_that_dies_at_its_start_is_told_with_its_complaint(machine: Machine) -> None:
    machine.stop_engine()
    daemon, _ = daemon_of(machine, "failed to start daemon: no iptables")
    with pytest.raises(HostNotReady) as caught:
        start_engine(machine.host, daemon)
    assert caught.value.message == "dockerd ended at its start: failed to start daemon: no iptables"
    assert caught.value.hint == f'look into "{daemon.log}"'


def test_an_engine_that_never_answers_is_not_left_behind(machine: Machine) -> None:
    machine.stop_engine()
    hanging = FakeProcess()
    daemon = dataclasses.replace(daemon_of(machine)[0], spawn=lambda *_: hanging)
    with pytest.raises(HostNotReady, match="dockerd says: no complaint"):
        start_engine(machine.host, daemon)
    assert hanging.ended


def test_a_containerd_that_blocks_the_start_is_killed_and_the_start_tried_again(machine: Machine) -> None:
    machine.stop_engine()
    machine.write("run/docker/containerd/containerd.pid", "88")
    process(machine, 88, "containerd")
    machine.run.answers["kill -KILL 88"] = Completed(0)
    machine.run.effects["kill -KILL 88"] = lambda _: process(machine, 88, "containerd", "Z")
    daemon, starter = daemon_of(machine, "timeout waiting for containerd", "up")
    start_engine(machine.host, daemon)
    assert starter.starts == 2


def test_without_such_a_containerd_the_start_is_tried_once(machine: Machine) -> None:
    machine.stop_engine()
    daemon, starter = daemon_of(machine, "broken", "up")
    with pytest.raises(HostNotReady):
        start_engine(machine.host, daemon)
    assert starter.starts == 1
    assert machine.run.commands == []


def test_systemd_starts_the_engine_where_it_runs(machine: Machine) -> None:
    def started(_: list[str]) -> None:
        machine.engine.answers = {"GET /_ping": PING}

    machine.stop_engine()
    machine.write("run/systemd/system/x", "")
    machine.run.answers["systemctl start docker"] = Completed(0)
    machine.run.effects["systemctl start docker"] = started
    daemon, starter = daemon_of(machine)
    start_engine(machine.host, daemon)
    assert starter.starts == 0


def test_a_failing_systemctl_is_told_with_its_words(machine: Machine) -> None:
    machine.stop_engine()
    machine.write("run/systemd/system/x", "")
    machine.run.answers["systemctl"] = Completed(5, stderr="Unit docker.service not found.")
    with pytest.raises(HostNotReady, match="starting the docker engine failed") as caught:
        start_engine(machine.host, daemon_of(machine)[0])
    assert caught.value.hint == 'run "journalctl -u docker -n 30"'


def test_a_detached_process_has_a_session_of_its_own_and_a_log(machine: Machine) -> None:
    log = machine.root / "log"
    child = spawn_detached(["sh", "-c", "ps -o sid= -p $$ 2>/dev/null || echo none"], log, machine.host)
    while child.poll() is None:
        pass
    assert log.read_text().strip() != str(os.getsid(0))
