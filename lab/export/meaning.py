"""What a connector comes to: the keys that its class reads, without those that say what holds anyway.

By this two configs are compared that came about in different ways: a file of one's own for each connector,
one block of properties for all three, a resource whose operator adds the rest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lab.mm2 import BYTES_CONVERTER, CHECKPOINT, DEFAULT_POLICY, HEARTBEAT, SOURCE, Connector

CLASSES: Final = (SOURCE, CHECKPOINT, HEARTBEAT)
CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
SIDES: Final = ("source", "target")
# What says which connector it is, and not what it does.
IDENTITY: Final = ("name", "connector.class", "source.cluster.alias", "target.cluster.alias")
# Settings of the worker that stand among those of its cluster; no connector looks at them.
STORAGE: Final = ("offset.storage.", "config.storage.", "status.storage.")

_CLIENTS: Final = ("producer", "consumer", "admin")
# Beginnings of keys that not all three read: source and checkpoint connectors, and each kind alone.
_OF_BOTH: Final = (
    *("topics", "topic.filter.", "offset-syncs.topic.location", "emit.offset-syncs.enabled"),
    *("consumer.poll.timeout.millis", "tasks.max", "enabled"),
)
_OF_SOURCE: Final = (
    *("config.properties.", "config.property.filter.", "replication.factor", "use.incremental.alter.configs"),
    *("offset-syncs.topic.replication.factor", "offset.lag.max", "refresh.topics.", "sync.topic."),
    *("use.defaults.from", "heartbeats.replication.enabled", "add.source.alias.to.metrics"),
)
_OF_CHECKPOINT: Final = (
    *("groups", "group.filter.", "checkpoints.topic.replication.factor", "refresh.groups."),
    *("emit.checkpoints.", "sync.group.offsets."),
)
_OF_HEARTBEAT: Final = ("emit.heartbeats.", "heartbeats.topic.replication.factor")
_NOT_READ: Final[Mapping[str, tuple[str, ...]]] = {
    SOURCE: (*_OF_CHECKPOINT, *_OF_HEARTBEAT),
    CHECKPOINT: (*_OF_SOURCE, *_OF_HEARTBEAT),
    HEARTBEAT: (*_OF_BOTH, *_OF_SOURCE, *_OF_CHECKPOINT),  # it has one task, whatever tasks.max says
}
# MM2's own, and for converters those of every worker that is MM2's alone.
DEFAULTS: Final[Mapping[str, str]] = {
    "enabled": "true",
    "tasks.max": "1",
    "topics": ".*",
    "groups": ".*",
    "replication.policy.class": DEFAULT_POLICY,
    "replication.policy.separator": ".",
    "replication.policy.internal.topic.separator.enabled": "true",
    "offset-syncs.topic.location": "source",
    "emit.checkpoints.enabled": "true",
    "emit.heartbeats.enabled": "true",
    "source.cluster.security.protocol": "PLAINTEXT",
    "target.cluster.security.protocol": "PLAINTEXT",
    **dict.fromkeys(CONVERTERS, BYTES_CONVERTER),
}


@dataclass(frozen=True, kw_only=True)
class Meaning:
    connector_class: str
    source: str
    target: str
    config: Mapping[str, str]


def meaning(connector: Connector) -> Meaning:
    config = {
        key: value
        for key, value in connector.config.items()
        if key not in IDENTITY
        and reads(connector.connector_class, key)
        and value != DEFAULTS.get(key)
        and not says_again(connector.config, key)
        and not key.startswith(tuple(f"{side}.cluster.{kind}" for side in SIDES for kind in STORAGE))
    }
    return Meaning(
        connector_class=connector.connector_class,
        source=connector.source_alias,
        target=connector.target_alias,
        config=config,
    )


def reads(connector_class: str, key: str) -> bool:
    """Whether a connector of that class looks at a key at all."""
    return not key.startswith(_NOT_READ[connector_class])


def says_again(config: Mapping[str, str], key: str) -> bool:
    """Whether a key gives one client what its cluster's settings give to all: a dedicated MM2 writes both."""
    side, _, rest = key.partition(".")
    client, _, setting = rest.partition(".")
    return side in SIDES and client in _CLIENTS and config.get(f"{side}.cluster.{setting}") == config[key]


def same(some: Iterable[Connector], others: Iterable[Connector]) -> bool:
    """Whether the same connectors are among both, whatever they are called."""
    return _by_flow(some) == _by_flow(others)


def differing(some: Iterable[Connector], others: Iterable[Connector]) -> list[str]:
    """For people: the connectors and keys in which they are not the same."""
    mine, its = _by_flow(some), _by_flow(others)
    found = [f"{cls.rpartition('.')[2]} of {a}->{b}" for a, b, cls in sorted(mine.keys() ^ its.keys())]
    for place in sorted(mine.keys() & its.keys()):
        here, there = mine[place].config, its[place].config
        keys = sorted(k for k in here.keys() | there.keys() if here.get(k) != there.get(k))
        found += [f"{key} of {place[2].rpartition('.')[2]}" for key in keys]
    return found


def _by_flow(connectors: Iterable[Connector]) -> dict[tuple[str, str, str], Meaning]:
    """By pair of clusters and class; what is switched off counts as not there."""
    meanings = (meaning(connector) for connector in connectors if connector.switched_off_by is None)
    return {(m.source, m.target, m.connector_class): m for m in meanings}
