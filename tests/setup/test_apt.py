"""apt is used as little as possible, and its words reach the error."""

from pathlib import Path

import pytest

from lab.errors import HostNotReady
from lab.setup import apt
from lab.setup.command import Completed

from .conftest import Machine

KNOWN = Completed(0, "x:\n  Installed: (none)\n  Candidate: 20.10.24-1\n")
OK = Completed(0)


def updates(machine: Machine) -> int:
    return sum(command.endswith(" update") for command in machine.run.commands)


def test_a_candidate_is_the_version_that_apt_would_install(machine: Machine) -> None:
    machine.run.answers["policy docker.io"] = KNOWN
    machine.run.answers["policy virtual"] = Completed(0, "virtual:\n  Candidate: (none)\n")
    assert apt.candidate(machine.host, "docker.io") == "20.10.24-1"
    assert apt.candidate(machine.host, "virtual") is None
    assert apt.candidate(machine.host, "none-such") is None


def test_known_packages_are_installed_without_fetching_lists(machine: Machine) -> None:
    machine.run.answers |= {"policy": KNOWN, " install ": OK}
    apt.install(machine.host, ["debootstrap"])
    assert updates(machine) == 0
    assert machine.run.commands[-1].startswith("env DEBIAN_FRONTEND=noninteractive apt-get")


def test_lists_are_fetched_when_a_package_is_not_known(machine: Machine) -> None:
    machine.run.answers |= {" install ": OK, " update": OK}
    apt.install(machine.host, ["debootstrap"])
    assert updates(machine) == 1


def test_lists_are_fetched_once_when_they_lead_to_no_file(machine: Machine) -> None:
    machine.run.answers |= {"policy": KNOWN, " update": OK, " install ": Completed(100, stderr="E: 404")}
    with pytest.raises(HostNotReady) as caught:
        apt.install(machine.host, ["debootstrap"])
    assert updates(machine) == 1
    assert caught.value.message == "installing debootstrap failed (exit 100): E: 404"
    assert (caught.value.hint or "").startswith('look into it with "apt-get update"')


def test_a_package_of_another_suite_is_unpacked_and_not_installed(machine: Machine) -> None:
    machine.write("etc/apt/sources.list", "deb http://m/debian bookworm main\n")
    folder = machine.root / "tmp"
    folder.mkdir()
    machine.run.answers |= {" update": OK, " download ": OK, "dpkg-deb": OK}
    machine.run.effects[" download "] = lambda _: (folder / "cache/tool_2.0_amd64.deb").touch()
    tree = apt.unpack_from_suite(machine.host, "tool", "trixie", folder)
    assert tree == folder / "tree"
    assert (folder / "parts/sources.list").read_text() == "deb http://m/debian trixie main\n"
    assert not any(" install " in command for command in machine.run.commands)
    assert all("Dir::Etc::SourceList=/dev/null" in command for command in machine.run.commands[:2])
    assert machine.run.commands[-1].endswith(f"dpkg-deb -x {folder}/cache/tool_2.0_amd64.deb {tree}")


def test_a_host_without_debian_sources_is_told_so(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(HostNotReady) as caught:
        apt.unpack_from_suite(machine.host, "tool", "trixie", tmp_path / "tmp")
    assert caught.value.message.startswith('no source of Debian packages for "bookworm" in ')
    assert 'run "lab doctor --fix"' in (caught.value.hint or "")
