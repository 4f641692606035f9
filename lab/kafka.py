"""A live handle on one Kafka cluster: topics, offsets, records. The home of confluent-kafka."""

import logging
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from lab.errors import LabError
from lab.wait import CLUSTER_ANSWERS_S, TOPIC_APPEARS_S, NotYet, wait_until

REQUEST_S: Final = 15.0
_METADATA_S: Final = 5.0  # shorter than the budgets of those who ask again until a cluster answers

# librdkafka reports every refused connection while a broker starts; the lab says what it waits for itself.
_QUIET: Final = logging.getLogger("lab.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


__all__ = [
    "Cluster",
    "ClusterError",
    "KafkaError",
    "KafkaException",
    "Message",
    "Offsets",
    "Producer",
    "Record",
    "Topic",
]


class ClusterError(LabError):
    """A cluster did not answer, or refused."""


@dataclass(frozen=True, kw_only=True)
class Offsets:
    """The first offset still there and the next one to be written."""

    start: int
    end: int

    @property
    def count(self) -> int:
        """Records between the two if no transaction marker or compaction left a hole."""
        return self.end - self.start


@dataclass(frozen=True, kw_only=True)
class Topic:
    name: str
    partitions: int
    replicas: int
    offsets: Mapping[int, Offsets]

    @property
    def internal(self) -> bool:
        """Whether Kafka, Connect or MM2 made it for themselves."""
        return self.name.startswith("__") or self.name.endswith(".internal") or self.name == "heartbeats"

    @property
    def count(self) -> int:
        return sum(offsets.count for offsets in self.offsets.values())


@dataclass(frozen=True, kw_only=True)
class Record:
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Cluster:
    """One Kafka cluster under its MM2 alias."""

    def __init__(self, alias: str, bootstrap: str, properties: Mapping[str, str] | None = None) -> None:
        self.alias = alias
        self.bootstrap = bootstrap
        self.properties = dict(properties or {})

    def client_config(self, **more: object) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, **self.properties, **more}

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient(self.client_config(**{"socket.connection.setup.timeout.ms": 5_000}), logger=_QUIET)

    def wait_until_answers(self, brokers: int) -> None:
        def observe() -> bool | NotYet:
            seen = len(self._metadata().brokers)
            return True if seen >= brokers else NotYet(f"{seen} brokers")

        wait_until(
            observe,
            timeout_s=CLUSTER_ANSWERS_S,
            what=f'{brokers} brokers of cluster "{self.alias}" at {self.bootstrap}',
            transient=(ClusterError,),
        )

    def brokers(self) -> list[str]:
        return [f"{b.host}:{b.port}" for _, b in sorted(self._metadata().brokers.items())]

    def topic_names(self) -> list[str]:
        return sorted(self._metadata().topics)

    def topics(self) -> list[Topic]:
        """Every topic with the offsets of its partitions, in two requests however many there are."""
        found = self._metadata().topics
        partitions = [(name, p) for name, topic in found.items() for p in topic.partitions]
        starts = self._list_offsets(partitions, OffsetSpec.earliest())
        ends = self._list_offsets(partitions, OffsetSpec.latest())
        return [
            Topic(
                name=name,
                partitions=len(topic.partitions),
                replicas=max((len(p.replicas) for p in topic.partitions.values()), default=0),
                offsets={
                    p: Offsets(start=starts[name, p], end=ends[name, p]) for p in sorted(topic.partitions)
                },
            )
            for name, topic in sorted(found.items())
        ]

    def offsets(self, topic: str) -> dict[int, Offsets]:
        """Start and end of each partition at this moment; an unknown topic is an error."""
        metadata = self._metadata().topics.get(topic)
        if metadata is None:
            raise ClusterError(f'cluster "{self.alias}" has no topic "{topic}"', 'see "lab topics"')
        partitions = [(topic, p) for p in metadata.partitions]
        starts = self._list_offsets(partitions, OffsetSpec.earliest())
        ends = self._list_offsets(partitions, OffsetSpec.latest())
        return {p: Offsets(start=starts[topic, p], end=ends[topic, p]) for p in sorted(metadata.partitions)}

    def has_topic(self, topic: str) -> bool:
        return topic in self.topic_names()

    def topic_id(self, topic: str) -> str:
        """What tells a topic from an earlier one of the same name."""
        with _translated(f'describing topic "{topic}" of cluster "{self.alias}"'):
            asked = TopicCollection([topic])
            return str(self._admin.describe_topics(asked, request_timeout=REQUEST_S)[topic].result().topic_id)

    def create_topic(
        self, topic: str, *, partitions: int = 1, replicas: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and wait until the cluster shows it."""
        new = NewTopic(
            topic, num_partitions=partitions, replication_factor=replicas, config=dict(configs or {})
        )
        with _translated(f'creating topic "{topic}" in cluster "{self.alias}"'):
            self._admin.create_topics([new], request_timeout=REQUEST_S)[topic].result()
        self.wait_for_topic(topic)

    def delete_topic(self, topic: str) -> None:
        with _translated(f'deleting topic "{topic}" in cluster "{self.alias}"'):
            self._admin.delete_topics([topic], request_timeout=REQUEST_S)[topic].result()

    def wait_for_topic(self, topic: str, *, timeout_s: float = TOPIC_APPEARS_S) -> None:
        wait_until(
            lambda: True if self.has_topic(topic) else NotYet("not in the topic list"),
            timeout_s=timeout_s,
            what=f'topic "{topic}" in cluster "{self.alias}"',
        )

    def wait_for_records(self, topic: str, *, at_least: int, timeout_s: float) -> int:
        """Wait until a topic's partitions hold that many records in all."""

        def observe() -> int | NotYet:
            if not self.has_topic(topic):
                return NotYet("no such topic")
            count = sum(offsets.count for offsets in self.offsets(topic).values())
            return count if count >= at_least else NotYet(f"{count} records")

        return wait_until(
            observe,
            timeout_s=timeout_s,
            what=f'{at_least} records in topic "{topic}" of cluster "{self.alias}"',
            transient=(ClusterError,),  # a topic just created has partitions without a leader
        )

    def producer(self, **config: object) -> Producer:
        return Producer(self.client_config(**config), logger=_QUIET)

    def read(self, topic: str, *, from_start: bool, idle_s: float | None = None) -> Iterator[Record]:
        """Records as they come; with `from_start` those already there first. Ends after `idle_s` of silence.

        Partitions are assigned, not subscribed: no group, no rebalance, nothing left in the cluster.
        """
        offsets = self.offsets(topic)
        config = self.client_config(
            **{"group.id": f"lab-read-{uuid.uuid4().hex[:8]}", "enable.auto.commit": False}
        )
        with closing(Consumer(config, logger=_QUIET)) as consumer, _translated(f'reading topic "{topic}"'):
            consumer.assign(
                [TopicPartition(topic, p, o.start if from_start else o.end) for p, o in offsets.items()]
            )
            quiet_since = time.monotonic()
            while idle_s is None or time.monotonic() - quiet_since < idle_s:
                message = consumer.poll(0.2)
                if message is None:
                    continue
                if message.error():
                    raise KafkaException(message.error())
                quiet_since = time.monotonic()
                yield _record(message)

    def _metadata(self) -> Any:
        """The whole cluster's: asking for one topic by its name could create that topic."""
        with _translated(f'asking cluster "{self.alias}" at {self.bootstrap}'):
            return self._admin.list_topics(timeout=_METADATA_S)

    def _list_offsets(
        self, partitions: list[tuple[str, int]], spec: OffsetSpec
    ) -> dict[tuple[str, int], int]:
        if not partitions:
            return {}
        asked = {TopicPartition(topic, p): spec for topic, p in partitions}
        with _translated(f'listing offsets of cluster "{self.alias}"'):
            futures = self._admin.list_offsets(
                asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=REQUEST_S
            )
            return {(tp.topic, tp.partition): future.result().offset for tp, future in futures.items()}


def _record(message: Message) -> Record:
    kind, timestamp_ms = message.timestamp()
    return Record(
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
    )


@contextmanager
def _translated(doing: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        cause = error.args[0]
        told = cause.str() if isinstance(cause, KafkaError) else str(cause)
        raise ClusterError(f"{doing} failed: {told}", 'see "lab status"') from error
