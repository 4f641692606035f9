"""`lab mm2 pause`, `resume`, `restart`, `stop` on workers that stand for some: all get their turn."""

import json
from types import SimpleNamespace

import pytest

from lab import topology
from lab.cli.program import exit_code
from lab.errors import LabError
from lab.harness import Lab
from lab.mm2_status import Status

Captured = pytest.CaptureFixture[str]


def status(name: str, state: str) -> Status:
    return Status(name=name, connector_class="MirrorSourceConnector", state=state, worker="w", tasks=())


class Workers:
    """Does what it is asked for at once, but for the connectors that never get there."""

    def __init__(self, *never: str, **states: str) -> None:
        self.states, self.never = states, never
        self.asked: list[str] = []

    def named(self, names: list[str] | None) -> list[str]:
        return names or sorted(self.states)

    def _become(self, doing: str, name: str, state: str) -> None:
        self.asked.append(f"{doing} {name}")
        if name not in self.never:
            self.states[name] = state

    def pause(self, name: str) -> None:
        self._become("pause", name, "PAUSED")

    def restart(self, name: str) -> None:
        self._become("restart", name, "RUNNING")

    def wait_until_state(self, name: str, state: str) -> Status:
        self.asked.append(f"wait {name}")
        if self.states[name] != state:
            raise LabError(f"{name} is not {state}", "see its log")
        return status(name, state)

    def wait_for(self, name: str) -> Status:
        return self.wait_until_state(name, "RUNNING")

    def statuses(self) -> list[Status]:
        return [status(name, state) for name, state in self.states.items()]


@pytest.fixture
def workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Workers:
    workers: Workers = request.param
    lab = SimpleNamespace(
        topology=topology.load("kraft-2x2"), connect=workers, connectors=workers, statuses=workers.statuses
    )
    monkeypatch.setattr(Lab, "attach", lambda _: lab)
    return workers


@pytest.mark.parametrize("workers", [Workers(a="RUNNING", b="RUNNING")], indirect=True)
def test_all_are_asked_before_any_is_waited_for(workers: Workers, capsys: Captured) -> None:
    assert exit_code(["mm2", "pause", "--json"]) == 0

    assert workers.asked == ["pause a", "pause b", "wait a", "wait b"]
    told = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["state"]) for one in told["connectors"]] == [("a", "PAUSED"), ("b", "PAUSED")]


@pytest.mark.parametrize("workers", [Workers("a", "b", a="RUNNING", b="RUNNING", c="RUNNING")], indirect=True)
def test_one_that_does_not_get_there_keeps_no_other_from_it(workers: Workers, capsys: Captured) -> None:
    assert exit_code(["mm2", "pause"]) == 1

    out, err = capsys.readouterr()
    assert workers.states["c"] == "PAUSED"
    assert "c     PAUSED" in out
    assert "note: b is not PAUSED" in err
    assert err.endswith("error: a is not PAUSED\nhint: see its log\n")


@pytest.mark.parametrize("workers", [Workers("a", a="RUNNING", b="RUNNING")], indirect=True)
def test_for_programs_what_was_done_and_the_error_are_one_object(workers: Workers, capsys: Captured) -> None:
    assert exit_code(["mm2", "pause", "--json"]) == 1

    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["connectors"]] == ["b"]
    assert (told["error"], told["hint"], told["exit_code"]) == ("a is not PAUSED", "see its log", 1)
    assert "pause a" in workers.asked


@pytest.mark.parametrize("workers", [Workers(a="RUNNING", b="PAUSED")], indirect=True)
def test_a_restart_of_one_that_rests_is_refused_before_any(workers: Workers, capsys: Captured) -> None:
    assert exit_code(["mm2", "restart", "a", "b"]) == 2

    assert capsys.readouterr().err == (
        'error: connector "b" is PAUSED, and a restart leaves it so\nhint: "lab mm2 resume b" lets it go on\n'
    )
    assert workers.asked == []


@pytest.mark.parametrize("workers", [Workers(a="RUNNING", b="STOPPED")], indirect=True)
def test_a_restart_of_all_leaves_those_that_rest(workers: Workers, capsys: Captured) -> None:
    assert exit_code(["mm2", "restart"]) == 0

    out, err = capsys.readouterr()
    assert workers.asked == ["restart a", "wait a"]
    assert "note: b is STOPPED and is left so" in err
    assert "STOPPED" in out
    assert "RUNNING" in out
