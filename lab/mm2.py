"""What MM2's connectors are and mean: their JSON files, their keys, where their records go."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab.errors import BadInput, nearest
from lab.mm2_keys import KNOWN_KEYS, KNOWN_PREFIXES

if TYPE_CHECKING:  # the exporter, which reads no topology, goes without its libraries
    from lab.topology import Topology

SOURCE: Final = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
CHECKPOINT: Final = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
HEARTBEAT: Final = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
DEFAULT_POLICY: Final = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"
IDENTITY_POLICY: Final = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
CUSTOM_POLICY: Final = "io.mirrorlab.policy.CustomReplicationPolicy"  # in the lab's Kafka image
POLICIES: Final = (DEFAULT_POLICY, IDENTITY_POLICY, CUSTOM_POLICY)  # whose names of topics the lab knows
KEEPING_NAMES: Final = (IDENTITY_POLICY, CUSTOM_POLICY)
HEARTBEATS: Final = "heartbeats"
BYTES_CONVERTER: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
# Kafka 4.0 narrowed what counts as internal (KIP-1074), so of some names only the version can tell.
_EXCLUDED: Final = r".*[\-\.]internal, .*\.replica, __.*"
_EXCLUDED_SINCE_4: Final = r"mm2.*\.internal, .*\.replica, __.*"
KINDS: Final = {"msc": SOURCE, "cpc": CHECKPOINT, "hbc": HEARTBEAT}  # as the names of files say it
# What each of these is for can be switched off by itself.
SWITCHES: Final = {CHECKPOINT: "emit.checkpoints.enabled", HEARTBEAT: "emit.heartbeats.enabled"}


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
        return next((full for full in KINDS.values() if given in _short_names(full)), given)

    @property
    def source_alias(self) -> str:
        return self.config.get("source.cluster.alias", "source")

    @property
    def target_alias(self) -> str:
        return self.config.get("target.cluster.alias", "target")

    def alias_of(self, side: str) -> str:
        return self.source_alias if side == "source" else self.target_alias

    @property
    def switched_off_by(self) -> str | None:
        """The key by which it gets no task, as if it were not there, if one does.

        Heartbeats go on where a flow is not enabled; a dedicated MM2 sends them the other way by that.
        """
        enabled = () if self.connector_class == HEARTBEAT else ("enabled",)
        keys = (*enabled, SWITCHES.get(self.connector_class, ""))
        return next((key for key in keys if self.config.get(key) == "false"), None)

    @property
    def topic_patterns(self) -> list[str]:
        """Names or regular expressions of the topics to mirror; all topics when the key is not given."""
        return [pattern.strip() for pattern in self.config.get("topics", ".*").split(",")]

    def selects(self, topic: str) -> bool:
        try:
            return any(re.fullmatch(pattern, topic) for pattern in self.topic_patterns)
        except re.error:
            return True  # Java's syntax is another one; the worker judges it

    def mirrors(self, topic: str, *, kafka_4: bool) -> bool:
        """Whether a source connector mirrors a topic of its source, on workers of Kafka 4 or earlier ones."""
        excluded = self.excluded("topics", _EXCLUDED_SINCE_4 if kafka_4 else _EXCLUDED)
        chosen = self.selects(topic) and not listed(excluded, topic)
        return (
            (chosen or self.takes_heartbeats(topic))
            and not self.is_internal(topic, kafka_4=kafka_4)
            and not self._is_cycle(topic)
        )

    def is_internal(self, topic: str, *, kafka_4: bool) -> bool:
        """Whether MM2 never mirrors a topic of this name, whatever was selected."""
        end = f"{self.internal_separator}internal"
        checkpoints = f"{self.internal_separator}checkpoints{end}"
        if topic.startswith(("__", ".")) or topic.endswith(checkpoints):
            return True
        if kafka_4:
            return topic.startswith("mm2") and topic.endswith(end)
        return topic.endswith((end, ".internal", "-internal"))

    def _is_cycle(self, topic: str) -> bool:
        """Whether a topic came from the target in the first place; without prefixes nobody can know."""
        return not self.keeps_names and self.target_alias in topic.split(self.separator)[:-1]

    def takes_group(self, group: str) -> bool:
        """Whether a consumer group's offsets are translated."""
        excluded = self.excluded("groups", "console-consumer-.*, connect-.*, __.*")
        return listed(self.config.get("groups", ".*"), group) and not listed(excluded, group)

    def excluded(self, what: str, default: str) -> str:
        """A list of what is left out; before Kafka 4 its key had another name, and still that one too."""
        return self.config.get(f"{what}.exclude", self.config.get(f"{what}.blacklist", default))

    def takes_heartbeats(self, topic: str) -> bool:
        """Whether a topic is one of heartbeats, which MM2 mirrors whatever was selected."""
        if self.config.get("heartbeats.replication.enabled") == "false":
            return False
        return (topic if self.keeps_names else topic.rpartition(self.separator)[2]) == HEARTBEATS

    @property
    def separator(self) -> str:
        return self.config.get("replication.policy.separator", ".")

    @property
    def keeps_names(self) -> bool:
        """Whether a topic has the same name on the target."""
        return self.policy in KEEPING_NAMES

    @property
    def policy(self) -> str:
        """The full name of the class that says how topics are named."""
        return self.config.get("replication.policy.class", DEFAULT_POLICY)

    @property
    def exactly_once(self) -> bool:
        """Whether it insists on writing transactions; their markers take offsets on the target."""
        return self.config.get("exactly.once.support", "requested").lower() == "required"

    @property
    def isolation(self) -> str:
        """Which records of transactions MM2's own consumer reads; it takes no `consumer.override.`."""
        keys = ("source.consumer.isolation.level", "consumer.isolation.level")
        return next((self.config[key] for key in keys if key in self.config), "read_uncommitted")

    def remote_topic(self, topic: str) -> str:
        """The name that a source topic has on the target; a heartbeats topic is always renamed."""
        if self.keeps_names and not topic.endswith(HEARTBEATS):
            return topic
        return f"{self.source_alias}{self.separator}{topic}"

    @property
    def offset_syncs_alias(self) -> str:
        """The cluster that holds the offset syncs: the source, unless the connector says otherwise."""
        return self.alias_of(self.offset_syncs_side)

    @property
    def offset_syncs_side(self) -> str:
        return "target" if self.config.get("offset-syncs.topic.location") == "target" else "source"

    @property
    def offset_syncs_topic(self) -> str:
        """Named for the other cluster, where it is not."""
        other = self.alias_of("source" if self.offset_syncs_side == "target" else "target")
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


