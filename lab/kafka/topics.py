"""A cluster's topics: their offsets and configs; made, deleted, waited for."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from lab.errors import BadInput
from lab.kafka.connection import ATTEMPT_S, REQUEST_S, ClusterError, Connection, translated
from lab.kafka.values import Layout, Offsets, Place, Topic, TopicConfig
from lab.wait import TOPIC_APPEARS_S, NotYet, wait_until

_KNOWN_S: Final = 30.0
_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # as brokers have it
_ANSWERS: Final = 3  # in a row, of brokers that know of a change


class Topics(Connection):
    def topic_names(self) -> list[str]:
        return sorted(self._metadata().topics)

    def topics(self, *, timeout_s: float = REQUEST_S) -> list[Topic]:
        """Every topic with the offsets of its partitions, in two requests however many there are.

        Nobody can tell those of a partition without a leader.
        """
        found = self._metadata().topics
        led = [
            (name, number)
            for name, topic in found.items()
            for number, partition in sorted(topic.partitions.items())
            if partition.leader >= 0
        ]
        offsets: dict[str, dict[int, Offsets]] = {name: {} for name in found}
        for (name, number), its in self._ranges(led, timeout_s=timeout_s).items():
            offsets[name][number] = its
        return [
            Topic(
                name=name,
                partitions=len(topic.partitions),
                replicas=max((len(p.replicas) for p in topic.partitions.values()), default=0),
                offsets=offsets[name],
                leaderless=len(topic.partitions) - len(offsets[name]),
            )
            for name, topic in sorted(found.items())
        ]

    def layout(self) -> dict[str, Layout]:
        """Every topic without its offsets, in one request."""
        return {
            name: Layout(
                partitions=len(topic.partitions),
                replicas=max((len(p.replicas) for p in topic.partitions.values()), default=0),
                leaderless=sum(p.leader < 0 for p in topic.partitions.values()),
            )
            for name, topic in sorted(self._metadata().topics.items())
        }

    def leader(self, topic: str, partition: int) -> str:
        """Where the broker answers that leads a partition now."""
        metadata = self._metadata()
        found = metadata.topics[topic].partitions.get(partition) if topic in metadata.topics else None
        if found is None or found.leader not in metadata.brokers:
            raise ClusterError(
                f'partition {partition} of topic "{topic}" has no leader in cluster "{self.alias}"',
                'see "lab topics"',
            )
        broker = metadata.brokers[found.leader]
        return f"{broker.host}:{broker.port}"

    def controller(self) -> str:
        """Where the controller answers; of a cluster with ZooKeeper, as KRaft's brokers name just anyone."""
        metadata = self._metadata()
        if metadata.controller_id not in metadata.brokers:
            raise ClusterError(f'cluster "{self.alias}" has no controller', 'see "lab status"')
        broker = metadata.brokers[metadata.controller_id]
        return f"{broker.host}:{broker.port}"

    def under_replicated(self) -> list[Place]:
        """The partitions of which some replica is behind, or away."""
        return [
            (name, number)
            for name, topic in sorted(self._metadata().topics.items())
            for number, partition in sorted(topic.partitions.items())
            if len(partition.isrs) < len(partition.replicas) or partition.leader < 0
        ]

    def has_topic(self, topic: str) -> bool:
        return topic in self.topic_names()

    def topic_id(self, topic: str) -> str:
        """What tells a topic from an earlier one of the same name."""
        asked = TopicCollection([topic])

        def observe() -> str | NotYet:
            try:
                found = self._admin.describe_topics(asked, request_timeout=REQUEST_S)[topic].result()
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    return NotYet("the broker that was asked does not know it")
                raise
            return str(found.topic_id)

        # Of several brokers one may have heard of a new topic and another not yet.
        with translated(f'describing topic "{topic}" of cluster "{self.alias}"'):
            return wait_until(
                observe, timeout_s=_KNOWN_S, what=f'topic "{topic}" known in cluster "{self.alias}"'
            )

    def offsets(self, topic: str) -> dict[int, Offsets]:
        """Start and end of each partition at this moment; an unknown topic is an error."""
        metadata = self._metadata().topics.get(topic)
        if metadata is None:
            raise ClusterError(f'cluster "{self.alias}" has no topic "{topic}"', 'see "lab topics"')
        found = self._ranges([(topic, p) for p in sorted(metadata.partitions)])
        return {p: offsets for (_, p), offsets in found.items()}

    def offsets_of(
        self, topics: Iterable[str], *, isolation: str = "read_uncommitted"
    ) -> dict[Place, Offsets]:
        """Start and end of the partitions of many topics at once; a topic that is not there has none.

        With `read_committed` the end lies before the first transaction that is still open.
        """
        found = self._metadata().topics
        places = [(topic, p) for topic in topics if topic in found for p in sorted(found[topic].partitions)]
        return self._ranges(places, isolation=isolation)

    def _ranges(
        self, places: list[Place], *, isolation: str = "read_uncommitted", timeout_s: float = REQUEST_S
    ) -> dict[Place, Offsets]:
        starts = self._list_offsets(places, OffsetSpec.earliest(), timeout_s=timeout_s)
        ends = self._list_offsets(places, OffsetSpec.latest(), isolation=isolation, timeout_s=timeout_s)
        return {place: Offsets(start=starts[place], end=ends[place]) for place in places}

    def offsets_at(self, timestamps_ms: Mapping[Place, int]) -> dict[Place, int | None]:
        """The first record that is as old as a timestamp or younger; None where there is none."""
        specs = {place: OffsetSpec.for_timestamp(ms) for place, ms in timestamps_ms.items()}
        found = self._list_offsets(list(specs), specs)
        return {place: offset if offset >= 0 else None for place, offset in found.items()}

    def create_topic(
        self, topic: str, *, partitions: int = 1, replicas: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and wait until the cluster's brokers know it and lead its partitions."""
        if not _TOPIC_NAME.fullmatch(topic) or topic in (".", ".."):
            raise BadInput(
                f'"{topic}" cannot be the name of a topic', "up to 249 of a-z, A-Z, 0-9, '.', '_' and '-'"
            )
        new = NewTopic(
            topic, num_partitions=partitions, replication_factor=replicas, config=dict(configs or {})
        )
        with translated(f'creating topic "{topic}" in cluster "{self.alias}"'):
            self._admin.create_topics([new], request_timeout=REQUEST_S)[topic].result()

        def missing() -> str:
            led = len(self.offsets(topic))
            return "" if led == partitions else f"{led} of {partitions} partitions"

        self._wait_until_all_agree(
            missing, f'topic "{topic}" in cluster "{self.alias}"', timeout_s=TOPIC_APPEARS_S
        )

    def delete_topics(self, *topics: str) -> None:
        """Delete topics and wait until the cluster's brokers know them no more; all of them, if some fail.

        One that somebody has made again since is another one, of the same name.
        """
        if not topics:
            return
        with translated(f'deleting topics {", ".join(topics)} in cluster "{self.alias}"'):
            ids = self._topic_ids(topics)
            answers = self._admin.delete_topics(list(topics), request_timeout=REQUEST_S)
            failures = {topic: error for topic, answer in answers.items() if (error := answer.exception())}
            deleted = answers.keys() - failures.keys()
            self._wait_until_all_agree(
                lambda: ", ".join(t for t, i in self._topic_ids(deleted).items() if i == ids.get(t, i)),
                f'topics {", ".join(sorted(deleted))} gone from cluster "{self.alias}"',
                timeout_s=TOPIC_APPEARS_S,
            )
            for error in failures.values():
                raise error

    def _topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Of those that are there."""
        answers = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=REQUEST_S)
        found = {}
        for topic, answer in answers.items():
            try:
                found[topic] = str(answer.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
        return found

    def _wait_until_all_agree(self, otherwise: Callable[[], str], what: str, *, timeout_s: float) -> None:
        """Each question may go to another broker, and each broker learns of a change in its own time.

        `otherwise` is what the broker that was asked says instead, or nothing.
        """
        agreed = 0

        def observe() -> bool | NotYet:
            nonlocal agreed
            before, agreed = agreed, 0  # also if it cannot be asked
            if said := otherwise():
                return NotYet(f"of some broker: {said}")
            agreed = before + 1
            return agreed >= _ANSWERS or NotYet("not all brokers know it")

        wait_until(observe, timeout_s=timeout_s, what=what, transient=(ClusterError,), pause_s=0.02)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete what lies before an offset of each partition, as retention does when it passes."""
        positions = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
        with translated(f'deleting records of topic "{topic}" in cluster "{self.alias}"'):
            for future in self._admin.delete_records(positions, request_timeout=REQUEST_S).values():
                future.result()

    def wait_for_topic(self, topic: str, *, timeout_s: float = TOPIC_APPEARS_S) -> None:
        """Until the cluster's brokers know it."""
        self._wait_until_all_agree(
            lambda: "" if self.has_topic(topic) else "not in the topic list",
            f'topic "{topic}" in cluster "{self.alias}"',
            timeout_s=timeout_s,
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
        with translated(f'describing topic configs of cluster "{self.alias}"'):
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

        def ask() -> None:
            self._admin.incremental_alter_configs([asked], request_timeout=ATTEMPT_S)[asked].result()

        self._insisting(ask, f'changing the config of topic "{topic}" of cluster "{self.alias}"')


def _topic_config(entry: Any) -> TopicConfig:
    return TopicConfig(
        value=entry.value,
        origin=ConfigSource(entry.source).name.lower(),
        read_only=entry.is_read_only,
        sensitive=entry.is_sensitive,
    )
