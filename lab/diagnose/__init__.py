"""What is wrong with an MM2 that does not do what it should: rules over what was observed.

log.py          logs as entries
observation.py  what a diagnosis looks at
finding.py      what a rule found
places.py       which cluster a line is about, and where a setting is changed
rules/          one trouble per file
"""

from dataclasses import replace

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.rules import RULES

__all__ = ["RULES", "Finding", "Likelihood", "Observation", "diagnose"]


def diagnose(seen: Observation) -> list[Finding]:
    """Every finding, in order of likelihood."""
    found = [replace(finding, rule=name) for name, rule in RULES.items() for finding in rule(seen)]
    return sorted(found, key=lambda finding: -finding.likelihood)
