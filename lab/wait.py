"""The one place that waits: for a condition, with a named budget, and words for what was awaited.

No other module may call `time.sleep`. An observation is either the value that was wanted or a
`NotYet` that says what was seen instead, so that a time-out can tell.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from lab.errors import LabError

T = TypeVar("T")

# Budgets, in seconds. Generous on purpose: a wait ends when its condition holds, so a larger budget
# costs nothing on a fast machine and saves a slow one from a false alarm.
ENGINE_START_S: Final = 60.0
SERVICES_HEALTHY_S: Final = 180.0
CLUSTER_ANSWERS_S: Final = 60.0
CONNECT_ANSWERS_S: Final = 90.0
CONNECTOR_RUNS_S: Final = 60.0
TOPIC_APPEARS_S: Final = 60.0
RECORDS_ARRIVE_S: Final = 120.0
SPARK_ANSWERS_S: Final = 90.0


@dataclass(frozen=True)
class NotYet:
    """What was seen instead of what is awaited."""

    seen: str


class TimedOut(LabError):
    """A condition was not reached within its budget."""


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
    deadline = time.monotonic() + timeout_s
    pause, longest = pause_s, max(pause_s, 1.0)
    while True:
        cause: Exception | None = None
        try:
            observed = observe()
            if not isinstance(observed, NotYet):
                return observed
            seen = observed.seen
        except transient as error:
            seen, cause = str(error), error
        if time.monotonic() + pause >= deadline:
            raise TimedOut(f"not reached in {timeout_s:g} s: {what}; last seen: {seen}", hint) from cause
        sleep(pause)
        pause = min(pause * 2, longest)


def pace(done: int, rate_per_s: float, since: float, *, meanwhile: Callable[[float], object]) -> None:
    """Spend the time until the next of a steady stream is due; `meanwhile` gets the seconds it may take."""
    due = since + done / rate_per_s
    while (left := due - time.monotonic()) > 0:
        meanwhile(min(left, 0.1))
