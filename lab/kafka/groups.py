"""A cluster's consumer groups: their states, and what they have committed."""

from collections.abc import Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from lab.kafka.connection import REQUEST_S, Connection, translated
from lab.kafka.values import GroupOffset


class Groups(Connection):
    def group_states(self) -> dict[str, str]:
        """Every consumer group and its state in lower case: "stable" has members, "empty" has none."""
        with translated(f'listing the groups of cluster "{self.alias}"'):
            found = self._admin.list_consumer_groups(request_timeout=REQUEST_S).result()
            if found.errors:
                # a broker did not answer; what the client gives for it is no exception that Python can handle
                raise KafkaException(found.errors[0])
            return {group.group_id: group.state.name.lower() for group in found.valid}

    def group_offsets(self, group: str) -> dict[tuple[str, int], GroupOffset]:
        """What a group has committed, by topic and partition; a group that is not there has nothing."""
        asked = ConsumerGroupTopicPartitions(group)
        with translated(f'listing the offsets of group "{group}" of cluster "{self.alias}"'):
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
        with translated(f'setting the offsets of group "{group}" of cluster "{self.alias}"'):
            futures = self._admin.alter_consumer_group_offsets([asked], request_timeout=REQUEST_S)
            next(iter(futures.values())).result()
