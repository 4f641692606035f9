"""`lab diagnose`: what it looks at, how it tells it, and its exit codes."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.cli import diagnose as command
from lab.cli import program as cli
from lab.diagnose import RULES, Observation
from lab.harness import Lab
from tests.diagnose import seen

Captured = pytest.CaptureFixture[str]
REFUSED = (
    "[2026-11-19 11:59:55,001] ERROR [AdminClient clientId=a] Connection to node -1 "
    "(broker/10.0.0.1:9092) failed "
    "authentication due to: Authentication failed: Invalid username or password (o.a.k.NetworkClient)"
)


def test_a_log_is_told_as_findings(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "connect.log"
    path.write_text(REFUSED)

    assert cli.exit_code(["diagnose", "--log", str(path)]) == 1
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "1. the broker at broker:9092 refuses MM2's user or password (likely; password)"
    assert rest[0].startswith("   seen: connect.log: [AdminClient")
    assert rest[1].startswith("   do:   mend user name and password")

    assert cli.exit_code(["diagnose", "--log", str(path), "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["rule"], finding["likelihood"]) == ("password", "likely")


def test_nothing_found_says_what_was_looked_at(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "connect.log"
    path.write_text("[2026-11-19 11:59:55,001] INFO Kafka Connect started (o.a.k.c.Connect)")

    assert cli.exit_code(["diagnose", "--log", str(path)]) == 0
    assert capsys.readouterr().out.startswith(
        f"nothing found ({len(RULES)} rules, 0 connectors, 1 services, 1 log entries"
    )


@pytest.mark.parametrize("content", ["", "#!/bin/sh\necho hello\n"], ids=["empty", "a script"])
def test_what_is_no_log_proves_nothing(tmp_path: Path, capsys: Captured, content: str) -> None:
    path = tmp_path / "some.sh"
    path.write_text(content)

    assert cli.exit_code(["diagnose", "--log", str(path)]) == 3
    assert capsys.readouterr().err == (
        f'error: "{path}" has no line of a Kafka log\nhint: give the log of the Connect worker or of MM2\n'
    )


def test_a_log_of_elsewhere_has_no_lab_to_verify(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "connect.log"
    path.write_text("[2026-11-19 11:59:55,001] INFO Kafka Connect started (o.a.k.c.Connect)")

    assert cli.exit_code(["diagnose", "--log", str(path)]) == 0
    assert capsys.readouterr().err == ""


def looked_at(monkeypatch: pytest.MonkeyPatch, lab: str, found: Observation) -> None:
    attached = SimpleNamespace(name=lab, topology=SimpleNamespace(name="basic-mirror"))
    monkeypatch.setattr(Lab, "attach", lambda _: attached)
    monkeypatch.setattr(command, "observe", lambda _: found)


@pytest.mark.parametrize(
    ("lab", "option", "end"),
    [
        ("monday", ["--name", "monday"], " --name monday"),
        ("monday", [], " --name monday"),
        ("basic-mirror", [], "ByteArrayConverter"),
    ],
)
def test_commands_name_the_lab(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, lab: str, option: list[str], end: str
) -> None:
    looked_at(monkeypatch, lab, seen.lab(seen.connector(take="header.converter")))

    assert cli.exit_code(["diagnose", *option]) == 1
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "lab mm2 set mirror" in each]
    assert line.endswith(end)


def test_a_lab_that_is_meant_otherwise_does_not_keep_a_log_from_being_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAB_NAME", "monday")
    (tmp_path / "connect.log").write_text("not of Kafka\n")

    assert cli.exit_code(["diagnose", "--log", str(tmp_path / "connect.log")]) == 3
    assert "has no line of a Kafka log" in capsys.readouterr().err


def test_nothing_found_suggests_to_verify_that_lab(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    looked_at(monkeypatch, "monday", seen.lab(seen.connector()))

    assert cli.exit_code(["diagnose"]) == 0
    assert capsys.readouterr().err == "next: lab verify TOPIC --name monday proves what arrived\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--run", "last", "--name", "a"], "--run, --log and --name exclude each other"),
        (["--run", "last"], 'no run named "last"'),
        (["--log", "none.log"], "none.log: No such file or directory"),
        ([], "no lab is up"),
    ],
)
def test_bad_input(arguments: list[str], told: str, capsys: Captured) -> None:
    assert cli.exit_code(["diagnose", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_without_mm2_there_is_not_enough(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    looked_at(monkeypatch, "basic-mirror", Observation())

    assert cli.exit_code(["diagnose"]) == 3
    assert "there is no MM2 to look at" in capsys.readouterr().err
