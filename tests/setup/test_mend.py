"""What is missing is mended in order, once; elsewhere the user is told what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.errors import HostNotReady
from lab.setup.command import Completed
from lab.setup.daemon import Daemon, Process
from lab.setup.engine_api import Reply
from lab.setup.host import Host
from lab.setup.mend import mend

from .conftest import PING, Machine

OK = Completed(0)
NO_HOST = Reply(500, '{"message": "no such host"}')
EVERYTHING = ["install the docker engine", "start the docker engine", "install the Compose plugin"]


class _Running:
    def poll(self) -> int | None:
        return None

    def terminate(self) -> None:
        raise AssertionError

    def kill(self) -> None:
        raise AssertionError


class Shown:
    """What the user saw: each step as it began and ended."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        self.lines.append(step)
        yield
        self.lines.append(f"{step}: done")


def bare_debian_13(machine: Machine) -> Daemon:
    """Only a client; apt has everything, and what it installs is there afterwards."""

    def install(command: list[str]) -> None:
        machine.programs.update({"dockerd", "iptables", "debootstrap"})
        if command[-1] == "docker-compose":
            machine.write("usr/libexec/docker/cli-plugins/docker-compose", "")

    def spawn(command: list[str], log: Path, host: Host) -> Process:
        machine.engine.answers = {"GET /_ping": PING, "GET /distribution": NO_HOST}
        return _Running()

    machine.write("etc/os-release", "ID=debian\nVERSION_CODENAME=trixie\n")
    machine.stop_engine()
    machine.forget_plugin()
    machine.programs.clear()
    machine.programs.add("docker")
    machine.run.answers |= {
        "policy docker-compose-plugin": OK,
        "policy": Completed(0, "  Candidate: 2.26.1-4\n"),
        " install ": OK,
    }
    machine.run.effects[" install "] = install
    root = machine.root
    return Daemon(log=root / "state/dockerd.log", run_folder=root / "run", spawn=spawn, start_s=0.2)


def test_a_bare_debian_gets_everything_in_order(machine: Machine) -> None:
    shown = Shown()
    assert mend(shown, host=machine.host, daemon=bare_debian_13(machine)) == EVERYTHING
    assert shown.lines == [line for step in EVERYTHING for line in (step, f"{step}: done")]
    installs = [command for command in machine.run.commands if " install " in command]
    assert installs[0].endswith("docker.io iptables iproute2 debootstrap docker-cli")


def test_the_second_mend_changes_nothing(machine: Machine) -> None:
    daemon = bare_debian_13(machine)
    mend(Shown(), host=machine.host, daemon=daemon)
    before = len(machine.run.commands)
    shown = Shown()
    assert mend(shown, host=machine.host, daemon=daemon) == []
    assert shown.lines == []
    assert not any("apt" in command for command in machine.run.commands[before:])


def test_an_engine_that_is_only_stopped_is_only_started(machine: Machine) -> None:
    daemon = bare_debian_13(machine)
    machine.programs.update({"dockerd", "iptables", "debootstrap"})
    machine.write("home/.docker/cli-plugins/docker-compose", "")
    assert mend(Shown(), host=machine.host, daemon=daemon) == ["start the docker engine"]
    assert not any("apt" in command for command in machine.run.commands)


def test_a_kernel_with_apparmor_gets_its_parser(machine: Machine) -> None:
    machine.write("sys/module/apparmor/parameters/enabled", "Y")
    mend(Shown(), host=machine.host, daemon=bare_debian_13(machine))
    assert any("apparmor" in command for command in machine.run.commands)


def test_debootstrap_alone_is_installed_where_no_registry_answers(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution": NO_HOST}
    machine.programs.discard("debootstrap")
    machine.run.answers |= {"policy": Completed(0, "  Candidate: 1\n"), " install ": OK}
    assert mend(Shown(), host=machine.host) == ["install debootstrap"]


def test_a_failed_mend_names_its_step_and_the_words_of_the_command(machine: Machine) -> None:
    daemon = bare_debian_13(machine)
    machine.run.answers |= {" install ": Completed(100, stderr="E: held packages"), " update": OK}
    machine.run.effects.clear()
    with pytest.raises(
        HostNotReady, match=r"installing docker\.io, .* failed \(exit 100\): E: held packages"
    ):
        mend(Shown(), host=machine.host, daemon=daemon)


@pytest.mark.parametrize(
    ("release", "uid", "system", "hint"),
    [
        ("ID=fedora\n", 0, "Linux", 'run "sudo dnf install moby-engine docker-compose'),
        ("ID=debian\n", 1000, "Linux", 'run "sudo env "PATH=$PATH" lab doctor --fix"'),
        ("", 501, "Darwin", "start Docker Desktop"),
    ],
)
def test_elsewhere_nothing_is_run_and_the_user_is_told(
    machine: Machine, release: str, uid: int, system: str, hint: str
) -> None:
    daemon = bare_debian_13(machine)
    machine.write("etc/os-release", release)
    host = machine.change(uid=uid, system=system)
    with pytest.raises(HostNotReady) as caught:
        mend(Shown(), host=host, daemon=daemon)
    assert (caught.value.hint or "").startswith(hint)
    assert machine.run.commands == []


def test_elsewhere_a_host_that_lacks_nothing_is_left_alone(machine: Machine) -> None:
    machine.write("etc/os-release", "ID=fedora\n")
    machine.engine.answers |= {"GET /distribution": Reply(200)}
    assert mend(Shown(), host=machine.host) == []


def test_an_engine_that_somebody_else_must_mend_is_not_touched(machine: Machine) -> None:
    daemon = bare_debian_13(machine)
    host = machine.change(env={"DOCKER_HOST": "tcp://far:2375"})
    with pytest.raises(HostNotReady, match="named by DOCKER_HOST"):
        mend(Shown(), host=host, daemon=daemon)
    assert machine.run.commands == []
