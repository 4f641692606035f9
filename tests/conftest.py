"""Every test has a state folder of its own, and neither an engine nor a docker that would do anything.

The `docker` that tests find first on PATH writes its arguments down and fails. A test that leaves such
a line behind fails: what is tested here ends before the engine is asked. (`tests/test_engine.py` puts a
scripted one before it.)
"""

import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.interruption import heed_ctrl_c

_CHOSEN_BY_USERS = (
    "LAB_NAME LAB_KAFKA_VERSION LAB_REGISTRY LAB_SPARK_REMOTE DOCKER_CONTEXT NO_COLOR FORCE_COLOR"
)


def pytest_configure() -> None:
    heed_ctrl_c()


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lab's state folder; it does not exist until something writes to it."""
    home = tmp_path_factory.mktemp("home")
    for variable in _CHOSEN_BY_USERS.split():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LAB_STATE", str(home / "state"))
    monkeypatch.setenv("LAB_RUNS", str(home / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "xdg"))
    monkeypatch.setenv("DOCKER_CONFIG", str(home / "docker"))
    return home / "state"


@pytest.fixture(autouse=True)
def docker_calls(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file where every call of `docker` leaves a line: no call, no file."""
    folder = tmp_path_factory.mktemp("no-docker")
    calls = folder / "calls"
    fake = folder / "docker"
    fake.write_text(
        f'#!/bin/sh\necho "$@" >>{shlex.quote(str(calls))}\necho "no docker in tests" >&2\nexit 1\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/no.sock")
    monkeypatch.setenv("LAB_ENGINE_AUTOSTART", "0")
    yield calls
    assert not calls.exists(), f"docker was called: {calls.read_text()}"


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """The command line takes them over; pytest gets them back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
