"""A consumer group reads on both clusters at once: MM2 syncs offsets only to groups without members.

Nothing is logged of it, unless a member joined in the very moment of a sync.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Deployed, Observation
from lab.mm2 import CHECKPOINT

_REFUSED: Final = re.compile(
    r"Unable to sync offsets for consumer group (?P<group>[^.\s]\S*?)\. This is likely"
)
_NOBODY: Final = ("empty", "dead")


def look(seen: Observation) -> Iterator[Finding]:
    for one in seen.deployed:
        if one.connector.connector_class == CHECKPOINT and _syncs(one):
            yield from _of(seen, one)


def _syncs(one: Deployed) -> bool:
    return one.connector.config.get("sync.group.offsets.enabled") == "true"


def _of(seen: Observation, one: Deployed) -> Iterator[Finding]:
    connector = one.connector
    source, target = (seen.clusters.get(alias) for alias in (connector.source_alias, connector.target_alias))
    if source is None or target is None:
        return
    refused = {said.match["group"]: str(said) for said in reversed(seen.said(_REFUSED))}
    for group, state in target.groups.items():
        at_source = source.groups.get(group, "absent")
        both = state not in _NOBODY and at_source not in (*_NOBODY, "absent")
        if not connector.takes_group(group) or not (both or group in refused):
            continue
        yield Finding(
            likelihood=Likelihood.CERTAIN if both else Likelihood.LIKELY,
            what=f'group "{group}" has members in cluster "{target.alias}" while it reads in '
            f'"{source.alias}": its offsets are not synced',
            evidence=(
                f'{source.alias}: group "{group}" is {at_source}',
                f'{target.alias}: group "{group}" is {state}',
                *([refused[group]] if group in refused else []),
            ),
            remedy=f'end the consumers of group "{group}" in cluster "{target.alias}"; the next sync then '
            "writes its offsets",
            commands=(f"lab groups --group {group} --compare",),
        )
