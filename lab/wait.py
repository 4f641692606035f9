"""The one place that waits: for a condition, with a named budget, and words for what was awaited.

No other module may call `time.sleep`. An observation is either the value that was wanted or a
`NotYet` that says what was seen instead, so that a time-out can tell.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_exponential

from lab.errors import LabError

T = TypeVar("T")

# Budgets, in seconds. Generous on purpose: a wait ends when its condition holds, so a larger budget
# costs nothing on a fast machine and saves a slow one from a false alarm.
ENGINE_START_S: Final = 60.0
SERVICES_HEALTHY_S: Final = 180.0
CLUSTER_ANSWERS_S: Final = 60.0
CONNECT_ANSWERS_S: Final = 90.0
CONNECTOR_RUNS_S: Final = 60.0
CONNECTOR_STATE_S: Final = 150.0  # a checkpoint task hears of a pause after its interval, 60 s by default
FORGOTTEN_S: Final = 300.0  # a connector with its offsets, after its cluster was gone
LEADER_FOUND_S: Final = 15.0  # of a partition that another broker leads now
TOPIC_APPEARS_S: Final = 60.0
RECORDS_ARRIVE_S: Final = 120.0
ISR_FULL_S: Final = 120.0
FAULT_SHOWS_S: Final = 30.0
FAULT_LIMIT_S: Final = 600.0  # after which a fault is undone, whoever made it
SPARK_ANSWERS_S: Final = 90.0


@dataclass(frozen=True)
class NotYet:
    """What was seen instead of what is awaited."""

    seen: str


class TimedOut(LabError):
    """A condition was not reached within its budget."""


class _Again(Exception):
    """Ours, since tenacity replaces its own TryAgain by its cause when time is up."""


def wait_until(
    observe: Callable[[], T | NotYet],
    *,
    timeout_s: float,
    what: str,
    transient: tuple[type[Exception], ...] = (),
    hint: str | None = None,
    pause_s: float = 0.05,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Call `observe` until it gives something other than `NotYet`, and return that.

    An exception listed in `transient` counts as not yet; any other ends the wait at once.
    """
    last_seen = "nothing"

    def attempt() -> T:
        nonlocal last_seen
        try:
            observed = observe()
        except transient as error:
            last_seen = str(error)
            raise _Again from error
        if isinstance(observed, NotYet):
            last_seen = observed.seen
            raise _Again
        return observed

    retrying = Retrying(
        retry=retry_if_exception_type(_Again),
        stop=stop_before_delay(timeout_s),
        wait=wait_exponential(multiplier=pause_s, max=max(pause_s, 1.0)),
        sleep=sleep,
        reraise=True,
    )
    try:
        return retrying(attempt)
    except _Again as error:
        raise TimedOut(f"not reached in {timeout_s:g} s: {what}; last seen: {last_seen}", hint) from error


def pace(done: int, rate_per_s: float, since: float, *, meanwhile: Callable[[float], object]) -> None:
    """Spend the time until the next of a steady stream is due; `meanwhile` gets the seconds it may take."""
    due = since + done / rate_per_s
    while (left := due - time.monotonic()) > 0:
        meanwhile(min(left, 0.1))


def every(interval_s: float, *, for_s: float | None = None) -> Iterator[int]:
    """0 at once, then a larger number at every interval, until the time is up: `for_s`, or never.

    After a round that took longer than the interval the next is due later, not at once.
    """
    begin = time.monotonic()
    done = 0
    while True:
        yield done
        done = max(done + 1, int((time.monotonic() - begin) / interval_s))
        if for_s is not None and done * interval_s > for_s:
            return
        pace(done, 1 / interval_s, begin, meanwhile=time.sleep)
