"""Ctrl-C and SIGTERM leave nothing behind, at whatever moment they come.

Claim: 30 seconds after an interruption of `up`, `down` or a lesson no container, network or volume of
the lab is left, and after a SIGKILL `lab down` removes what is. Moments are random; the seed is shown
and can be given: `--kills 25 --seed 7`.
"""

import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from lab.wait import SERVICES_HEALTHY_S, NotYet, wait_until
from scenarios.commands import COMMAND, lab_command, objects_of
from scenarios.xdist_workers import LABS_GO_S

pytestmark = pytest.mark.topology("basic-mirror")

CLEAN_S = 30.0
LONGEST_S = {"up": 12.0, "down": 2.0, "lesson": 40.0, "worker": 40.0}
LESSON = "scenarios/lessons/test_basic_mirror.py"
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", LESSON]


@pytest.fixture(scope="module")
def name(own: Callable[[str], str]) -> str:
    return own("interrupted")


@pytest.fixture(autouse=True)
def nothing_is_left(name: str) -> Iterator[None]:
    yield
    lab_command("down", "--name", name)


@pytest.fixture
def suffix(request: pytest.FixtureRequest) -> str:
    """Of the labs of a pytest that is to be interrupted."""
    return f"{request.config.getoption('--suffix')}-killed"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "moment" in metafunc.fixturenames:
        dice = random.Random(metafunc.config.getoption("--seed"))  # noqa: S311 - moments, not secrets
        kinds = ["up", "up", "down", "lesson", "worker"]
        moments = []
        for number in range(metafunc.config.getoption("--kills")):
            kind = kinds[number % len(kinds)]
            how = dice.choice([signal.SIGINT, signal.SIGTERM])
            moments.append((kind, how, round(dice.uniform(0.1, LONGEST_S[kind]), 2)))
        ids = [f"{kind}-{how.name}-after-{after_s}s" for kind, how, after_s in moments]
        metafunc.parametrize("moment", moments, ids=ids)


def _command(kind: str, name: str, suffix: str) -> tuple[list[str], str]:
    """What to interrupt, and the name of the lab that it makes or removes."""
    if kind in ("lesson", "worker"):  # of which only the process that started it is told
        return [*PYTEST, f"--suffix={suffix}"] + ["-n1"] * (kind == "worker"), f"test-basic-mirror{suffix}"
    if kind == "down":  # goes on to its end, however it is asked to stop
        assert lab_command("up", "basic-mirror", "--name", name).code == 0
        return [*COMMAND, "down", "--name", name], name
    return [*COMMAND, "up", "basic-mirror", "--name", name], name


def _interrupt(command: list[str], how: signal.Signals, after_s: float) -> int:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            process.communicate(timeout=after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(how)
        process.communicate(timeout=LABS_GO_S)
        return process.returncode


def test_an_interruption_leaves_nothing(
    moment: tuple[str, signal.Signals, float], name: str, suffix: str
) -> None:
    kind, how, after_s = moment
    command, made = _command(kind, name, suffix)
    code = _interrupt(command, how, after_s)
    if kind == "up" and code == 0:
        return  # it was up before the signal came: nothing was interrupted, and the lab is meant to stay
    wait_until(
        lambda: True if not (left := objects_of(made)) else NotYet(f"{len(left)} objects"),
        timeout_s=CLEAN_S,
        what=f"nothing left of lab {made!r} after {how.name} in {kind}",
    )
    before_it_began = -how.value  # Python was still starting, and nothing of ours had run
    expected = {"up": {130}, "down": {0}, "lesson": {0, 2}, "worker": {0, 2}}[kind] | {before_it_began}
    assert code in expected, f"exit code {code}"


def test_scenarios_start_without_what_a_killed_run_left(
    own: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    left = f"test-left{request.config.getoption('--suffix')}"
    assert lab_command("up", "spark-only", "--name", left).code == 0
    assert objects_of(left)
    assert (own("left"), objects_of(left)) == (left, [])


@pytest.mark.parametrize("after_s", [0.0, 2.0])
def test_what_a_sigkill_leaves_down_removes(after_s: float, name: str) -> None:
    """`after_s` the first of it is there."""
    up = [*COMMAND, "up", "basic-mirror", "--name", name]
    with subprocess.Popen(
        up, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        wait_until(
            lambda: bool(objects_of(name)) or NotYet("nothing"),
            timeout_s=SERVICES_HEALTHY_S,
            what="something of the lab",
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=after_s)
        process.kill()
    assert objects_of(name), "nothing was there to remove"
    assert lab_command("down", "--name", name).code == 0
    assert objects_of(name) == []
