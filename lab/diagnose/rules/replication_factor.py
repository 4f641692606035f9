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
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE

_REFUSED: Final = re.compile(
    r"replication factor of (\d+) cannot be reached because only (\d+) broker"
    r"|[Rr]eplication factor: (\d+) larger than available brokers: (\d+)"
)
# By class: keys, MM2's own defaults, and on which side the topic is made.
_KEYS: Final = {
    SOURCE: (("replication.factor", 2, "target"), ("offset-syncs.topic.replication.factor", 3, "source")),
    CHECKPOINT: (("checkpoints.topic.replication.factor", 3, "target"),),
    HEARTBEAT: (("heartbeats.topic.replication.factor", 3, "target"),),
}


def look(seen: Observation) -> Iterator[Finding]:
    refused = seen.said(_REFUSED, within=None)
    for one in seen.deployed:
        for key, default, side in _KEYS.get(one.connector.connector_class, ()):
            yield from _judge(seen, one, key, default, side, [str(said) for said in refused[:1]])


def _judge(
    seen: Observation, one: Deployed, key: str, default: int, side: str, refused: list[str]
) -> Iterator[Finding]:
    connector = one.connector
    if key.startswith("offset-syncs") and connector.offset_syncs_alias == connector.target_alias:
        side = "target"
    cluster = seen.clusters.get(connector.source_alias if side == "source" else connector.target_alias)
    asked = connector.config.get(key, str(default))
    if cluster is None or cluster.error or not asked.isdecimal() or int(asked) <= cluster.brokers:
        return
    words, commands = setting(seen, one, key, str(cluster.brokers))
    whose = "" if key in connector.config else ", MM2's default"
    yield Finding(
        likelihood=Likelihood.CERTAIN if refused else Likelihood.LIKELY,
        what=f'connector "{one.name}" wants topics of {asked} replicas in cluster "{cluster.alias}", '
        f"which has {cluster.brokers} broker{'' if cluster.brokers == 1 else 's'}",
        evidence=(f"{key}={asked}{whose}", *refused),
        remedy=f"{words}, or add brokers; MM2 creates the topic when it starts",
        commands=commands,
    )
