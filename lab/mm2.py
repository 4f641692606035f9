"""What MM2's connectors are and mean: their JSON files, their keys, where their records go."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from lab.errors import BadInput, nearest
from lab.mm2_keys import KNOWN_KEYS, KNOWN_PREFIXES
from lab.topology import Topology

SOURCE: Final = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
CHECKPOINT: Final = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
HEARTBEAT: Final = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
IDENTITY_POLICY: Final = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
HEARTBEATS: Final = "heartbeats"
BYTES_CONVERTER: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"


_CLASSES: Final = (SOURCE, CHECKPOINT, HEARTBEAT)


def _short_names(full: str) -> tuple[str, str]:
    simple = full.rpartition(".")[2]
    return simple, simple.removesuffix("Connector")


class Severity(StrEnum):
    ERROR = "error"  # the connector will not do what its file seems to say
    WARNING = "warning"  # it will, with a consequence that people miss


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is wrong with a connector's config, and what to change."""

    severity: Severity
    key: str
    message: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Connector:
    """A connector's name and config, as PUT to Connect."""

    name: str
    config: Mapping[str, str]

    def with_overrides(self, overrides: Mapping[str, str | None]) -> "Connector":
        """The same connector with some keys changed; None takes a key away."""
        merged = {**self.config, **overrides}
        return replace(self, config={key: value for key, value in merged.items() if value is not None})

    @property
    def connector_class(self) -> str:
        """Its full name; Connect takes `MirrorSourceConnector` and `MirrorSource` for it as well."""
        given = self.config["connector.class"]
        return next((full for full in _CLASSES if given in _short_names(full)), given)

    @property
    def source_alias(self) -> str:
        return self.config.get("source.cluster.alias", "source")

    @property
    def target_alias(self) -> str:
        return self.config.get("target.cluster.alias", "target")

    @property
    def topic_patterns(self) -> list[str]:
        """Names or regular expressions of the topics to mirror; all topics when the key is not given."""
        return [pattern.strip() for pattern in self.config.get("topics", ".*").split(",")]

    def selects(self, topic: str) -> bool:
        try:
            return any(re.fullmatch(pattern, topic) for pattern in self.topic_patterns)
        except re.error:
            return True  # Java's syntax is another one; the worker judges it

    @property
    def separator(self) -> str:
        return self.config.get("replication.policy.separator", ".")

    @property
    def keeps_names(self) -> bool:
        """Whether a topic has the same name on the target: the identity policy."""
        return self.config.get("replication.policy.class") == IDENTITY_POLICY

    @property
    def isolation(self) -> str:
        """Which records of transactions MM2's own consumer reads."""
        keys = (
            "source.consumer.isolation.level",
            "consumer.isolation.level",
            "consumer.override.isolation.level",
        )
        return next((self.config[key] for key in keys if key in self.config), "read_uncommitted")

    def remote_topic(self, topic: str) -> str:
        """The name that a source topic has on the target; a heartbeats topic is always renamed."""
        if self.keeps_names and not topic.endswith(HEARTBEATS):
            return topic
        return f"{self.source_alias}{self.separator}{topic}"

    @property
    def offset_syncs_alias(self) -> str:
        """The cluster that holds the offset syncs: the source, unless the connector says otherwise."""
        at_target = self.config.get("offset-syncs.topic.location") == "target"
        return self.target_alias if at_target else self.source_alias

    @property
    def offset_syncs_topic(self) -> str:
        """Named for the other cluster, where it is not."""
        at_target = self.config.get("offset-syncs.topic.location") == "target"
        other = self.source_alias if at_target else self.target_alias
        return self._internal("mm2-offset-syncs", other, "internal")

    @property
    def checkpoints_topic(self) -> str:
        """On the target."""
        return self._internal(self.source_alias, "checkpoints", "internal")

    @property
    def heartbeats_topic(self) -> str:
        """Where the heartbeat connector writes: in the cluster of its worker's producer."""
        return HEARTBEATS

    @property
    def internal_separator(self) -> str:
        """Within the names of MM2's own topics; before Kafka 3.1 always a dot."""
        plain = self.config.get("replication.policy.internal.topic.separator.enabled") == "false"
        return "." if plain else self.separator

    def _internal(self, *parts: str) -> str:
        return self.internal_separator.join(parts)


def read_connector(path: Path) -> Connector:
    """A connector from its JSON file: the flat body of PUT, or the wrapped one of POST.

    A key that no MM2 version knows is refused here, before any worker is asked: workers ignore such
    keys, and `topic` for `topics` would mirror every topic there is.
    """
    try:
        body = json.loads(path.read_text())
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}", "name an existing JSON file") from error
    except ValueError as error:
        raise BadInput(f"{path}: not JSON: {error}", "mend the file") from error
    if not isinstance(body, dict):
        raise BadInput(f"{path}: not a JSON object", 'write {"connector.class": …, …}')
    name = body.get("name", path.stem)
    config = body["config"] if isinstance(body.get("config"), dict) else body
    wrong = [key for key, value in config.items() if not isinstance(value, str | int | float | bool)]
    if wrong or not isinstance(name, str):
        raise BadInput(
            f"{path}: the value of {', '.join(wrong) or 'name'} is not a plain value", "use strings"
        )
    connector = Connector(name=name, config={key: _text(value) for key, value in config.items()})
    if "connector.class" not in connector.config:
        raise BadInput(f'{path}: the key "connector.class" is missing', f'e.g. "{SOURCE}"')
    if unknown := list(unknown_keys(connector)):
        raise BadInput(
            f"{path}: " + "; ".join(p.message for p in unknown), " ".join(p.remedy for p in unknown)
        )
    return connector


