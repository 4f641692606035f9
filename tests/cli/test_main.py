"""The command's exit codes, and where its words go."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata

import pytest
import typer

from lab.cli import program as cli
from lab.errors import BadInput, HostNotReady, LabError, NotEnough

Captured = pytest.CaptureFixture[str]


def raising(error: BaseException) -> object:
    def app(_: list[str], **__: object) -> None:
        raise error

    return app


@pytest.mark.parametrize("kind", [LabError, BadInput, NotEnough, HostNotReady])
def test_an_error_is_two_lines_and_its_ownexit_code(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, kind: type[LabError]
) -> None:
    monkeypatch.setattr(cli, "program", lambda _: raising(kind("[bold] is no markup", "do [this]")))

    assert cli.exit_code(["up"]) == kind.exit_code
    assert capsys.readouterr() == ("", "error: [bold] is no markup\nhint: do [this]\n")


def test_an_error_is_one_object_for_programs(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "program", lambda _: raising(HostNotReady("no engine", "start it")))

    assert cli.exit_code(["up", "--json"]) == 4
    out, err = capsys.readouterr()
    assert json.loads(out) == {"error": "no engine", "hint": "start it", "exit_code": 4}
    assert err == ""


def test_an_interruption_is_130(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "program", lambda _: raising(KeyboardInterrupt()))

    assert cli.exit_code(["up"]) == 130
    assert capsys.readouterr() == ("", "error: interrupted\n")


@pytest.mark.parametrize("given", ["registry.example:5000", "registry.example:5000/"])
def test_compose_is_given_a_registry_with_its_slash(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("LAB_REGISTRY", given)

    assert cli.exit_code(["--help"]) == 0
    assert os.environ["LAB_REGISTRY"] == "registry.example:5000/"


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "program", lambda _: raising(ZeroDivisionError("a bug")))

    with pytest.raises(ZeroDivisionError, match=r"^a bug$"):
        cli.exit_code(["up"])


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["up", "--help"], ["mm2", "deploy", "-h"]])
def test_help_is_a_result(capsys: Captured, argv: list[str]) -> None:
    assert cli.exit_code(argv) == 0
    out, err = capsys.readouterr()
    assert "Usage: " in out
    assert err == ""


def test_the_version_is_that_of_the_package(capsys: Captured) -> None:
    assert cli.exit_code(["--version"]) == 0
    assert capsys.readouterr() == (f"mirror-lab {metadata.version('mirror-lab')}\n", "")


@pytest.mark.parametrize(
    "argv", [["up"], ["exec"], ["images"], ["images", "save"], ["mm2", "deploy"], ["mm2", "set"], ["groups"]]
)
def test_help_names_what_is_given_and_no_types(capsys: Captured, argv: list[str]) -> None:
    """A flag is given nothing; an option something with a name, in capitals as that of an argument."""
    assert cli.exit_code([*argv, "--help"]) == 0
    told = capsys.readouterr().out

    usage = next(line for line in told.splitlines() if "Usage: " in line)
    assert not re.search(r"[{[][a-z]|\.\.\.[\]}]", usage), usage
    options = told[told.index("Options") :]
    assert "<bool>" not in options
    assert "<str>" not in options
    assert "<list" not in options


@pytest.mark.parametrize("argv", [[], ["mm2"]])
def test_nothing_said_is_answered_with_help(capsys: Captured, argv: list[str]) -> None:
    assert cli.exit_code(argv) == 2
    assert "Usage: " in capsys.readouterr().out


def test_json_of_a_command_run_by_exec_is_not_ours(capsys: Captured) -> None:
    assert cli.exit_code(["exec", "--name", "none", "broker", "tool", "--json"]) == 2
    assert capsys.readouterr() == ("", 'error: no lab named "none" is up\nhint: known: none\n')


def test_the_installed_command_behaves_alike() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab", "up", "basic-miror"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'error: no topology named "basic-miror"\nhint: did you mean "basic-mirror"? "lab list" shows all\n'
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait(10)
    done = subprocess.run(
        [sys.executable, "-m", "lab", "list", "--json"],
        stdout=reader.stdin,
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert reader.stdin is not None
    reader.stdin.close()

    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_is_in_the_module_that_is_loaded_for_it() -> None:
    for module, commands in cli.COMMANDS.items():
        for command in commands:
            found = typer.main.get_command(cli.program(command))
            assert list(found.commands) == list(commands), (module, command)  # type: ignore[attr-defined]


def test_help_has_every_command_under_a_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(m for modules in cli.PANELS.values() for m in modules) == sorted(cli.COMMANDS)

    assert cli.exit_code(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [title for title in cli.PANELS if f" {title} " in shown] == list(cli.PANELS)
    assert " Commands " not in shown


SPARK = {"pyspark", "pyarrow", "numpy"}


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        # clients later, when containers start; the others only where they are needed
        ("up", {*SPARK, "confluent_kafka", "httpx", "cryptography", "lab.diagnose", "lab.faults"}),
        ("list", {*SPARK, "confluent_kafka", "httpx", "cryptography", "lab.diagnose", "lab.faults"}),
        ("produce", SPARK),
        ("--help", SPARK),
    ],
)
def test_a_command_starts_without_what_it_does_not_need(command: str, unneeded: set[str]) -> None:
    script = f"""
import sys
from lab.cli.program import program
program({command!r})
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert "lab.harness" in loaded
    assert loaded & unneeded == set()
