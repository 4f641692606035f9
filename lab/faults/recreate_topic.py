"""A topic is deleted and created again: its offsets begin anew, and MM2 remembers the old ones."""

from dataclasses import dataclass
from typing import ClassVar

from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.inverse import Inverse
from lab.faults.topics import require_no_login, require_topic
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
        require_no_login(cluster)
        layout = require_topic(cluster, self.topic)
        configs = cluster.topic_configs([self.topic])[self.topic]
        own = {
            key: config.value for key, config in configs.items() if config.own and config.value is not None
        }
        inverse = CreateAgain(
            alias=cluster.alias,
            bootstrap=cluster.bootstrap,
            topic=self.topic,
            partitions=layout.partitions,
            replicas=layout.replicas,
            configs=tuple(own.items()),
        )
        return Recreating(cluster, cluster.topic_id(self.topic), inverse)


@dataclass(frozen=True, kw_only=True)
class CreateAgain(Inverse):
    """A topic that was deleted and is not there, without the records that are gone with the old one."""

    alias: str
    bootstrap: str
    topic: str
    partitions: int
    replicas: int
    configs: tuple[tuple[str, str], ...]

    def undo(self) -> None:
        cluster = Cluster(self.alias, self.bootstrap)
        if not cluster.has_topic(self.topic):
            self.create(cluster)

    def create(self, cluster: Cluster) -> None:
        cluster.create_topic(
            self.topic, partitions=self.partitions, replicas=self.replicas, configs=dict(self.configs)
        )

    def prove(self) -> str:
        layout = require_topic(Cluster(self.alias, self.bootstrap), self.topic)
        return f"topic {self.topic} is there, with {layout.partitions} partitions; its old records are gone"


@dataclass(frozen=True)
class Recreating:
    cluster: Cluster
    id: str
    inverse: CreateAgain

    @property
    def what(self) -> str:
        return f"recreate {self.inverse.topic} on {self.cluster.alias}"

    def inject(self) -> None:
        self.cluster.delete_topics(self.inverse.topic)
        self.inverse.create(self.cluster)

    def prove(self) -> str:
        topic, wanted = self.inverse.topic, self.inverse.partitions
        now = self.cluster.topic_id(topic)
        if now == self.id:
            raise FaultNotObserved(f'topic "{topic}" is the same as before, {now}')
        count = len(self.cluster.offsets(topic))
        if count != wanted:  # somebody who asked for it meanwhile may have created it
            raise FaultNotObserved(f'topic "{topic}" has {count} partitions, not {wanted}')
        return f"{topic} was {self.id} and is {now}"
