"""A key that MM2 does not know, such as `topic` for `topics`: it is ignored, and every topic is mirrored."""

from collections.abc import Iterator
from itertools import permutations
from typing import Final

from lab import mm2_dedicated
from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Deployed, Observation
from lab.errors import BadInput
from lab.mm2 import CHECKPOINT, SOURCE, unknown_keys

_MEANT: Final = {SOURCE: "topics", CHECKPOINT: "groups"}


def look(seen: Observation) -> Iterator[Finding]:
    for one in seen.deployed:
        if not seen.properties:
            yield from _of_connector(one)
    if seen.properties:
        yield from _of_file(seen)


def _of_connector(one: Deployed) -> Iterator[Finding]:
    meant = _MEANT.get(one.connector.connector_class, "")
    for problem in unknown_keys(one.connector):
        misspelt = meant not in one.connector.config and problem.key.startswith(meant[:5] or "\0")
        everything = f', and without "{meant}" it takes all {meant}' if misspelt else ""
        value = one.connector.config[problem.key]
        mend = f" {meant}={value}" if misspelt else ""
        yield Finding(
            likelihood=Likelihood.CERTAIN,
            what=f'connector "{one.name}" has the key "{problem.key}", which MM2 ignores{everything}',
            evidence=(f"{problem.key}={value}",),
            remedy=f'write "{meant}"' if misspelt else problem.remedy,
            commands=(f"lab mm2 set {one.name} {problem.key}={mend}",),
        )


def _of_file(seen: Observation) -> Iterator[Finding]:
    try:
        unknown = list(mm2_dedicated.unknown(seen.properties))
    except BadInput:
        return  # another trouble: it does not name two clusters
    flows = [f"{a}->{b}." for a, b in permutations(mm2_dedicated.clusters(seen.properties), 2)]
    for key, hint in unknown:
        flow = next((flow for flow in flows if key.startswith(flow)), "")
        rest = key.removeprefix(flow)
        meant = next((flow + name for name in _MEANT.values() if flow and rest.startswith(name[:5])), "")
        misspelt = bool(meant) and meant not in seen.properties
        everything = f', and without "{meant}" it takes all {meant.removeprefix(flow)}' if misspelt else ""
        yield Finding(
            likelihood=Likelihood.CERTAIN,
            what=f'MM2\'s properties have the key "{key}", which it ignores{everything}',
            evidence=(f"{key}={seen.properties[key]}",),
            remedy=f'write "{meant}" in the file and restart MM2' if misspelt else hint,
        )
