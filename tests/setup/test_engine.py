"""Each way not to reach an engine has its own words and its own way out."""

import json

import pytest

from lab.setup.command import Completed
from lab.setup.engine import check_engine, engine_problem
from lab.setup.engine_api import Reply
from lab.setup.finding import Status
from lab.setup.reach import Reach, reach_engine

from .conftest import Machine

UBUNTU = "ID=ubuntu\n"


def wrong(machine: Machine) -> tuple[str, str]:
    problem = engine_problem(machine.host, reach_engine(machine.host))
    assert problem is not None
    error = problem.error()
    assert error.exit_code == 4
    return error.message, error.hint or ""


def test_an_engine_that_answers_is_ok_with_its_version(machine: Machine) -> None:
    finding = check_engine(machine.host, reach_engine(machine.host))
    assert finding.status is Status.OK
    assert finding.found == "engine 20.10.24, API 1.41 (unix:///var/run/docker.sock)"
    assert finding.remedy is None


def test_an_engine_that_answers_is_reached_without_starting_a_process(machine: Machine) -> None:
    assert reach_engine(machine.host).reach is Reach.ANSWERS
    assert machine.run.commands == []


def test_a_missing_client_is_told_from_a_missing_engine(machine: Machine) -> None:
    machine.programs.discard("docker")
    assert wrong(machine) == ("docker client is not installed", 'run "lab doctor --fix"')


def test_a_client_alone_is_no_engine(machine: Machine) -> None:
    machine.stop_engine()
    machine.programs.discard("dockerd")
    fact = "docker engine is not installed (a client alone runs nothing)"
    assert wrong(machine) == (fact, 'run "lab doctor --fix"')


def test_a_stopped_engine_is_started_by_the_doctor_where_no_init_system_is(machine: Machine) -> None:
    machine.stop_engine()
    fact = 'docker engine is not running on "/var/run/docker.sock"'
    assert wrong(machine) == (fact, 'run "lab doctor --fix"')


def test_a_stopped_engine_is_started_by_systemd_where_systemd_is(machine: Machine) -> None:
    machine.stop_engine()
    machine.write("run/systemd/system/x", "")
    assert wrong(machine)[1] == 'run "systemctl start docker"'
    machine.change(uid=1000)
    assert wrong(machine)[1] == 'run "sudo systemctl start docker"'


def test_a_stopped_engine_on_a_mac_is_docker_desktop(machine: Machine) -> None:
    machine.stop_engine()
    machine.programs.discard("dockerd")
    machine.change(system="Darwin")
    assert wrong(machine)[1] == 'start Docker Desktop (or run "colima start")'


def test_no_permission_is_told_from_not_running(machine: Machine) -> None:
    machine.engine.answers = {"GET /_ping": PermissionError(13, "Permission denied")}
    assert wrong(machine) == (
        'no permission on the socket of the docker engine, "/var/run/docker.sock"',
        'run "sudo usermod -aG docker $USER" and log in again, or use sudo',
    )


def test_an_engine_that_hangs_is_told_from_a_stopped_one(machine: Machine) -> None:
    machine.engine.answers = {"GET /_ping": TimeoutError("timed out")}
    message, hint = wrong(machine)
    assert message == (
        'docker engine takes connections on "/var/run/docker.sock" and does not answer: no answer in 5 s'
    )
    assert "then start it again" in hint


def test_an_unreachable_docker_host_is_named(machine: Machine) -> None:
    machine.change(env={"DOCKER_HOST": "tcp://10.0.0.9:2375"})
    machine.engine.answers = {"GET /_ping": ConnectionRefusedError(111, "Connection refused")}
    assert wrong(machine) == (
        'docker engine named by DOCKER_HOST, "tcp://10.0.0.9:2375", does not answer: connection refused',
        'start the engine there, or "unset DOCKER_HOST" to use the one of this host',
    )


def test_a_docker_context_is_resolved_by_the_client(machine: Machine) -> None:
    machine.write("home/.docker/config.json", json.dumps({"currentContext": "colima"}))
    machine.run.answers["context inspect colima"] = Completed(0, "unix:///home/u/.colima/docker.sock\n")
    reached = reach_engine(machine.host)
    assert reached.reach is Reach.ANSWERS
    assert reached.endpoint.socket_path == "/home/u/.colima/docker.sock"


def test_a_dead_docker_context_says_how_to_leave_it(machine: Machine) -> None:
    machine.change(env={"DOCKER_CONTEXT": "far"})
    machine.run.answers["context inspect far"] = Completed(0, "ssh://far\n")
    machine.run.answers["docker version"] = Completed(1, stderr="ssh: no route to host")
    message, hint = wrong(machine)
    assert message == (
        'docker engine named by docker context "far", "ssh://far", does not answer: ssh: no route to host'
    )
    assert 'run "docker context use default"' in hint


def test_an_engine_behind_tls_is_left_to_the_client(machine: Machine) -> None:
    machine.change(env={"DOCKER_HOST": "tcp://far:2376", "DOCKER_TLS_VERIFY": "1"})
    machine.run.answers["docker version"] = Completed(0, "1.47 27.3.1\n")
    reached = reach_engine(machine.host)
    assert (reached.reach, reached.detail) == (Reach.ANSWERS, "engine 27.3.1, API 1.47")
    assert machine.engine.asked == []


def test_an_engine_older_than_20_10_is_refused(machine: Machine) -> None:
    machine.engine.answers = {"GET /_ping": Reply(200, "OK", "1.40", "Docker/19.03.8 (linux)")}
    assert wrong(machine)[0] == (
        "docker engine 19.03.8, API 1.40, is older than the lab can use (20.10, API 1.41)"
    )


@pytest.mark.parametrize(
    ("release", "uid", "hint"),
    [
        ("ID=debian\n", 1000, 'run "sudo env "PATH=$PATH" lab doctor --fix"'),
        (UBUNTU, 0, 'run "sudo apt-get install docker.io docker-compose-v2"'),
        (
            "ID=nixos\n",
            0,
            "install Docker Engine 20.10 or later with its Compose plugin: docs.docker.com/engine/install",
        ),
    ],
)
def test_a_missing_engine_is_mended_as_the_host_does_it(
    machine: Machine, release: str, uid: int, hint: str
) -> None:
    machine.write("etc/os-release", release)
    machine.change(uid=uid)
    machine.stop_engine()
    machine.programs.discard("dockerd")
    assert wrong(machine)[1] == hint


def test_a_missing_engine_is_a_finding_with_a_bare_command(machine: Machine) -> None:
    machine.stop_engine()
    machine.programs.discard("dockerd")
    finding = check_engine(machine.host, reach_engine(machine.host))
    assert (finding.status, finding.remedy) == (Status.MISSING, "lab doctor --fix")
