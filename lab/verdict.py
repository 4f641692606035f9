"""What a check says: PASS, FAIL, or UNKNOWN when there is too little evidence. No Spark, no clients."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lab.errors import LabError, NotEnough


class Outcome(StrEnum):
    PASS = "PASS"
    UNKNOWN = "UNKNOWN"
    FAIL = "FAIL"

    @property
    def exit_code(self) -> int:
        return {Outcome.PASS: 0, Outcome.FAIL: LabError.exit_code, Outcome.UNKNOWN: NotEnough.exit_code}[self]


_SEVERITY = {Outcome.PASS: 0, Outcome.UNKNOWN: 1, Outcome.FAIL: 2}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One check's answer, with what it counted, and where the first trouble lies."""

    check: str
    outcome: Outcome
    meaning: str  # one sentence for people
    counts: Mapping[str, int] = field(default_factory=dict)
    first: tuple[Mapping[str, Any], ...] = ()  # coordinates: topic partition, offset, record id …


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of several checks together; of none at all it is UNKNOWN."""
    return max(outcomes, key=_SEVERITY.__getitem__, default=Outcome.UNKNOWN)
