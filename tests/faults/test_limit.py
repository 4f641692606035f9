"""The time limit undoes what nobody has undone: from a process of its own, which ends by itself."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from lab.errors import LabError
from lab.faults import limit
from lab.faults.inverse import Nothing
from lab.faults.journal import Entry
from lab.faults.limit import Limit, keep
from lab.project import ROOT
from lab.wait import NotYet, wait_until


@pytest.fixture
def entry() -> Entry:
    return Entry.open("a", "f0", what="kill", settings={}, inverse=Nothing(why="a test"), limit_s=1.0)


def test_a_process_of_its_own_heals_when_the_time_is_up(entry: Entry) -> None:
    started = Limit(entry, 0.1)

    wait_until(lambda: not entry.is_open or NotYet("open"), timeout_s=30, what="healed by its limit")

    assert entry.events()[-1]["who"] == "time limit"
    started.end()


def test_the_process_ends_when_the_fault_is_healed(entry: Entry) -> None:
    started = Limit(entry, 600)
    entry.heal("me")

    started.end()

    assert entry.events()[-1]["who"] == "me"


def test_what_was_healed_is_left_alone(entry: Entry) -> None:
    entry.heal("me")

    assert keep(entry, 600) is None


def test_a_lab_that_is_gone_is_left_alone(entry: Entry) -> None:
    entry.path.unlink()

    assert keep(entry, 600) is None


def test_healing_is_tried_again(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Iterator[Exception | None] = iter([LabError("the engine does not answer"), None])
    heal = Entry.heal

    def sometimes(self: Entry, who: str) -> str | None:
        if (error := next(answers)) is not None:
            raise error
        return heal(self, who)

    monkeypatch.setattr(Entry, "heal", sometimes)
    monkeypatch.setattr(limit, "_TRIES_EVERY_S", 0.01)
    monkeypatch.setattr(limit, "_LOOKS_EVERY_S", 0.01)

    assert keep(entry, 0.02) == "nothing to undo: a test"
    assert [event["event"] for event in entry.events()] == ["opened", "not healed", "healed"]


def test_no_kind_of_error_ends_it(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a host that can start no process, and whose disk does not even take why."""
    answers: Iterator[Exception | None] = iter([BlockingIOError(11, "try again"), KeyError("State"), None])
    heal, write = Entry.heal, Entry.write

    def sometimes(self: Entry, who: str) -> str | None:
        if (error := next(answers)) is not None:
            raise error
        return heal(self, who)

    def full(self: Entry, event: str, **said: Any) -> None:
        if "try again" in said.get("why", ""):
            raise OSError(28, "no space left")
        write(self, event, **said)

    monkeypatch.setattr(Entry, "heal", sometimes)
    monkeypatch.setattr(Entry, "write", full)
    monkeypatch.setattr(limit, "_TRIES_EVERY_S", 0.01)
    monkeypatch.setattr(limit, "_LOOKS_EVERY_S", 0.01)

    assert keep(entry, 0.02) == "nothing to undo: a test"
    assert [event.get("why") for event in entry.events()] == [None, "KeyError: 'State'", None]


def test_there_is_no_last_try(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = iter(range(50))

    def after_fifty(self: Entry, who: str) -> str | None:
        if next(tries, None) is not None:
            raise LabError("the engine does not answer")
        return "at last"

    monkeypatch.setattr(Entry, "heal", after_fifty)
    monkeypatch.setattr(limit, "_TRIES_EVERY_S", 0.001)
    monkeypatch.setattr(limit, "_LOOKS_EVERY_S", 0.01)

    assert keep(entry, 0.02) == "at last"
    assert [event["event"] for event in entry.events()] == ["opened", "not healed"]  # said once


def test_the_state_may_be_named_by_a_relative_path(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(entry.path.parents[1])
    relative = Entry(entry.path.relative_to(entry.path.parents[1]))

    started = Limit(relative, 0.1)

    wait_until(lambda: not entry.is_open or NotYet("open"), timeout_s=30, what="healed by its limit")
    started.end()


def test_a_process_that_does_not_start_is_an_error(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "READY", "something else")

    with pytest.raises(LabError, match=r"^a fault's time limit could not be started$"):
        Limit(entry, 600)


def test_it_watches_also_when_whoever_started_it_was_killed_meanwhile(entry: Entry) -> None:
    reading, writing = os.pipe()
    os.close(reading)  # nobody reads that it is ready
    command = [sys.executable, "-m", "lab.faults", str(entry.path), "0.1"]

    assert subprocess.run(command, stdout=writing, cwd=ROOT, check=False, timeout=60).returncode == 0

    os.close(writing)
    assert entry.events()[-1]["who"] == "time limit"
