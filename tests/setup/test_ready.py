"""The hot path: two facts asked for, a stopped engine started where nobody else does it."""

from pathlib import Path

import pytest

from lab.errors import HostNotReady
from lab.setup.daemon import Daemon, Process
from lab.setup.host import Host
from lab.setup.ready import require_engine

from .conftest import PING, Machine


class _Running:
    def poll(self) -> int | None:
        return None

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


def startable(machine: Machine) -> Daemon:
    def spawn(command: list[str], log: Path, host: Host) -> Process:
        machine.engine.answers = {"GET /_ping": PING}
        return _Running()

    machine.stop_engine()
    return Daemon(log=machine.root / "log", run_folder=machine.root / "run", spawn=spawn, start_s=0.2)


def test_a_good_host_costs_one_ping_and_one_process(machine: Machine) -> None:
    require_engine(host=machine.host)
    assert machine.engine.asked == ["GET /_ping"]
    assert len(machine.run.commands) == 1


def test_a_stopped_engine_is_started_on_debian_as_root_without_systemd(machine: Machine) -> None:
    require_engine(host=machine.host, daemon=startable(machine))


@pytest.mark.parametrize("reason", ["forbidden", "not root", "not Debian", "systemd", "not installed"])
def test_a_stopped_engine_is_not_started_otherwise(machine: Machine, reason: str) -> None:
    daemon = startable(machine)
    match reason:
        case "forbidden":
            machine.change(env={"LAB_ENGINE_AUTOSTART": "0"})
        case "not root":
            machine.change(uid=1000)
        case "not Debian":
            machine.write("etc/os-release", "ID=alpine\n")
        case "systemd":
            machine.write("run/systemd/system/x", "")
        case _:
            machine.programs.discard("dockerd")
    with pytest.raises(HostNotReady, match="docker engine is not"):
        require_engine(host=machine.host, daemon=daemon)
    assert "GET /_ping" in machine.engine.asked
    assert not (machine.root / "home/.local").exists()


def test_a_missing_compose_plugin_is_an_error_of_exit_code_4(machine: Machine) -> None:
    machine.forget_plugin()
    with pytest.raises(HostNotReady, match="docker has no Compose plugin") as caught:
        require_engine(host=machine.host)
    assert (caught.value.exit_code, caught.value.hint) == (4, 'run "lab doctor --fix"')
