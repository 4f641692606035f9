"""A dedicated MirrorMaker 2: what `connect-mirror-maker.sh` makes of its properties file.

Per pair of clusters it starts a Connect worker of its own, which belongs to the pair's target, and gives it
all three connectors. A pair that is not enabled gets a worker too while heartbeats are on: its heartbeat
connector then writes to what the file calls the source.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final

from lab import client_properties
from lab.errors import BadInput, nearest
from lab.mm2 import BYTES_CONVERTER, CHECKPOINT, HEARTBEAT, SOURCE, Connector
from lab.mm2_keys import KNOWN_KEYS, KNOWN_PREFIXES

_CLASSES: Final = (SOURCE, CHECKPOINT, HEARTBEAT)
_OF_CLIENTS: Final = ("bootstrap.servers", "forwarding.admin.class")
_FAMILIES_OF_CLIENTS: Final = ("security.", "ssl.", "sasl.")
_BY_CLIENT: Final = ("producer.", "consumer.", "admin.")
_SHARED: Final = ("replication.policy.", "config.providers")  # whatever follows, every connector gets it
_CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
# Keys of the file itself and of its workers: no connector gets them.
_OF_WORKERS: Final = (
    *("clusters", "dedicated.mode.enable.internal.rest", "listeners", "admin.listeners", "rest."),
    *("offset.storage.", "config.storage.", "status.storage.", "task.", "worker.", "scheduled.rebalance."),
    *("offset.flush.", "exactly.once.source.support", "group.id", "client.id", "plugin."),
)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One direction between two clusters of the file."""

    source: str
    target: str
    enabled: bool
    heartbeats: bool

    @property
    def name(self) -> str:
        return f"{self.source}->{self.target}"

    @property
    def offsets_topic(self) -> str:
        """On the target: how far its connectors have come, as Connect keeps it."""
        return self._internal("offsets")

    @property
    def configs_topic(self) -> str:
        return self._internal("configs")

    @property
    def status_topic(self) -> str:
        return self._internal("status")

    def _internal(self, what: str) -> str:
        return f"mm2-{what}.{self.source}.internal"


def read(path: Path) -> dict[str, str]:
    """The properties of a file; a key that MM2 would ignore is refused, as in a connector's file."""
    try:
        properties = client_properties.parse(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadInput(f"{path}: {told}", "name a properties file of connect-mirror-maker.sh") from error
    try:
        connectors(properties)
        _require_known(properties)
    except BadInput as error:
        raise BadInput(f"{path}: {error.message}", error.hint) from error
    return properties


def digest(path: Path) -> str:
    """Of what a file says now, once it was found to be one that MM2 takes."""
    read(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def pairs(properties: Mapping[str, str]) -> list[Pair]:
    """The directions that get a worker."""
    everywhere = properties.get("emit.heartbeats.enabled")
    found = [
        Pair(
            source=source,
            target=target,
            enabled=_true(properties.get(f"{source}->{target}.enabled")),
            heartbeats=_true(
                properties.get(f"{source}->{target}.emit.heartbeats.enabled", everywhere), default=True
            ),
        )
        for source, target in permutations(clusters(properties), 2)
    ]
    return [pair for pair in found if pair.enabled or pair.heartbeats]


def clusters(properties: Mapping[str, str]) -> list[str]:
    named = [alias.strip() for alias in properties.get("clusters", "").split(",") if alias.strip()]
    if len(named) < 2:
        raise BadInput('"clusters" does not name two clusters', "e.g. clusters=source, target")
    for alias in named:
        if not properties.get(f"{alias}.bootstrap.servers"):
            raise BadInput(f'cluster "{alias}" has no address', f"{alias}.bootstrap.servers=host:port")
    return named


def connectors(properties: Mapping[str, str]) -> list[Connector]:
    """The connectors that have something to do, with the configs that the workers get.

    All workers call theirs by the class; here they are told apart by their direction.
    """
    return [
        Connector(
            name=f"{pair.name} {cls.rpartition('.')[2]}",
            config=_config(properties, pair.source, pair.target, cls),
        )
        for pair in pairs(properties)
        for cls in _CLASSES
        if pair.enabled or cls == HEARTBEAT
    ]


def _config(properties: Mapping[str, str], source: str, target: str, cls: str) -> dict[str, str]:
    """Common keys first, then those of both clusters' clients, then those of the direction alone."""
    config = {k: v for k, v in properties.items() if k in KNOWN_KEYS or k.startswith(_SHARED)}
    config |= {key: BYTES_CONVERTER for key in _CONVERTERS if key not in config}  # the worker's own
    config |= {"connector.class": cls, "source.cluster.alias": source, "target.cluster.alias": target}
    for side, alias in (("source", source), ("target", target)):
        for key, value in _of_cluster(properties, alias).items():
            config[f"{side}.{key}" if key.startswith(_BY_CLIENT) else f"{side}.cluster.{key}"] = value
    return config | _under(properties, f"{source}->{target}.")


def _of_cluster(properties: Mapping[str, str], alias: str) -> dict[str, str]:
    """A cluster's own keys, and client settings that stand without an alias and hold for all."""
    common = {k: v for k, v in properties.items() if _is_of_clients(k)}
    return common | _under(properties, f"{alias}.")


def _is_of_clients(key: str) -> bool:
    return key in _OF_CLIENTS or key.startswith(_FAMILIES_OF_CLIENTS)


def _under(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): v for key, v in properties.items() if key.startswith(prefix)}


def _require_known(properties: Mapping[str, str]) -> None:
    found = list(unknown(properties))
    if found:
        raise BadInput(
            "; ".join(f'MM2 does not know the key "{key}"' for key, _ in found),
            "; ".join(hint for _, hint in found),
        )


def unknown(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What stands in the file and reaches nobody; an alias's own keys are any client's or worker's."""
    named = clusters(properties)
    directions = [f"{source}->{target}." for source, target in permutations(named, 2)]
    for key in properties:
        if key.startswith(tuple(f"{alias}." for alias in named)):
            continue
        prefix = next((d for d in directions if key.startswith(d)), "")
        rest = key.removeprefix(prefix)
        if not prefix and "->" in key:
            yield key, nearest(key.partition(".")[0] + ".", directions)
        elif rest not in KNOWN_KEYS and not rest.startswith((*KNOWN_PREFIXES, *_SHARED, *_OF_WORKERS)):
            yield key, nearest(rest, sorted(KNOWN_KEYS))


def _true(value: str | None, *, default: bool = False) -> bool:
    return default if value is None else value.strip().lower() == "true"
