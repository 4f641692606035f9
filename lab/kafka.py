"""A live handle on one Kafka cluster: topics, offsets, records. The home of confluent-kafka."""

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from lab.errors import LabError
from lab.wait import CLUSTER_ANSWERS_S, TOPIC_APPEARS_S, NotYet, wait_until

REQUEST_S: Final = 15.0
_METADATA_S: Final = 5.0  # shorter than the budgets of those who ask again until a cluster answers

# librdkafka reports every refused connection while a broker starts; the lab says what it waits for itself.
_QUIET: Final = logging.getLogger("lab.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


__all__ = [
    "Acl",
    "Cluster",
    "ClusterError",
    "GroupOffset",
    "KafkaError",
    "KafkaException",
    "Message",
    "Offsets",
    "Place",
    "Producer",
    "Reader",
    "Record",
    "Topic",
    "TopicConfig",
]


Place = tuple[str, int]  # a topic and the number of one of its partitions


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
    stamped_by_broker: bool = False  # LogAppendTime: when it was written here, not what its producer said


@dataclass(frozen=True, kw_only=True)
class TopicConfig:
    """The value of one key of a topic's config, and who gave it: Kafka's ConfigSource in lower case.

    "dynamic_topic_config" is the topic's own, "default_config" Kafka's default.
    """

    value: str | None
    origin: str
    read_only: bool = False
    sensitive: bool = False

    @property
    def own(self) -> bool:
        return self.origin == "dynamic_topic_config"

    @property
    def default(self) -> bool:
        return self.origin == "default_config"


@dataclass(frozen=True, kw_only=True, order=True)
class Acl:
    """An ACL binding, with Kafka's words in lower case: resource "topic", pattern "literal" …"""

    resource: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


@dataclass(frozen=True, kw_only=True)
class GroupOffset:
    offset: int
    metadata: str


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

    def offsets_of(
        self, topics: Iterable[str], *, isolation: str = "read_uncommitted"
    ) -> dict[Place, Offsets]:
        """Start and end of the partitions of many topics at once; a topic that is not there has none.

        With `read_committed` the end lies before the first transaction that is still open.
        """
        found = self._metadata().topics
        places = [(topic, p) for topic in topics if topic in found for p in sorted(found[topic].partitions)]
        starts = self._list_offsets(places, OffsetSpec.earliest())
        ends = self._list_offsets(places, OffsetSpec.latest(), isolation=isolation)
        return {place: Offsets(start=starts[place], end=ends[place]) for place in places}

    def offsets_at(self, timestamps_ms: Mapping[Place, int]) -> dict[Place, int | None]:
        """The first record that is as old as a timestamp or younger; None where there is none."""
        specs = {place: OffsetSpec.for_timestamp(ms) for place, ms in timestamps_ms.items()}
        found = self._list_offsets(list(specs), specs)
        return {place: offset if offset >= 0 else None for place, offset in found.items()}

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

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete what lies before an offset of each partition, as retention does when it passes."""
        positions = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
        with _translated(f'deleting records of topic "{topic}" in cluster "{self.alias}"'):
            for future in self._admin.delete_records(positions, request_timeout=REQUEST_S).values():
                future.result()

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

    def topic_configs(self, topics: Iterable[str]) -> dict[str, dict[str, TopicConfig]]:
        """Every config key of the topics, by topic and key."""
        asked = {ConfigResource(ResourceType.TOPIC, topic): topic for topic in topics}
        if not asked:
            return {}
        with _translated(f'describing topic configs of cluster "{self.alias}"'):
            futures = self._admin.describe_configs(list(asked), request_timeout=REQUEST_S)
            return {
                asked[resource]: {key: _topic_config(entry) for key, entry in sorted(future.result().items())}
                for resource, future in futures.items()
            }

    def set_topic_config(self, topic: str, **configs: str | None) -> None:
        """Change some keys of a topic's own config, others stay; None takes a key away."""
        changes = [
            ConfigEntry(
                key,
                value,
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for key, value in configs.items()
        ]
        asked = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        with _translated(f'changing the config of topic "{topic}" of cluster "{self.alias}"'):
            self._admin.incremental_alter_configs([asked], request_timeout=REQUEST_S)[asked].result()

    def acls(self) -> list[Acl] | None:
        """Every ACL; None when the cluster has no authorizer that could keep any."""
        anything = AclBindingFilter(
            *(ResourceType.ANY, None, ResourcePatternType.ANY, None, None),
            *(AclOperation.ANY, AclPermissionType.ANY),
        )
        with _translated(f'describing the ACLs of cluster "{self.alias}"'):
            try:
                found = self._admin.describe_acls(anything, request_timeout=REQUEST_S).result()
            except KafkaException as error:
                if error.args[0].code() == KafkaError.SECURITY_DISABLED:
                    return None
                raise
        return sorted(_acl(binding) for binding in found)

    def create_acl(self, acl: Acl) -> None:
        binding = AclBinding(*_acl_binding(acl))
        with _translated(f'creating an ACL in cluster "{self.alias}"'):
            self._admin.create_acls([binding], request_timeout=REQUEST_S)[binding].result()

    def delete_acl(self, acl: Acl) -> None:
        exactly = AclBindingFilter(*_acl_binding(acl))
        with _translated(f'deleting an ACL of cluster "{self.alias}"'):
            self._admin.delete_acls([exactly], request_timeout=REQUEST_S)[exactly].result()

    def group_states(self) -> dict[str, str]:
        """Every consumer group and its state in lower case: "stable" has members, "empty" has none."""
        with _translated(f'listing the groups of cluster "{self.alias}"'):
            found = self._admin.list_consumer_groups(request_timeout=REQUEST_S).result()
            if found.errors:
                raise found.errors[0]
            return {group.group_id: group.state.name.lower() for group in found.valid}

    def group_offsets(self, group: str) -> dict[tuple[str, int], GroupOffset]:
        """What a group has committed, by topic and partition; a group that is not there has nothing."""
        asked = ConsumerGroupTopicPartitions(group)
        with _translated(f'listing the offsets of group "{group}" of cluster "{self.alias}"'):
            futures = self._admin.list_consumer_group_offsets([asked], request_timeout=REQUEST_S)
            found = next(iter(futures.values())).result().topic_partitions
            return {
                (tp.topic, tp.partition): GroupOffset(offset=tp.offset, metadata=tp.metadata or "")
                for tp in found
                if tp.offset >= 0
            }

    def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Set what a group without members has committed."""
        places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        asked = ConsumerGroupTopicPartitions(group, places)
        with _translated(f'setting the offsets of group "{group}" of cluster "{self.alias}"'):
            futures = self._admin.alter_consumer_group_offsets([asked], request_timeout=REQUEST_S)
            next(iter(futures.values())).result()

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
        self,
        partitions: list[Place],
        spec: OffsetSpec | Mapping[Place, OffsetSpec],
        *,
        isolation: str = "read_uncommitted",
    ) -> dict[Place, int]:
        if not partitions:
            return {}
        each = spec if isinstance(spec, Mapping) else dict.fromkeys(partitions, spec)
        asked = {TopicPartition(*place): each[place] for place in partitions}
        with _translated(f'listing offsets of cluster "{self.alias}"'):
            futures = self._admin.list_offsets(
                asked, isolation_level=IsolationLevel[isolation.upper()], request_timeout=REQUEST_S
            )
            return {(tp.topic, tp.partition): future.result().offset for tp, future in futures.items()}


class Reader:
    """One consumer, kept for many short readings of whichever partitions, without a group.

    It connects once: a new consumer would spend longer on that than on the reading.
    """

    def __init__(self, cluster: Cluster, *, isolation: str = "read_uncommitted") -> None:
        self._what = f'reading from cluster "{cluster.alias}"'
        config = cluster.client_config(
            **{
                "group.id": f"lab-reader-{uuid.uuid4().hex[:8]}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",  # what retention took meanwhile is passed over
                "fetch.wait.max.ms": 20,  # the end of a partition is told after an answer without records
                "fetch.error.backoff.ms": 20,
                "queued.min.messages": 20_000,  # mostly few records are wanted: do not read far ahead
            }
        )
        with _translated(self._what):
            self._consumer = Consumer(config, logger=_QUIET)

    def read(
        self,
        ranges: Mapping[Place, tuple[int, int]],
        take: Callable[[Place, Record], bool],
        *,
        timeout_s: float,
    ) -> dict[Place, int]:
        """Give `take` the records from each start to before each stop, until it says False or time is up.

        Headers are left out. Returns the offset up to which each partition was read: its stop if all of it
        was, also where the last offsets hold no record.
        """
        read = {place: start for place, (start, stop) in ranges.items() if start < stop}
        left = {place: ranges[place][1] for place in read}
        deadline = time.monotonic() + timeout_s
        with _translated(self._what):
            self._consumer.assign([TopicPartition(*place, start) for place, start in read.items()])
            try:
                while left and time.monotonic() < deadline:
                    for message in self._consumer.consume(500, timeout=0.02):
                        self._one(message, read, left, take)
            finally:
                self._consumer.unassign()  # or it would go on fetching in the background
        return read

    def close(self) -> None:
        self._consumer.close()

    def _one(
        self,
        message: Message,
        read: dict[Place, int],
        left: dict[Place, int],
        take: Callable[[Place, Record], bool],
    ) -> None:
        place, error = (message.topic(), message.partition()), message.error()
        at_end = error is not None and error.code() == KafkaError._PARTITION_EOF
        if error is not None and not at_end:
            raise KafkaException(error)
        if place not in left:
            return
        stop, offset = left[place], message.offset()
        more = True
        if at_end or offset >= stop:
            # An end that is told before the stop is one of a moment ago: the records in between are coming.
            read[place] = min(offset, stop)
        else:
            read[place] = offset + 1
            more = take(place, _record(message, headers=False))
        if not more or read[place] >= stop:
            del left[place]
            # not paused: librdkafka keeps that for later readings, and wakes up a second late from it
            self._consumer.incremental_unassign([TopicPartition(*place)])


def _record(message: Message, *, headers: bool = True) -> Record:
    kind, timestamp_ms = message.timestamp()
    return Record(
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()) if headers else (),
        stamped_by_broker=kind == TIMESTAMP_LOG_APPEND_TIME,
    )


def _topic_config(entry: Any) -> TopicConfig:
    return TopicConfig(
        value=entry.value,
        origin=ConfigSource(entry.source).name.lower(),
        read_only=entry.is_read_only,
        sensitive=entry.is_sensitive,
    )


def _acl(binding: Any) -> Acl:
    return Acl(
        resource=binding.restype.name.lower(),
        name=binding.name,
        pattern=binding.resource_pattern_type.name.lower(),
        principal=binding.principal,
        host=binding.host,
        operation=binding.operation.name.lower(),
        permission=binding.permission_type.name.lower(),
    )


def _acl_binding(acl: Acl) -> tuple[Any, ...]:
    return (
        ResourceType[acl.resource.upper()],
        acl.name,
        ResourcePatternType[acl.pattern.upper()],
        acl.principal,
        acl.host,
        AclOperation[acl.operation.upper()],
        AclPermissionType[acl.permission.upper()],
    )


@contextmanager
def _translated(doing: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        cause = error.args[0]
        told = cause.str() if isinstance(cause, KafkaError) else str(cause)
        raise ClusterError(f"{doing} failed: {told}", 'see "lab status"') from error
