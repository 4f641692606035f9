"""Waiting ends when the condition holds, and says what was awaited, how long and what was seen."""

import time
from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from lab.wait import NotYet, TimedOut, every, pace, wait_until


def observations(*seen: str | NotYet | Exception) -> Callable[[], str | NotYet]:
    """One of them per call, in order; exceptions are raised, the last one repeats."""
    left: Iterator[str | NotYet | Exception] = iter(seen)

    def observe() -> str | NotYet:
        now = next(left, seen[-1])
        if isinstance(now, Exception):
            raise now
        return now

    return observe


def test_success_returns_at_once_without_sleeping() -> None:
    slept: list[float] = []

    assert wait_until(observations("here"), timeout_s=60, what="it", sleep=slept.append) == "here"
    assert slept == []


def test_pauses_grow_until_the_condition_holds() -> None:
    slept: list[float] = []
    observe = observations(*(NotYet(str(n)) for n in range(7)), "here")

    assert wait_until(observe, timeout_s=60, what="it", sleep=slept.append) == "here"
    assert slept == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_a_falsy_observation_is_success() -> None:
    assert wait_until(lambda: 0, timeout_s=60, what="nothing lags") == 0


def test_a_time_out_says_what_the_budget_and_what_was_last_seen() -> None:
    observe = observations(NotYet("1 of 3"), NotYet("2 of 3"))

    with pytest.raises(TimedOut) as caught:
        wait_until(observe, timeout_s=0.1, what="3 brokers", hint="look there", sleep=lambda _: None)

    assert caught.value.message == "not reached in 0.1 s: 3 brokers; last seen: 2 of 3"
    assert caught.value.hint == "look there"
    assert caught.value.exit_code == 1


def test_a_transient_exception_counts_as_not_yet() -> None:
    observe = observations(ConnectionError("refused"), ConnectionError("refused"), "here")

    found = wait_until(observe, timeout_s=60, what="it", transient=(ConnectionError,), sleep=lambda _: None)

    assert found == "here"


def test_a_time_out_tells_the_last_transient_exception() -> None:
    with pytest.raises(TimedOut, match=r"^not reached in 0\.1 s: it; last seen: refused$"):
        wait_until(
            observations(ConnectionError("refused")),
            timeout_s=0.1,
            what="it",
            transient=(ConnectionError,),
            sleep=lambda _: None,
        )


def test_any_other_exception_ends_the_wait_at_once() -> None:
    slept: list[float] = []

    with pytest.raises(ValueError, match=r"^broken$"):
        wait_until(
            observations(ValueError("broken")),
            timeout_s=1,
            what="it",
            transient=(ConnectionError,),
            sleep=slept.append,
        )

    assert slept == []


def test_pace_waits_for_what_is_not_yet_due() -> None:
    waited: list[float] = []

    def meanwhile(seconds: float) -> None:
        waited.append(seconds)
        time.sleep(seconds)

    begin = time.monotonic()
    pace(5, 100.0, begin, meanwhile=meanwhile)

    assert time.monotonic() - begin >= 0.05
    assert max(waited) <= 0.1


def test_pace_does_not_wait_when_it_is_late() -> None:
    waited: list[float] = []

    pace(5, 100.0, time.monotonic() - 1, meanwhile=waited.append)

    assert waited == []


def test_every_begins_at_once_and_makes_up_for_nothing() -> None:
    begin, rounds = time.monotonic(), []
    for number in every(0.05, for_s=0.3):
        rounds.append(number)
        if number == 0:
            assert time.monotonic() - begin < 0.05
            time.sleep(0.12)  # longer than the interval

    assert rounds == sorted(set(rounds))
    assert rounds[0] == 0
    assert rounds[1] >= 2, "what was missed is not made up for"
    assert rounds[-1] <= 6


def test_every_without_an_end_goes_on() -> None:
    numbers = list(islice(every(0.001), 5))

    assert len(set(numbers)) == 5
    assert numbers == sorted(numbers)
