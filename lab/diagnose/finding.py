"""What a rule found: what is wrong, how likely, why, and what mends it."""

from dataclasses import dataclass
from enum import IntEnum


class Likelihood(IntEnum):
    """How sure a rule is. The order in which findings are told."""

    POSSIBLE = 1  # a line that may have had its reasons, a setting that may be meant
    LIKELY = 2  # logged just now, again and again
    CERTAIN = 3  # the state of what runs shows it

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, kw_only=True)
class Finding:
    likelihood: Likelihood
    what: str
    evidence: tuple[str, ...]
    remedy: str
    commands: tuple[str, ...] = ()  # that carry it out, where commands can
    rule: str = ""  # given by `diagnose`: the name of the rule's file
