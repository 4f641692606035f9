"""A topic that MM2 or Connect must create is to have more replicas than the cluster has brokers.

MM2 logs that it could not create the topic, once, and runs on: without offset syncs no group is ever
translated, without the remote topic nothing arrives.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Deployed, Observation
from lab.diagnose.places import setting
from lab.mm2_problems import Replicas, replicas
from lab.words import counted

_REFUSED: Final = re.compile(
    r"replication factor of (\d+) cannot be reached because only (\d+) broker"
    r"|[Rr]eplication factor: (\d+) larger than available brokers: (\d+)"
)


def look(seen: Observation) -> Iterator[Finding]:
    refused = seen.said(_REFUSED, within=None)
    for one in seen.deployed:
        for wanted in replicas(one.connector):
            yield from _judge(seen, one, wanted, [str(said) for said in refused[:1]])


def _judge(seen: Observation, one: Deployed, wanted: Replicas, refused: list[str]) -> Iterator[Finding]:
    key, asked, whose = wanted.key, wanted.factor, ", MM2's default" if wanted.is_default else ""
    cluster = seen.clusters.get(one.connector.alias_of(wanted.side))
    if cluster is None or cluster.error or asked <= cluster.brokers:
        return
    words, commands = setting(seen, one, key, str(cluster.brokers))
    yield Finding(
        likelihood=Likelihood.CERTAIN if refused else Likelihood.LIKELY,
        what=f'connector "{one.name}" wants topics of {asked} replicas in cluster "{cluster.alias}", '
        f"which has {counted(cluster.brokers, 'broker')}",
        evidence=(f"{key}={asked}{whose}", *refused),
        remedy=f"{words}, or add brokers; MM2 creates the topic when it starts",
        commands=commands,
    )
