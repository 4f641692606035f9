"""Lessons: what is told to somebody who starts one where another has been at work."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.project import ROOT
from scenarios.labs import Labs


class Config:
    def __init__(self, lab: str | None) -> None:
        self.lab = lab

    def getoption(self, _: str) -> str | None:
        return self.lab


def require(connectors: list[str], *, folder: str = "lessons", lab: str | None = "mine") -> None:
    request: Any = SimpleNamespace(node=SimpleNamespace(path=Path(f"scenarios/{folder}/test_one.py")))
    topology = SimpleNamespace(has_connect=True, reference="basic-mirror")
    running: Any = SimpleNamespace(
        name="mine", topology=topology, connect=SimpleNamespace(names=lambda: connectors)
    )
    config: Any = Config(lab)
    Labs(config).require_fresh(request, running)


def test_a_lesson_refuses_a_running_lab_with_connectors() -> None:
    with pytest.raises(pytest.fail.Exception) as refused:
        require(["test_mirror"])

    assert str(refused.value) == (
        'this lesson needs a lab without connectors; "mine" has test_mirror\n'
        'hint: "lab down --name mine", then "lab up basic-mirror --name mine"'
    )


def test_what_is_no_lesson_or_has_a_lab_of_its_own_refuses_nothing() -> None:
    require([])
    require(["mm2-msc"], folder="scenarios")
    require(["mm2-msc"], lab=None)


LESSONS = sorted((ROOT / "scenarios/lessons").glob("test_*.py"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_the_steps_of_a_lesson_have_numbers_of_their_own_and_go_up(lesson: Path) -> None:
    steps = [int(number) for number in re.findall(r"^def test_(\d+)_", lesson.read_text(), re.MULTILINE)]

    assert steps == sorted(set(steps))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_producer_that_goes_on_is_told_for_how_long(lesson: Path) -> None:
    """Else it ends after 1,000 records, which at a rate is soon."""
    told = re.findall(r"`?lab produce [^`\n]*--rate[^`\n]*", lesson.read_text())

    assert [command for command in told if "--for" not in command and "--records" not in command] == []
