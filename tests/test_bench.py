"""A benchmark is a ratio of medians."""

from importlib import import_module

import pytest

from lab.bench import BENCHMARKS, Measured


def test_the_ratio_is_our_median_over_theirs() -> None:
    measured = Measured(
        title="t", ours="a", theirs="b", seconds={"a": [9.0, 3.0, 4.0], "b": [2.0, 1.0, 90.0]}
    )

    assert measured.median_s("a") == 4.0
    assert measured.ratio == 2.0


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_is_found_by_its_name(name: str) -> None:
    assert callable(import_module(f"lab.bench.{name}").measure)