def is_kafka_4(version: str) -> bool:
    """Whether workers that say this version are of Kafka 4 or later; Confluent's 7.9.0-ccs is Kafka 3.9."""
    major = re.match(r"\d+", version)
    confluent = version.endswith(("-ccs", "-ce"))
    return major is not None and int(major[0]) >= (8 if confluent else 4)


def listed(patterns: str, name: str) -> bool:
    """Whether a name is in a list of names and regular expressions, as MM2 writes such lists."""
    try:
        return any(re.fullmatch(p.strip(), name) for p in patterns.split(",") if p.strip())
    except re.error:
        return False  # Java's syntax is another one


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


def known_policy(name: str) -> str:
    """A replication policy's class by its full or its simple name; others cannot be judged here."""
    for policy in POLICIES:
        if name in (policy, policy.rpartition(".")[2]):
            return policy
    raise BadInput(
        f'no replication policy "{name}" is known here, and no Java class can be asked',
        nearest(name, list(POLICIES)),
    )


def cluster_of(topology: "Topology", connector: Connector, side: str) -> str:
    """The topology's name for the source or the target of a connector, which may have another one for it."""
    address = connector.config.get(f"{side}.cluster.bootstrap.servers", "")
    return topology.known_as(connector.alias_of(side), address)


def aliases_of(topology: "Topology", side: str) -> list[str]:
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
