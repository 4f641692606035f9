"""Parts are collected on threads of their own: one that fails, hangs or is wrong holds up nobody."""

import logging
import threading
from functools import partial

import pytest

from lab.errors import LabError
from lab.exporter.rounds import Rounds

SOON_S = 10.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def refuse() -> object:
    raise LabError("no answer")


def test_the_last_result_is_there_until_the_next() -> None:
    rounds = Rounds()
    assert (rounds.knows("part"), rounds.value("part")) == (False, None)

    for result in ("one", "two"):
        rounds.begin("part", partial(str, result))
        assert rounds.wait(SOON_S)
        assert (rounds.knows("part"), rounds.value("part")) == (True, result)


def test_a_failure_takes_the_result_away_until_it_is_mended(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rounds = Rounds()

    for collect in (lambda: "fine", refuse, refuse):
        rounds.begin("part", collect)
        assert rounds.wait(SOON_S)
    assert (rounds.knows("part"), rounds.value("part")) == (True, None)
    assert caplog.messages == ["part: no answer"], "told once, without a traceback"
    assert caplog.records[0].exc_info is None

    rounds.begin("part", lambda: "fine")
    assert rounds.wait(SOON_S)
    assert rounds.value("part") == "fine"
    assert caplog.messages[1:] == ["part: fine again"]


def test_a_bug_is_told_with_its_traceback_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds()

    rounds.begin("part", partial({"there": 1}.__getitem__, "missing"))
    rounds.begin("other", lambda: "fine")

    assert rounds.wait(SOON_S)
    assert (rounds.value("part"), rounds.value("other")) == (None, "fine")
    assert caplog.records[0].exc_info is not None


def test_a_part_that_hangs_is_not_asked_twice_and_grows_stale_alone() -> None:
    clock, let_go, asked = Clock(), threading.Event(), []
    rounds = Rounds(stale_s=30, clock=clock)

    def hang() -> str:
        asked.append(1)
        assert let_go.wait(SOON_S)
        return "late"

    rounds.begin("part", lambda: "early")
    assert rounds.wait(SOON_S)
    rounds.begin("part", hang)
    rounds.begin("never", hang)
    rounds.begin("part", hang)
    clock.now = 20
    assert (rounds.value("part"), rounds.knows("never")) == ("early", False)

    clock.now = 31
    rounds.begin("other", lambda: "fine")
    assert not rounds.wait(0.2)
    assert (rounds.value("other"), rounds.value("part"), rounds.value("never")) == ("fine", None, None)
    assert rounds.knows("never"), "it had time enough"

    let_go.set()
    assert rounds.wait(SOON_S)
    assert (rounds.value("part"), len(asked)) == ("late", 2)
    assert rounds.slowest_s() == 31


def test_a_dropped_part_is_closed_when_nothing_collects_it_any_more() -> None:
    rounds, let_go, closed = Rounds(), threading.Event(), threading.Event()
    rounds.begin("part", lambda: let_go.wait(SOON_S))

    rounds.drop("part", closed.set)
    assert not closed.wait(0.1)
    let_go.set()

    assert closed.wait(SOON_S)
    assert (rounds.knows("part"), rounds.value("part"), rounds.slowest_s()) == (False, None, None)


def test_a_dropped_part_that_rests_is_closed_at_once() -> None:
    rounds, closed = Rounds(), threading.Event()
    rounds.begin("part", lambda: "fine")
    assert rounds.wait(SOON_S)

    rounds.drop("part", closed.set)

    assert closed.wait(SOON_S)
    assert not rounds.knows("part")
