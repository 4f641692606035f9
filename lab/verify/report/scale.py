"""Numbers on axes: round ticks, readable labels, and the way from a value to a pixel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_TIME_STEPS_S: Final = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10_800, 21_600, 43_200),
    *(86_400, 172_800, 604_800, 2_592_000, 31_536_000),
)
_TIME_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Values from `low` to `high` lie between two pixels."""

    low: float
    high: float
    first_px: float
    last_px: float

    def px(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1)
        return self.first_px + min(max(share, 0), 1) * (self.last_px - self.first_px)


def ticks(low: float, high: float, *, at_most: int = 6) -> list[float]:
    """Round values (1, 2, 5 times a power of ten) that reach from at or below `low` to at or above `high`."""
    if high <= low:  # nothing but zeros, as the lag of a topic that nobody wrote to
        return [math.floor(low), math.floor(low) + 1]
    step = 10 ** math.floor(math.log10(high - low))
    # Whole steps only as far as the eye can tell: 0.1 + 0.2 lies a hair above three steps of 0.1.
    for size in (step / 10, step / 5, step / 2, step, step * 2, step * 5):
        begin, end = math.floor(low / size + 1e-9), math.ceil(high / size - 1e-9)
        if end - begin < at_most:
            break
    return [round(number * size, 12) for number in range(begin, end + 1)]


def time_step(seconds: float, *, at_most: int) -> int:
    """The smallest round step of time that fits `at_most` times into so many seconds."""
    years = _TIME_STEPS_S[-1]
    beyond = math.ceil(seconds / at_most / years) * years
    return next((step for step in _TIME_STEPS_S if step * at_most >= seconds), beyond)


def time_ticks(seconds: float, *, at_most: int = 6) -> list[tuple[float, str]]:
    """Ticks from 0 on, with labels in the largest unit in which all of them are whole."""
    step = time_step(seconds, at_most=at_most)
    size, unit = next((size, unit) for size, unit in _TIME_UNITS if step % size == 0)
    return [(at, f"{at // size:,} {unit}") for at in range(0, math.floor(seconds) + 1, step)]


def number(value: float) -> str:
    """A count that is read at a glance: 950, 9,500, 95 k, 1.5 M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size and abs(value) >= 10_000:
            return f"{_short(value / size)} {unit}"
    return _short(value) if abs(value) < 100 else f"{value:,.0f}"


def milliseconds(value: float) -> str:
    """A duration in the unit that suits it: 0.5 ms, 250 ms, 1.5 s, 2 min."""
    if abs(value) < 1000:
        return f"{_short(value)} ms"
    if abs(value) < 120_000:
        return f"{_short(value / 1000)} s"
    return f"{_short(value / 60_000)} min" if abs(value) < 7_200_000 else f"{_short(value / 3_600_000)} h"


def moment(epoch_s: float) -> str:
    """A moment for people, in UTC; what lies beyond the calendar stays a number."""
    try:
        return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{epoch_s:,.0f} s since 1970"


def per_bin(points: Sequence[tuple[float, float]], begin: float, bins: int, width: int) -> list[float]:
    """The sum of the points in each bin of time."""
    sums = [0.0] * bins
    for at, count in points:
        sums[min(max(int((at - begin) // width), 0), bins - 1)] += count
    return sums


def _short(value: float) -> str:
    """At most three significant digits: 1.5, 12.3, 123."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
