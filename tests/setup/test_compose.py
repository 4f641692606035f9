"""The Compose plugin is found as a file and asked for its version without the docker client."""

import pytest

from lab.setup.command import Completed
from lab.setup.compose import check_compose, compose_problem, compose_version, new_enough
from lab.setup.finding import Status

from .conftest import Machine


def test_a_plugin_in_the_users_folder_is_ok(machine: Machine) -> None:
    finding = check_compose(machine.host)
    assert (finding.status, finding.found, finding.remedy) == (Status.OK, "plugin v2.26.1", None)
    assert not any(command.startswith("docker ") for command in machine.run.commands)


@pytest.mark.parametrize("folder", ["usr/libexec/docker/cli-plugins", "usr/local/lib/docker/cli-plugins"])
def test_a_plugin_in_a_folder_of_the_system_is_ok(machine: Machine, folder: str) -> None:
    machine.forget_plugin()
    machine.write(f"{folder}/docker-compose", "")
    assert check_compose(machine.host).status is Status.OK


def test_a_plugin_in_a_folder_that_only_the_client_knows_is_ok(machine: Machine) -> None:
    machine.forget_plugin()
    machine.run.answers["docker compose version"] = Completed(0, "2.39.1\n")
    assert check_compose(machine.host).found == "plugin 2.39.1"


def test_a_missing_plugin_is_missing_with_the_command_that_mends_it(machine: Machine) -> None:
    machine.forget_plugin()
    finding = check_compose(machine.host)
    assert (finding.status, finding.remedy) == (Status.MISSING, "lab doctor --fix")
    problem = compose_problem(machine.host, compose_version(machine.host))
    assert problem is not None
    assert problem.error().message == 'docker has no Compose plugin ("docker compose" is no command)'
    assert problem.error().hint == 'run "lab doctor --fix"'


def test_a_plugin_that_does_not_run_is_missing(machine: Machine) -> None:
    machine.run.answers["docker-cli-plugin-metadata"] = Completed(126, stderr="exec format error")
    assert check_compose(machine.host).status is Status.MISSING


def test_a_plugin_older_than_2_20_is_too_old(machine: Machine) -> None:
    problem = compose_problem(machine.host, "2.19.1")
    assert problem is not None
    assert problem.error().message == 'docker Compose plugin "2.19.1" is older than 2.20'


@pytest.mark.parametrize(
    ("version", "good"),
    [("v2.26.1", True), ("2.20.0", True), ("5.0", True), ("dev", True), ("1.29.2-3", False), ("", False)],
)
def test_versions_are_compared_as_numbers(version: str, good: bool) -> None:
    assert new_enough(version) is good
