"""What a benchmark found: the seconds of every round, by contestant, and what follows from them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much to measure: rounds of each contestant, and records where a benchmark has some."""

    rounds: int = 5
    records: int | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    title: str
    ours: str
    theirs: str
    seconds: dict[str, list[float]]
    also: dict[str, float] = field(default_factory=dict)

    def median_s(self, contestant: str) -> float:
        return median(self.seconds[contestant])

    @property
    def ratio(self) -> float:
        """Our median over theirs: below 1 we are faster."""
        return self.median_s(self.ours) / self.median_s(self.theirs)
