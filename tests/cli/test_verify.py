"""`lab verify` on a lab that stands for one: which flow is judged, and that its run always ends."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.cli import console
from lab.cli.program import exit_code
from lab.errors import BadInput, HostNotReady, LabError, NotEnough
from lab.harness import Lab
from lab.mm2 import SOURCE, Connector
from lab.project import runs_folder
from lab.verify.verdict import Outcome
from lab.verify.verification import Judged

Captured = pytest.CaptureFixture[str]
JUDGED = Judged(
    outcome=Outcome.PASS,
    source="a",
    target="b",
    verdicts=[],
    frozen_at="",
    partitions=[],
    notes=["left out: x"],
)


class FakeLab(SimpleNamespace):
    """Two clusters and a connector between them; `verify` ends as it is told to."""

    def __init__(self, verify: Callable[[], Judged]) -> None:
        source = SimpleNamespace(alias="a", has_topic=lambda topic: topic == "orders")
        self.clusters = {"a": source, "b": SimpleNamespace(alias="b")}
        self.asked: dict[str, Any] = {}
        super().__init__(
            name="a-lab",
            topology=SimpleNamespace(name="basic-mirror"),
            flows=SimpleNamespace(
                mirroring=lambda *_, **__: Connector(name="m", config={"connector.class": SOURCE})
            ),
            ends=lambda _: tuple(self.clusters.values()),
        )
        self._verify = verify

    def cluster(self, alias: str) -> Any:
        if alias not in self.clusters:
            raise BadInput(f'no cluster "{alias}"', "known: a, b")
        return self.clusters[alias]

    def verify(self, topic: str, **asked: Any) -> Judged:
        self.asked = asked
        return self._verify()


def judged_by(monkeypatch: pytest.MonkeyPatch, verify: Callable[[], Judged] = lambda: JUDGED) -> FakeLab:
    lab = FakeLab(verify)
    monkeypatch.setattr(Lab, "attach", lambda _: lab)
    return lab


def test_the_table_says_which_flow_it_is_of(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    lab = judged_by(monkeypatch)

    assert exit_code(["verify", "orders", "--target", "b"]) == 0
    out = capsys.readouterr().out

    assert "What MM2 did with orders, a → b" in out
    assert "\nleft out: x\n" in out
    assert (lab.asked["source"], lab.asked["target"]) == ("a", "b")


def test_the_object_says_it_too(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    judged_by(monkeypatch)

    assert exit_code(["verify", "orders", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert (told["source"], told["target"], told["notes"]) == ("a", "b", ["left out: x"])


@pytest.mark.parametrize("option", ["--cluster", "--target"])
def test_a_cluster_that_is_not_there_is_told_before_connect_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, option: str
) -> None:
    judged_by(monkeypatch).flows = None

    assert exit_code(["verify", "orders", option, "nope"]) == 2
    assert capsys.readouterr().err.startswith('error: no cluster "nope"\n')
    assert not runs_folder().exists()


def test_a_check_that_is_not_there_leaves_no_run(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    judged_by(monkeypatch)

    assert exit_code(["verify", "orders", "--checks", "los"]) == 2
    assert capsys.readouterr().err.startswith('error: no check named "los"\n')
    assert not runs_folder().exists()


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (RuntimeError("a bug"), 'failed: verifying "orders" failed: RuntimeError: a bug'),
    ],
)
def test_whatever_ends_a_verification_its_run_ends(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, outcome: str
) -> None:
    def verify() -> Judged:
        raise error

    judged_by(monkeypatch, verify)
    assert exit_code(["verify", "orders"]) in (3, 130)

    (run,) = runs_folder().iterdir()
    assert json.loads((run / "run.json").read_text())["outcome"] == outcome


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("a bug"), 3),
        (LabError("Spark is gone"), 3),
        (NotEnough("too little"), 3),
        (BadInput("no connector"), 2),
        (HostNotReady("no memory"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_1_is_the_exit_code_of_fail_and_of_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, error: BaseException, code: int, as_json: bool
) -> None:
    """Wherever it fails: while the lab is asked for the flow, while it is judged, or while that is shown."""
    failing = replace(JUDGED, outcome=Outcome.FAIL)
    judged_by(monkeypatch, lambda: failing)
    command = ["verify", "orders", *(["--json"] if as_json else [])]
    assert exit_code(command) == 1
    capsys.readouterr()

    def fails(*_: object, **__: object) -> Any:
        raise error

    lab = judged_by(monkeypatch, fails)
    assert exit_code(command) == code
    out, err = capsys.readouterr()
    if as_json:
        assert json.loads(out).keys() == {"error", "hint", "exit_code"}
        assert json.loads(out)["exit_code"] == code
    else:
        assert "\nerror: " in err
    lab.flows.mirroring = fails
    assert exit_code(command) == code
    judged_by(monkeypatch, lambda: failing)
    monkeypatch.setattr(console, "show", fails)
    assert exit_code(command) == code


def test_the_object_names_the_verdicts_file(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    saved = replace(JUDGED, saved=Path("/runs/a/verdict-2.json"))
    judged_by(monkeypatch, lambda: saved)

    assert exit_code(["verify", "orders", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "/runs/a/verdict-2.json"
    assert exit_code(["verify", "orders"]) == 0
    assert "PASS; with plots in /runs/a/verdict-2.html\n" in capsys.readouterr().out
