"""A run keeps its evidence: every step has a line, also the one that failed."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab import run as run_module
from lab.project import runs_folder, versions
from lab.run import Run


class Noting:
    """A watcher that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def started(self, step: str) -> None:
        self.told.append(("started", step))

    def said(self, step: str, text: str) -> None:
        self.told.append(("said", step, text))

    def ended(self, step: str, seconds: float, *, failed: bool, note: str) -> None:
        self.told.append(("ended", step, failed, note))


def lines(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.path / "steps.jsonl").read_text().splitlines()]


def facts(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.path / "run.json").read_text())
    return found


def test_a_run_says_from_its_start_what_it_is_and_at_its_end_how_it_went() -> None:
    run = Run.open("up-demo", topology="basic-mirror")

    opened = facts(run)
    assert (opened["what"], opened["topology"]) == ("up-demo", "basic-mirror")
    assert opened["versions"] == versions()
    assert set(opened) == {"what", "started", "argv", "commit", "versions", "host", "topology"}
    assert set(opened["host"]) == {"system", "cores", "python"}

    run.close("up", ports={"BROKER_PORT": 9092})

    closed = facts(run)
    assert (closed["outcome"], closed["ports"]) == ("up", {"BROKER_PORT": 9092})
    assert closed["seconds"] >= 0
    assert {key: closed[key] for key in opened} == opened


def test_another_file_of_a_name_overwrites_none() -> None:
    run = Run.open("verify-orders")

    saved = [run.save_another("verdict.json", {"number": number}) for number in range(11)]

    assert [path.name for path in saved[:3]] == ["verdict.json", "verdict-2.json", "verdict-3.json"]
    assert [json.loads(path.read_text())["number"] for path in saved] == list(range(11))


def test_a_step_leaves_a_line_and_is_watched() -> None:
    watcher = Noting()
    run = Run.open("up-demo", watcher)

    with run.step("start 6 services") as step:
        step.say("4 of 6 ready")
        step.note = "Kafka 3.9.1"

    (line,) = lines(run)
    assert (line["step"], line["outcome"], line["note"]) == ("start 6 services", "ok", "Kafka 3.9.1")
    assert set(line) == {"step", "at_s", "seconds", "outcome", "note"}
    assert watcher.told == [
        ("started", "start 6 services"),
        ("said", "start 6 services", "4 of 6 ready"),
        ("ended", "start 6 services", False, "Kafka 3.9.1"),
    ]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ValueError("broken"), "ValueError: broken"), (KeyboardInterrupt(), "KeyboardInterrupt: ")],
    ids=["failed", "interrupted"],
)
def test_a_step_that_fails_leaves_its_line_too(error: BaseException, outcome: str) -> None:
    watcher = Noting()
    run = Run.open("up-demo", watcher)

    with run.step("first"):
        pass
    with pytest.raises(type(error)), run.step("second"):
        raise error

    assert [(line["step"], line["outcome"]) for line in lines(run)] == [("first", "ok"), ("second", outcome)]
    assert watcher.told[-1] == ("ended", "second", True, "")


def test_two_runs_in_one_second_get_folders_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: object = None) -> "Stopped":
            return cls(2026, 2, 3, 4, 5, 6, tzinfo=UTC)

    monkeypatch.setattr(run_module, "datetime", Stopped)

    runs = [Run.open("up-demo") for _ in range(3)]

    assert [run.path.relative_to(runs_folder()) for run in runs] == [
        Path("20260203T040506Z-up-demo"),
        Path("20260203T040506Z-up-demo-2"),
        Path("20260203T040506Z-up-demo-3"),
    ]


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ("text\n", b"text\n"),
        (b"\x00\xff", b"\x00\xff"),
        ({"a": 1}, b'{\n  "a": 1\n}\n'),
        (["a"], b'[\n  "a"\n]\n'),
    ],
    ids=["text", "bytes", "mapping", "list"],
)
def test_what_is_saved_is_on_disk(content: str | bytes | dict[str, Any] | list[Any], written: bytes) -> None:
    run = Run.open("up-demo")

    path = run.save("logs/broker.log", content)

    assert path == run.path / "logs/broker.log"
    assert path.read_bytes() == written


def test_a_lab_outside_git_has_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_module, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert facts(Run.open("up-demo"))["commit"] == "unknown"


def test_a_host_without_git_has_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert facts(Run.open("up-demo"))["commit"] == "unknown"


def test_a_run_that_was_refused_leaves_nothing() -> None:
    run = Run.open("fault-kill")

    run.forget()

    assert not run.path.exists()


def test_a_checkout_that_git_takes_long_for_has_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 5)

    monkeypatch.setattr(subprocess, "run", slow)

    assert facts(Run.open("up-demo"))["commit"] == "unknown"
