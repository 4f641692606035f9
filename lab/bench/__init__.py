"""Benchmarks: two ways of doing one thing, alternating in one run, judged by their ratio.

Absolute seconds depend on the machine and its neighbours; the ratio of medians taken turn by turn much
less. One file per benchmark, one line in `BENCHMARKS`; each is imported when it is run.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Final

from lab.bench.measured import Effort, Measured, Say

BENCHMARKS: Final = ("up", "deploy", "produce", "verify", "tls")


def measure(name: str, effort: Effort, say: Say) -> Measured:
    found: Callable[[Effort, Say], Measured] = import_module(f"lab.bench.{name}").measure
    return found(effort, say)


__all__ = ["BENCHMARKS", "Effort", "Measured", "Say", "measure"]
