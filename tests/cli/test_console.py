"""Results go to stdout, talk to stderr; a step is one line, and nothing is taken for markup."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.cli import console
from lab.errors import LabError

Captured = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Thing:
    name: str
    path: Path


def test_results_are_one_object_with_whatever_they_hold(capsys: Captured) -> None:
    console.show({"thing": Thing("[a]", Path("/b"))}, as_json=True, text=lambda: None)

    out, err = capsys.readouterr()
    assert json.loads(out) == {"thing": {"name": "[a]", "path": "/b"}}
    assert err == ""


_A_LONG_RESULT = """
import sys
import typer
from lab.cli import console
from lab.errors import LabError

lines = ["a line of many"] * {lines}
text = lambda: [console.line(line) for line in lines]
try:
    console.show({{"lines": lines}}, as_json={as_json}, text=text, error=LabError("no"))
except (LabError, typer.Exit) as error:
    sys.exit(10 + error.exit_code)
"""


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("lines", [1, 10_000])
def test_how_a_command_ends_does_not_depend_on_its_reader(as_json: bool, lines: int) -> None:
    """With `set -o pipefail`, `lab verify orders | head -1` must fail when the verdict does."""
    script = [sys.executable, "-c", _A_LONG_RESULT.format(as_json=as_json, lines=lines)]
    reading = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (reading.returncode, reading.stderr) == (11, "")
    assert reading.stdout.count("a line of many") == lines

    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run(script, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (11, "")


def test_a_table_aligns_numbers_and_shows_brackets(capsys: Captured) -> None:
    console.table("Topics", ("topic", "records"), [("[bold]", 1_234_567), ("b", 5)], empty="none")

    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["Topics", "topic     records", "[bold]  1,234,567", "b               5"]


def test_an_empty_table_is_one_line(capsys: Captured) -> None:
    console.table("Topics", ("topic",), [], empty="none")

    assert capsys.readouterr() == ("Topics: none\n", "")


def test_a_long_line_is_not_folded(capsys: Captured) -> None:
    console.line("x " * 200)
    console.complain(LabError("y " * 200), as_json=False)

    out, err = capsys.readouterr()
    assert (len(out.splitlines()), len(err.splitlines())) == (1, 1)


def test_a_step_is_a_line_when_it_starts_and_one_when_it_ends(capsys: Captured) -> None:
    steps = console.Steps()

    steps.started("start [6] services")
    steps.said("start [6] services", "4 of 6")
    steps.ended("start [6] services", 1.26, failed=False, note="Kafka 3.9.1")

    assert capsys.readouterr() == ("", "… start [6] services\n✓ start [6] services 1.3 s Kafka 3.9.1\n")


def test_a_step_that_fails_says_so(capsys: Captured) -> None:
    def fail() -> None:
        with console.step(console.Steps(), "build"):
            raise LabError("broken")

    with pytest.raises(LabError, match=r"^broken$"):
        fail()

    assert capsys.readouterr().err.splitlines()[1].startswith("✗ build ")