def aliases_of(topology: Topology, side: str) -> list[str]:
    """The clusters that are "source" or "target": by that alias, else as the topology's connectors say."""
    clusters = topology.roles.clusters
    if side in clusters:
        return [side]
    connectors = [read_connector(path) for path in topology.connector_files().values()]
    named = {c.source_alias if side == "source" else c.target_alias for c in connectors}
    return [alias for alias in clusters if alias in named]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def unknown_keys(connector: Connector) -> Iterator[Problem]:
    for key in connector.config:
        if key not in KNOWN_KEYS and not key.startswith(KNOWN_PREFIXES):
            yield Problem(
                severity=Severity.ERROR,
                key=key,
                message=f'no MM2 connector has the key "{key}"',
                remedy=nearest(key, [k for k in KNOWN_KEYS if k[:1] == key[:1]]),
            )


def problems(connector: Connector, topology: Topology) -> list[Problem]:
    """What the worker's own validation does not say: each of these runs, and does something else."""
    found = [
        *unknown_keys(connector),
        *_wrong_cluster(connector, topology),
        *_too_many_replicas(connector, topology),
    ]
    return [*found, *_headers(connector, topology)]


def nothing_to_mirror(connector: Connector, topics: Iterable[str]) -> Iterator[Problem]:
    """MM2 looks for topics when it starts and then every `refresh.topics.interval.seconds`."""
    if connector.connector_class == SOURCE and not any(connector.selects(topic) for topic in topics):
        wanted = ", ".join(connector.topic_patterns)
        interval_s = connector.config.get("refresh.topics.interval.seconds", "600")
        yield Problem(
            severity=Severity.ERROR,
            key="topics",
            message=(
                f'no topic of cluster "{connector.source_alias}" matches "{wanted}": '
                f"the connector would run without tasks and look again after {interval_s} s"
            ),
            remedy='create the topic first, e.g. with "lab produce"',
        )


def _wrong_cluster(connector: Connector, topology: Topology) -> Iterator[Problem]:
    """Connect writes where the worker's own producer points, whatever the connector's target is called."""
    if connector.connector_class != SOURCE:
        return
    worker = topology.worker_bootstrap()
    wanted = connector.config.get("target.cluster.bootstrap.servers", "")
    actual = connector.config.get("producer.override.bootstrap.servers", worker)
    wanted_alias, actual_alias = topology.alias_of(wanted), topology.alias_of(actual)
    if wanted_alias and actual_alias and wanted_alias != actual_alias:
        yield Problem(
            severity=Severity.ERROR,
            key="producer.override.bootstrap.servers",
            message=(
                f'mirrored records would be written to cluster "{actual_alias}" ({actual}), '
                f'not to the target "{wanted_alias}": a worker produces to its own bootstrap.servers'
            ),
            remedy=f'set "producer.override.bootstrap.servers": "{wanted}"',
        )


# What each kind of topic that a connector creates on the target has by default.
_REPLICATION_DEFAULTS: Final = {
    SOURCE: {"replication.factor": 2, "offset-syncs.topic.replication.factor": 3},
    CHECKPOINT: {"checkpoints.topic.replication.factor": 3},
    HEARTBEAT: {"heartbeats.topic.replication.factor": 3},
}


def _too_many_replicas(connector: Connector, topology: Topology) -> Iterator[Problem]:
    for key, default in _REPLICATION_DEFAULTS.get(connector.connector_class, {}).items():
        at_source = (
            key.startswith("offset-syncs") and connector.config.get("offset-syncs.topic.location") != "target"
        )
        side = "source" if at_source else "target"
        alias = topology.alias_of(connector.config.get(f"{side}.cluster.bootstrap.servers", ""))
        asked = connector.config.get(key, str(default))
        if alias is None or not asked.isdecimal():
            continue
        brokers = len(topology.roles.clusters[alias])
        if int(asked) > brokers:
            default_said = "" if key in connector.config else ", MM2's default,"
            yield Problem(
                severity=Severity.ERROR,
                key=key,
                message=(
                    f"replication factor {asked}{default_said} is more than the brokers of cluster "
                    f'"{alias}" ({brokers}): MM2 only logs that it cannot create the topic'
                ),
                remedy=f'set "{key}": "{brokers}"',
            )


def _headers(connector: Connector, topology: Topology) -> Iterator[Problem]:
    if connector.connector_class != SOURCE:
        return
    converter = connector.config.get("header.converter", topology.worker_setting("header.converter"))
    if converter != BYTES_CONVERTER:
        yield Problem(
            severity=Severity.WARNING,
            key="header.converter",
            message="headers arrive base64-encoded: Connect's default header converter is not binary-safe",
            remedy=f'set "header.converter": "{BYTES_CONVERTER}"',
        )
