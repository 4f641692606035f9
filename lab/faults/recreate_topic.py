"""A topic is deleted and created again: its offsets begin anew, and MM2 remembers the old ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from lab.errors import BadInput
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.inverse import Nothing
from lab.kafka import Cluster


@dataclass(frozen=True, kw_only=True)
class RecreateTopic:
    """Delete a topic and create it again, with its partitions, replicas and own config."""

    name: ClassVar[str] = "recreate-topic"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = False

    cluster: str
    topic: str

    def check(self, lab: Ground, mark: Mark) -> "Recreating":
        cluster = lab.cluster(self.cluster)
        found = {topic.name: topic for topic in cluster.topics()}
        if self.topic not in found:
            raise BadInput(f'cluster "{self.cluster}" has no topic "{self.topic}"', 'see "lab topics"')
        configs = cluster.topic_configs([self.topic])[self.topic]
        topic = found[self.topic]
        return Recreating(
            cluster,
            self.topic,
            cluster.topic_id(self.topic),
            topic.partitions,
            topic.replicas,
            {key: config.value for key, config in configs.items() if config.own and config.value is not None},
        )


@dataclass(frozen=True)
class Recreating:
    cluster: Cluster
    topic: str
    id: str
    partitions: int
    replicas: int
    configs: Mapping[str, str]

    @property
    def what(self) -> str:
        return f"recreate {self.topic} on {self.cluster.alias}"

    @property
    def inverse(self) -> Nothing:
        return Nothing(why="a topic that was deleted is gone with its records")

    def inject(self) -> None:
        self.cluster.delete_topics(self.topic)
        self.cluster.create_topic(
            self.topic, partitions=self.partitions, replicas=self.replicas, configs=self.configs
        )

    def prove(self) -> str:
        now = self.cluster.topic_id(self.topic)
        if now == self.id:
            raise FaultNotObserved(f'topic "{self.topic}" is the same as before, {now}')
        count = len(self.cluster.offsets(self.topic))
        if count != self.partitions:  # somebody who asked for it meanwhile may have created it
            raise FaultNotObserved(f'topic "{self.topic}" has {count} partitions, not {self.partitions}')
        return f"{self.topic} was {self.id} and is {now}"
