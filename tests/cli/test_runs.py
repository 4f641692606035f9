"""`lab runs` and `lab report`: what is left of earlier runs, and a verification's page."""

import json
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from lab.cli import program as cli
from lab.project import runs_folder
from tests.verify.report.inputs import full

Captured = pytest.CaptureFixture[str]


def folder(name: str, *, verdict: Any = None, **facts: Any) -> Path:
    path = runs_folder() / name
    path.mkdir(parents=True)
    if facts:
        (path / "run.json").write_text(json.dumps(facts))
    if verdict is not None:
        (path / "verdict.json").write_text(json.dumps(verdict))
    return path


def test_without_runs_there_are_none(capsys: Captured) -> None:
    assert cli.exit_code(["runs"]) == 0
    assert capsys.readouterr() == ("Runs: none yet\n", "")
    assert cli.exit_code(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"runs": [], "left_off": 0}


def test_runs_are_a_table_with_the_newest_on_top(capsys: Captured) -> None:
    folder("20260101T000000Z-up-a", what="up-a", outcome="failed: first [line]\nsecond", seconds=1234.56)
    folder("20260102T000000Z-up-b", what="up-b")
    folder("20260103T000000Z-up-c")

    assert cli.exit_code(["runs"]) == 0
    out, err = capsys.readouterr()
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines == [
        "Runs",
        "when what outcome seconds folder",
        "2026-01-03 00:00:00 UTC up-c no readable run.json 20260103T000000Z-up-c",
        "2026-01-02 00:00:00 UTC up-b not ended 20260102T000000Z-up-b",
        "2026-01-01 00:00:00 UTC up-a failed: first [line] 1,234.6 20260101T000000Z-up-a",
    ]
    assert err == "next: lab report last shows what the newest one saved\n"


def test_limit_says_how_many_are_left_off(capsys: Captured) -> None:
    for day in range(10, 15):
        folder(f"202601{day}T000000Z-up")

    assert cli.exit_code(["runs", "--limit", "2"]) == 0
    assert "3 older ones; --limit shows more\n" in capsys.readouterr().out
    assert cli.exit_code(["runs", "--limit", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in told["runs"]] == ["20260114T000000Z-up", "20260113T000000Z-up"]
    assert told["left_off"] == 3
    assert cli.exit_code(["runs", "--limit", "0"]) == 2


def test_report_writes_the_page_and_prints_its_path(capsys: Captured) -> None:
    path = folder("20260101T000000Z-verify-orders", verdict=full())

    assert cli.exit_code(["report", "last"]) == 0
    assert capsys.readouterr() == (f"{path / 'verdict.html'}\n", "")
    assert "FAIL" in (path / "verdict.html").read_text()


def test_report_writes_a_page_for_every_verdict(capsys: Captured) -> None:
    path = folder("20260101T000000Z-scenario-x", verdict=full())
    (path / "verdict-2.json").write_text(json.dumps(full(topic="payments")))

    assert cli.exit_code(["report", "last", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pages"] == [str(path / "verdict.html"), str(path / "verdict-2.html")]
    assert "payments" in (path / "verdict-2.html").read_text()


def test_open_opens_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = folder("20260101T000000Z-verify-orders", verdict=full())

    assert cli.exit_code(["report", "2026", "--open"]) == 0
    assert opened == [(path / "verdict.html").as_uri()]


def test_report_of_another_run_shows_steps_and_files(capsys: Captured) -> None:
    path = folder("20260101T000000Z-up-a", what="up-a", outcome="up", seconds=12.5)
    (path / "steps.jsonl").write_text(
        '{"step": "start 6 services", "seconds": 11.94, "outcome": "ok", "note": "Kafka 3.9.1"}\n'
    )

    assert cli.exit_code(["report", "last"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "up-a: up after 12.5 s"
    assert lines[1] == str(path)
    assert "start 6 services 11.9 ok Kafka 3.9.1" in lines
    assert f"run.json {(path / 'run.json').stat().st_size}" in lines


def test_report_of_an_empty_folder_says_that_nothing_is_there(capsys: Captured) -> None:
    folder("20260101T000000Z-up-a")

    assert cli.exit_code(["report", "last"]) == 0
    out = capsys.readouterr().out
    assert "up-a: no readable run.json\n" in out
    assert "Steps: none ended\n" in out
    assert "Files: none\n" in out


def test_report_as_json(capsys: Captured) -> None:
    path = folder("20260101T000000Z-up-a", what="up-a", outcome="up", seconds=12.5)

    assert cli.exit_code(["report", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "20260101T000000Z-up-a",
        "what": "up-a",
        "started": "2026-01-01T00:00:00+00:00",
        "outcome": "up",
        "seconds": 12.5,
        "folder": str(path),
        "pages": [],
        "steps": [],
        "files": {"run.json": (path / "run.json").stat().st_size},
    }


def test_a_run_that_does_not_exist_is_bad_input(capsys: Captured) -> None:
    folder("20260101T000000Z-up-a")

    assert cli.exit_code(["report", "20260101T000000Z-up-b"]) == 2
    assert capsys.readouterr().err == (
        'error: no run named "20260101T000000Z-up-b"\nhint: did you mean "20260101T000000Z-up-a"?\n'
    )


def test_a_torn_verdict_is_bad_input_and_leaves_no_page(capsys: Captured) -> None:
    path = folder("20260101T000000Z-verify-orders")
    (path / "verdict.json").write_text('{"topic": "orders", ')

    assert cli.exit_code(["report", "last"]) == 2
    err = capsys.readouterr().err
    assert err.startswith('error: "verdict.json" is not JSON: ')
    assert err.endswith('hint: verify the topic again with "lab verify"\n')
    assert not (path / "verdict.html").exists()
