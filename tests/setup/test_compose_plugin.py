"""The plugin comes from the host's own suite, or is taken out of a newer suite's package."""

from pathlib import Path

import pytest

from lab.errors import HostNotReady
from lab.setup.command import Completed
from lab.setup.compose_plugin import PATH_IN_PACKAGE, install_compose_plugin, plugin_folder

from .conftest import Machine

OK = Completed(0)


def policy(version: str) -> Completed:
    return Completed(0, f"docker-compose:\n  Candidate: {version}\n")


def bare(machine: Machine, version: str) -> None:
    """No plugin yet; apt knows docker-compose in that version and has it in Debian 13."""

    def download(command: list[str]) -> None:
        folder = Path(next(w for w in command if w.startswith("--chdir=")).removeprefix("--chdir="))
        (folder / "docker-compose_2.26.1-4_amd64.deb").touch()

    def unpack(command: list[str]) -> None:
        plugin = Path(command[-1]) / PATH_IN_PACKAGE
        plugin.parent.mkdir(parents=True)
        plugin.write_text("plugin")

    machine.forget_plugin()
    machine.write("etc/apt/sources.list", "deb http://m/debian bookworm main\n")
    words = ("apt-get", "dpkg-deb")
    machine.run.answers |= {"policy docker-compose": policy(version)} | dict.fromkeys(words, OK)
    machine.run.answers["policy docker-compose-plugin"] = OK
    machine.run.answers = {"policy docker-compose-plugin": OK} | machine.run.answers
    machine.run.effects |= {" download ": download, "dpkg-deb": unpack}


def test_debian_12_takes_the_plugin_out_of_debian_13s_package(machine: Machine) -> None:
    bare(machine, "1.29.2-3")  # Debian 12's package of that name is Compose v1
    install_compose_plugin(machine.host)
    plugin = machine.root / "home/.docker/cli-plugins/docker-compose"
    assert plugin.read_text() == "plugin"
    assert plugin.stat().st_mode & 0o777 == 0o755
    assert not any(" install " in command for command in machine.run.commands)


def test_debian_13_installs_its_own_package(machine: Machine) -> None:
    bare(machine, "2.26.1-4")
    machine.run.effects[" install "] = lambda _: None
    machine.write("usr/libexec/docker/cli-plugins/docker-compose", "")
    install_compose_plugin(machine.host)
    assert any(command.endswith("--no-install-recommends docker-compose") for command in machine.run.commands)
    assert not any("dpkg-deb" in command for command in machine.run.commands)


def test_a_plugin_that_does_not_run_is_no_success(machine: Machine) -> None:
    bare(machine, "1.29.2-3")
    machine.run.answers["docker-cli-plugin-metadata"] = Completed(126)
    with pytest.raises(HostNotReady, match="installed and does not run") as caught:
        install_compose_plugin(machine.host)
    assert caught.value.hint == 'see what it says: run "docker compose version"'


def test_under_sudo_the_plugin_is_for_every_user(machine: Machine) -> None:
    assert plugin_folder(machine.host) == machine.root / "home/.docker/cli-plugins"
    machine.change(env={"SUDO_USER": "ada"})
    assert plugin_folder(machine.host) == machine.root / "usr/local/lib/docker/cli-plugins"
