"""What the worker does not say against one connector: each of these runs, and does something else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lab.mm2 import (
    BYTES_CONVERTER,
    CHECKPOINT,
    DEFAULT_POLICY,
    HEARTBEAT,
    SOURCE,
    Connector,
    Problem,
    Severity,
    unknown_keys,
)
from lab.topology import Topology

# Of what each kind of connector creates; MM2's own defaults.
_REPLICATION_DEFAULTS: Final = {
    SOURCE: {"replication.factor": 2, "offset-syncs.topic.replication.factor": 3},
    CHECKPOINT: {"checkpoints.topic.replication.factor": 3},
    HEARTBEAT: {"heartbeats.topic.replication.factor": 3},
}
_OVERRIDE: Final = "consumer.override."
_TO_REACH_A_CLUSTER: Final = ("bootstrap.servers", "security.", "ssl.", "sasl.")


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """How often a connector wants each partition of a topic that it creates, and on which side."""

    key: str
    factor: int
    is_default: bool
    side: str  # "source" or "target", as keys of connectors have it


def replicas(connector: Connector) -> tuple[Replicas, ...]:
    """Of the topics that it creates; a number that is none is the worker's to refuse."""
    defaults = _REPLICATION_DEFAULTS.get(connector.connector_class, {})
    asked = {key: connector.config.get(key, str(default)) for key, default in defaults.items()}
    return tuple(
        Replicas(
            key=key,
            factor=int(factor),
            is_default=key not in connector.config,
            side=connector.offset_syncs_side if key.startswith("offset-syncs") else "target",
        )
        for key, factor in asked.items()
        if factor.isdecimal()
    )


def problems(connector: Connector, topology: Topology) -> list[Problem]:
    """What is wrong with a connector by itself, in the order of its keys' weight."""
    return [
        *unknown_keys(connector),
        *_wrong_cluster(connector, topology),
        *_too_many_replicas(connector, topology),
        *_converters(connector, topology),
        *_headers(connector, topology),
        *_not_of_its_consumer(connector),
        *_foreign_policy(connector),
    ]


def nothing_to_mirror(connector: Connector, topics: Sequence[str], *, kafka_4: bool) -> Iterator[Problem]:
    """MM2 looks for topics when it starts and then every `refresh.topics.interval.seconds`.

    Heartbeats it takes along unasked: with them the connector has a task, though not for what was meant.
    """
    mirrored = [topic for topic in topics if connector.mirrors(topic, kafka_4=kafka_4)]
    if connector.connector_class != SOURCE or any(connector.selects(topic) for topic in mirrored):
        return
    wanted = ", ".join(connector.topic_patterns)
    interval_s = connector.config.get("refresh.topics.interval.seconds", "600")
    left_out = [t for t in topics if connector.selects(t) and not connector.is_internal(t, kafka_4=kafka_4)]
    none = f'no topic of cluster "{connector.source_alias}" matches "{wanted}"'
    if left_out:
        none = f'what "{wanted}" matches in cluster "{connector.source_alias}" is left out: {left_out[0]}'
    yield Problem(
        severity=Severity.WARNING if mirrored else Severity.ERROR,
        key="topics",
        message=(
            f"{none}: the connector would "
            f"{'mirror heartbeats only' if mirrored else 'run without tasks'} and look again "
            f"after {interval_s} s"
        ),
        remedy='see "topics.exclude"; what came from the target never goes back'
        if left_out
        else 'create the topic first, e.g. with "lab produce"',
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


def _too_many_replicas(connector: Connector, topology: Topology) -> Iterator[Problem]:
    for wanted in replicas(connector):
        alias = topology.alias_of(connector.config.get(f"{wanted.side}.cluster.bootstrap.servers", ""))
        if alias is None:
            continue
        brokers = len(topology.roles.clusters[alias])
        if wanted.factor > brokers:
            default_said = ", MM2's default," if wanted.is_default else ""
            yield Problem(
                severity=Severity.ERROR,
                key=wanted.key,
                message=(
                    f"replication factor {wanted.factor}{default_said} is more than the brokers of cluster "
                    f'"{alias}" ({brokers}): MM2 only logs that it cannot create the topic'
                ),
                remedy=f'set "{wanted.key}": "{brokers}"',
            )


def _converters(connector: Connector, topology: Topology) -> Iterator[Problem]:
    """MM2's records are bytes on both sides; any other converter writes something else on the target."""
    for key in ("key.converter", "value.converter"):
        converter = connector.config.get(key, topology.worker_setting(key))
        if converter == BYTES_CONVERTER:
            continue
        whose = "" if key in connector.config else ", the worker's,"
        told = f"{converter.rpartition('.')[2]}{whose} changes" if converter else "the worker's may change"
        yield Problem(
            severity=Severity.ERROR if converter else Severity.WARNING,
            key=key,
            message=f"{told} the bytes of each record: only ByteArrayConverter leaves them as they are",
            remedy=f'set "{key}": "{BYTES_CONVERTER}"',
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


def _not_of_its_consumer(connector: Connector) -> Iterator[Problem]:
    """Connect makes consumers of its own with these keys, MM2 makes the one that reads the source."""
    for key in connector.config:
        name = key.removeprefix(_OVERRIDE)
        # with exactly-once support Connect reads a connector's offsets, and must reach where they are
        if key.startswith(_OVERRIDE) and not name.startswith(_TO_REACH_A_CLUSTER):
            yield Problem(
                severity=Severity.ERROR,
                key=key,
                message="it does nothing: MM2's own consumer of the source takes no such key",
                remedy=f'write "source.consumer.{name}"',
            )


def _foreign_policy(connector: Connector) -> Iterator[Problem]:
    if connector.policy != DEFAULT_POLICY and not connector.keeps_names:
        yield Problem(
            severity=Severity.WARNING,
            key="replication.policy.class",
            message=(
                f"the lab does not know {connector.policy.rpartition('.')[2]}, and takes its topics to be "
                f'named as by the default policy: "{connector.remote_topic("orders")}"'
            ),
            remedy="verify and lag refuse to judge it; if it names them otherwise, loops are not found",
        )
