"""A host that is not ready is exit code 4 and two lines: what is missing, and what to do."""

import errno
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import setup
from lab.cli import program as cli
from lab.setup import Finding, Status
from lab.setup.host import Host

Captured = pytest.CaptureFixture[str]
NEEDING_AN_ENGINE = [
    ["up", "basic-mirror"],
    ["down", "--name", "some"],
    ["prune"],
    ["images"],
    ["images", "save", "images.tar"],
    ["images", "load", "images.tar"],
]
every_command = pytest.mark.parametrize("argv", NEEDING_AN_ENGINE, ids=" ".join)


@every_command
def test_an_engine_that_is_stopped_is_said(capsys: Captured, state: Path, argv: list[str]) -> None:
    socket_url = Host().env["DOCKER_HOST"]

    assert cli.exit_code(argv) == 4
    assert capsys.readouterr() == (
        "",
        f'error: docker engine named by DOCKER_HOST, "{socket_url}", does not answer: '
        "no such file or directory\n"
        'hint: start the engine there, or "unset DOCKER_HOST" to use the one of this host\n',
    )
    assert not state.exists()


@every_command
def test_a_socket_without_permission_is_said(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, state: Path, argv: list[str]
) -> None:
    def connect(_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("lab.setup.engine_api._UnixConnection.connect", connect)
    path = Host().env["DOCKER_HOST"].removeprefix("unix://")

    assert cli.exit_code(argv) == 4
    assert capsys.readouterr() == (
        "",
        f'error: no permission on the socket of the docker engine, "{path}"\n'
        'hint: run "sudo usermod -aG docker $USER" and log in again, or use sudo\n',
    )
    assert not state.exists()


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Something else listens on the engine's socket and hangs up on everybody."""
    path = str(tmp_path / "stranger.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield path
        thread.join(10)


def test_a_stranger_on_the_socket_is_no_traceback(capsys: Captured, stranger: str) -> None:
    assert cli.exit_code(["prune"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        f'error: docker engine named by DOCKER_HOST, "unix://{stranger}", does not answer: '
    )
    assert len(err.splitlines()) == 2


READY = Finding(name="memory", status=Status.OK, found="8 GiB", needed="4 GiB")
LACKING = Finding(name="engine", status=Status.MISSING, found="none", needed="one", remedy="install it")


def test_doctor_is_content_when_nothing_is_missing(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "examine", lambda _: [READY])

    assert cli.exit_code(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert "✓" in out
    assert err == "next: lab up basic-mirror starts a lab\n"


def test_doctor_names_what_is_missing_and_its_remedy(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "examine", lambda _: [READY, LACKING])

    assert cli.exit_code(["doctor"]) == 4
    out, err = capsys.readouterr()
    assert "✗" in out
    assert err == "error: this machine lacks: engine\nhint: install it\n"


def test_doctor_leaves_the_labs_own_ports_out(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    wanted: list[setup.Wanted] = []
    lease = state / "labs/a/lab.env"
    lease.parent.mkdir(parents=True)
    lease.write_text("LAB_TOPOLOGY=kraft-2x2\nKAFKA_SOURCE_0_PORT=19092\n")

    def examine(asked: setup.Wanted) -> list[Finding]:
        wanted.append(asked)
        return [READY]

    monkeypatch.setattr(setup, "examine", examine)

    assert cli.exit_code(["doctor", "--json"]) == 0
    assert 19092 not in wanted[0].ports
    assert 19093 in wanted[0].ports
