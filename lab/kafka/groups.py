"""A cluster's consumer groups: their states, and what they have committed."""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from lab.kafka.connection import ATTEMPT_S, REQUEST_S, Connection, translated
from lab.kafka.values import GroupOffset, Place

# A cluster's first group ever makes it create the topic that keeps offsets. Until that has a leader which has
# read it, some of these come, and the client does not ask again by itself.
_NO_COORDINATOR_YET: Final = frozenset(
    (
        *(KafkaError._TIMED_OUT, KafkaError.NOT_COORDINATOR),
        *(KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS),
    )
)


class Groups(Connection):
    def group_states(self, *, timeout_s: float = REQUEST_S) -> dict[str, str]:
        """Every consumer group and its state in lower case: "stable" has members, "empty" has none."""
        with translated(f'listing the groups of cluster "{self.alias}"'):
            found = self._admin.list_consumer_groups(request_timeout=timeout_s).result()
            if found.errors:
                # a broker did not answer; what the client gives for it is no exception that Python can handle
                raise KafkaException(found.errors[0])
            return {group.group_id: group.state.name.lower() for group in found.valid}

    def group_offsets(self, group: str) -> dict[Place, GroupOffset]:
        """What a group has committed, by topic and partition; a group that is not there has nothing."""
        with translated(f'listing the offsets of group "{group}" of cluster "{self.alias}"'):
            try:
                found = self._group_offsets(group)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._TIMED_OUT:
                    raise
                self._renew()
                found = self._group_offsets(group)
            return {
                (tp.topic, tp.partition): GroupOffset(offset=tp.offset, metadata=tp.metadata or "")
                for tp in found
                if tp.offset >= 0
            }

    def _group_offsets(self, group: str) -> list[TopicPartition]:
        asked = ConsumerGroupTopicPartitions(group)
        futures = self._admin.list_consumer_group_offsets([asked], request_timeout=REQUEST_S)
        return list(next(iter(futures.values())).result().topic_partitions)

    def commit(self, group: str, offsets: Mapping[Place, GroupOffset]) -> None:
        """Set what a group without members has committed; the cluster refuses it for one that has some."""
        # the client ends metadata with a zero byte, and of none it would send just that
        places = [
            TopicPartition(topic, partition, given.offset, *([given.metadata] if given.metadata else []))
            for (topic, partition), given in offsets.items()
        ]
        asked = ConsumerGroupTopicPartitions(group, places)

        def ask() -> None:
            futures = self._admin.alter_consumer_group_offsets([asked], request_timeout=ATTEMPT_S)
            for place in next(iter(futures.values())).result().topic_partitions:
                if place.error is not None:  # the request as a whole went well
                    raise KafkaException(place.error)

        doing = f'setting the offsets of group "{group}" of cluster "{self.alias}"'
        self._insisting(ask, doing, transient=_NO_COORDINATOR_YET)
