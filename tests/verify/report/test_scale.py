"""Ticks are round, few, and cover; labels are read at a glance."""

import itertools

import pytest

from lab.verify.report.scale import Scale, milliseconds, moment, number, per_bin, ticks, time_step, time_ticks


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0, 13_200, [0, 5000, 10_000, 15_000]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 0.3, [0, 0.1, 0.2, 0.3]),
        (-40, 100, [-50, 0, 50, 100]),
        (0, 0, [0, 1]),
        (7, 7, [7, 8]),
    ],
)
def test_ticks(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


SPANS = [*itertools.product((0, -3, -1e6), (1e-4, 0.7, 3, 9.99, 1234, 5e9, 7e15))]


@pytest.mark.parametrize(("low", "high"), SPANS)
def test_ticks_cover_evenly_and_are_few(low: float, high: float) -> None:
    found = ticks(low, high)
    steps = [b - a for a, b in itertools.pairwise(found)]

    hair = 1e-9 * (high - low)
    assert found[0] <= low + hair
    assert found[-1] >= high - hair
    assert 2 <= len(found) <= 7
    assert max(steps) == pytest.approx(min(steps))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (4, ["0 s", "1 s", "2 s", "3 s", "4 s"]),
        (90, ["0 s", "15 s", "30 s", "45 s", "60 s", "75 s", "90 s"]),
        (250, ["0 min", "1 min", "2 min", "3 min", "4 min"]),
        (7200, ["0 min", "30 min", "60 min", "90 min", "120 min"]),
        (80_000, ["0 h", "6 h", "12 h", "18 h"]),
        (400_000, ["0 d", "1 d", "2 d", "3 d", "4 d"]),
    ],
)
def test_time_ticks(seconds: float, expected: list[str]) -> None:
    assert [label for _, label in time_ticks(seconds)] == expected


def test_decades_have_few_ticks_too() -> None:
    assert len(time_ticks(55 * 365 * 86_400)) <= 7
    assert time_step(1e12, at_most=240) % 31_536_000 == 0


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0, "0"),
        (-0.0001, "0"),
        (0.5, "0.5"),
        (7, "7"),
        (12.34, "12.3"),
        (950, "950"),
        (9500, "9,500"),
        (95_000, "95 k"),
        (600_000, "600 k"),
        (1_500_000, "1.5 M"),
        (-20_000, "-20 k"),
        (3e9, "3 G"),
    ],
)
def test_number(value: float, label: str) -> None:
    assert number(value) == label


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.5, "0.5 ms"),
        (250, "250 ms"),
        (1500, "1.5 s"),
        (90_000, "90 s"),
        (180_000, "3 min"),
        (9e6, "2.5 h"),
        (-5, "-5 ms"),
    ],
)
def test_milliseconds(value: float, label: str) -> None:
    assert milliseconds(value) == label


def test_moment_is_utc_and_never_fails() -> None:
    assert moment(0) == "1970-01-01 00:00:00 UTC"
    assert moment(1e18) == "1,000,000,000,000,000,000 s since 1970"


def test_a_scale_keeps_inside_its_pixels() -> None:
    scale = Scale(low=0, high=10, first_px=100, last_px=0)

    assert [scale.px(value) for value in (0, 5, 10, 20, -5)] == [100, 50, 0, 0, 100]
    assert Scale(low=3, high=3, first_px=1, last_px=2).px(3) == 1


def test_points_are_added_up_per_bin_and_none_is_lost() -> None:
    points = [(100.0, 1.0), (101.0, 2.0), (103.9, 3.0), (110.0, 4.0), (99.0, 5.0)]

    assert per_bin(points, 100, 3, 2) == [8, 3, 4]
