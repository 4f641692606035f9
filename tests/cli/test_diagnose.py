"""`lab diagnose`: what it looks at, how it tells it, and its exit codes."""

import json
from pathlib import Path

import pytest

from lab.cli import diagnose as command
from lab.cli import program as cli
from lab.diagnose import RULES, Observation
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


def test_commands_name_the_lab(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(command, "_observed", lambda *_: seen.lab(seen.connector(take="header.converter")))

    assert cli.exit_code(["diagnose", "--name", "monday"]) == 1
    assert "lab mm2 set mirror header.converter=" in (out := capsys.readouterr().out)
    assert out.rstrip().endswith("--name monday")


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
    monkeypatch.setattr(command, "_observed", lambda *_: Observation())

    assert cli.exit_code(["diagnose"]) == 3
    assert "there is no MM2 to look at" in capsys.readouterr().err
