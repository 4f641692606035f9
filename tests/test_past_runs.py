"""Runs on disk: newest first, found by name or beginning, and read even when they are broken."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab import past_runs
from lab.errors import BadInput
from lab.project import runs_folder
from lab.run import Run


def folder(name: str, facts: object = None) -> Path:
    path = runs_folder() / name
    path.mkdir(parents=True)
    if facts is not None:
        (path / "run.json").write_text(facts if isinstance(facts, str) else json.dumps(facts))
    return path


def test_no_folder_is_no_runs() -> None:
    assert past_runs.all_runs() == []


def test_a_run_is_read_as_it_was_written() -> None:
    run = Run.open("verify-orders")
    with run.step("scan") as step:
        step.note = "2 partitions"
    run.save("logs/connect.log", "words")
    run.save("verdict.json", {})
    run.close("PASS")

    (found,) = past_runs.all_runs()
    assert (found.what, found.outcome) == ("verify-orders", "PASS")
    assert found.started is not None
    assert abs((datetime.now(UTC) - found.started).total_seconds()) < 60
    assert found.seconds is not None
    assert [(s.name, s.outcome, s.note) for s in found.steps] == [("scan", "ok", "2 partitions")]
    assert list(found.files) == ["logs/connect.log", "run.json", "steps.jsonl", "verdict.json"]
    assert found.files["logs/connect.log"] == 5
    assert found.verdicts == [run.path / "verdict.json"]


def test_verdicts_come_in_the_order_in_which_they_were_saved() -> None:
    path = folder("20260102T030405Z-verify-orders")
    for name in ("verdict-orders", "verdict-10", "verdict-2", "verdict"):
        (path / f"{name}.json").write_text("{}")

    names = [verdict.stem for verdict in past_runs.all_runs()[0].verdicts]
    assert names == ["verdict", "verdict-2", "verdict-10", "verdict-orders"]


def test_the_newest_comes_first_by_its_start_not_by_its_name() -> None:
    folder("20260102T000000Z-a", {"started": "2026-01-02T00:00:00.100+00:00"})
    folder("20260102T000000Z-b", {"started": "2026-01-02T00:00:00.050+00:00"})
    folder("20260103T000000Z-killed")
    folder("notes")

    assert [run.name for run in past_runs.all_runs()] == [
        "20260103T000000Z-killed",
        "20260102T000000Z-a",
        "20260102T000000Z-b",
        "notes",
    ]


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (None, "no readable run.json"),
        ('{"what": "up-a", "outc', "no readable run.json"),
        ("[]", "no readable run.json"),
        ({}, "not ended"),
        ({"outcome": 3, "what": ["x"], "started": "soon", "seconds": "long"}, "not ended"),
    ],
)
def test_a_broken_run_is_shown_by_its_folder(facts: Any, outcome: str) -> None:
    folder("20260102T030405Z-up-a", facts)

    (found,) = past_runs.all_runs()
    assert (found.what, found.outcome, found.seconds) == ("up-a", outcome, None)
    assert found.started == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_files_beside_the_runs_are_none() -> None:
    folder("20260102T030405Z-up-a")
    (runs_folder() / "README").write_text("x")

    assert len(past_runs.all_runs()) == 1


def test_a_torn_step_is_passed_over() -> None:
    path = folder("20260102T030405Z-up-a")
    (path / "steps.jsonl").write_text('{"step": "one", "seconds": 1}\n[]\n{"seconds": 2}\n{"step": "tw')

    assert [(step.name, step.seconds) for step in past_runs.all_runs()[0].steps] == [("one", 1.0)]


def test_a_run_is_found() -> None:
    for name in ("20260102T000000Z-up-a", "20260102T000000Z-up-a-2", "20260103T000000Z-verify-orders"):
        folder(name)

    for wanted in (
        "last",
        "20260103",
        "20260103T000000Z-verify-orders",
        "runs/20260103T000000Z-verify-orders/",
    ):
        assert past_runs.find(wanted).name == "20260103T000000Z-verify-orders"
    # A whole name is that run, though another begins with it.
    assert past_runs.find("20260102T000000Z-up-a").name == "20260102T000000Z-up-a"


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        (
            "20260102",
            '2 runs begin with "20260102"',
            "give more of the name: 20260102T000000Z-up-a-2, 20260102T000000Z-up-a",
        ),
        (
            "20260103T000000Z-verify-order_",
            'no run named "20260103T000000Z-verify-order_"',
            'did you mean "20260103T000000Z-verify-orders"?',
        ),
        ("xyz", 'no run named "xyz"', '"lab runs" shows all'),
        ("../..", 'no run named ".."', '"lab runs" shows all'),
    ],
)
def test_what_is_no_run_is_bad_input(wanted: str, message: str, hint: str) -> None:
    for name in ("20260102T000000Z-up-a", "20260102T000000Z-up-a-2", "20260103T000000Z-verify-orders"):
        folder(name)

    with pytest.raises(BadInput) as refused:
        past_runs.find(wanted)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_without_runs_there_is_no_last_one() -> None:
    with pytest.raises(BadInput, match=r'^no run named "last"$'):
        past_runs.find("last")
