"""Benchmarks: two ways of doing one thing, alternating in one run, judged by their ratio.

Absolute seconds depend on the machine and its neighbours; the ratio of medians taken turn by turn much
less. One file per benchmark, one line in `BENCHMARKS`.
"""

from collections.abc import Callable
from typing import Final

from lab.bench import produce, up, verify
from lab.bench.measured import Effort, Measured

Say = Callable[[str], None]
BENCHMARKS: Final[dict[str, Callable[[Effort, Say], Measured]]] = {
    "up": up.measure,
    "produce": produce.measure,
    "verify": verify.measure,
}

__all__ = ["BENCHMARKS", "Effort", "Measured", "Say"]
