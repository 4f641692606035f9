"""What a check says: PASS, FAIL, or UNKNOWN when there is too little evidence. No Spark, no clients."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lab.errors import LabError, NotEnough


class Outcome(StrEnum):
    PASS = "PASS"  # noqa: S105 - no password
    UNKNOWN = "UNKNOWN"
    FAIL = "FAIL"
    # The question does not arise, as that of compaction for a topic that is not compacted. Whoever could
    # have been asked and lacked the evidence is UNKNOWN.
    NOT_APPLICABLE = "n/a"

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Outcome.PASS: 0,
    Outcome.FAIL: LabError.exit_code,
    Outcome.UNKNOWN: NotEnough.exit_code,
    Outcome.NOT_APPLICABLE: NotEnough.exit_code,
}
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
    """The outcome of several checks together; when none of them applies it is UNKNOWN."""
    return max((o for o in outcomes if o in _SEVERITY), key=_SEVERITY.__getitem__, default=Outcome.UNKNOWN)
