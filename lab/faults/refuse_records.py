"""Records that are too large for the target: what the source took, the other side refuses."""

from dataclasses import dataclass
from typing import Any, ClassVar

from lab.errors import BadInput
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.topic_limit import KEY, RestoreLimit, each_says, limits
from lab.faults.topics import require_no_login, require_topic
from lab.kafka import Cluster, KafkaError, KafkaException, Message
from lab.wait import FAULT_SHOWS_S


@dataclass(frozen=True, kw_only=True)
class RefuseRecords:
    """Let a topic refuse records, and batches of them, larger than `max_bytes`; undone by its old limit."""

    name: ClassVar[str] = "refuse-records"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    cluster: str
    topic: str
    max_bytes: int

    def check(self, lab: Ground, mark: Mark) -> "Refusing":
        cluster = lab.cluster(self.cluster)
        require_no_login(cluster)
        require_topic(cluster, self.topic)
        now = cluster.topic_configs([self.topic])[self.topic][KEY]
        if not 0 < self.max_bytes < int(now.value or 0):
            raise BadInput(f"{self.max_bytes} bytes are no new limit", f"the topic's is {now.value} bytes")
        inverse = RestoreLimit(
            alias=cluster.alias,
            bootstrap=cluster.bootstrap,
            topic=self.topic,
            value=now.value if now.own else None,
        )
        return Refusing(cluster, self.topic, self.max_bytes, inverse)


@dataclass(frozen=True)
class Refusing:
    cluster: Cluster
    topic: str
    max_bytes: int
    inverse: RestoreLimit

    @property
    def what(self) -> str:
        return f"refuse records of {self.topic} on {self.cluster.alias} above {self.max_bytes:,} bytes"

    def inject(self) -> None:
        self.cluster.set_topic_config(self.topic, **{KEY: str(self.max_bytes)})
        each_says(self.cluster, self.topic, str(self.max_bytes))

    def prove(self) -> str:
        """By a record that is too large, sent once the brokers have said that they will refuse it."""
        told = {now.value for now in limits(self.cluster, self.topic)}
        if other := told - {str(self.max_bytes)}:
            raise FaultNotObserved(f"{KEY} of topic {self.topic} is {other.pop()}", "who else sets it?")
        if not self._is_refused():
            raise FaultNotObserved(f"topic {self.topic} took a record of {self.max_bytes + 1:,} bytes")
        return f"a record of {self.max_bytes + 1:,} bytes was refused"

    def _is_refused(self) -> bool:
        told: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            told.append(error)

        settings: dict[str, Any] = {"message.max.bytes": 2 * self.max_bytes + 10_000, "retries": 0}
        producer = self.cluster.producer(**settings)
        try:
            producer.produce(self.topic, b"\0" * (self.max_bytes + 1), partition=0, on_delivery=delivered)
        except KafkaException as error:
            raise FaultNotObserved(f"no record could be sent: {error}") from error
        producer.flush(FAULT_SHOWS_S)
        if not told:
            raise FaultNotObserved(f"topic {self.topic} answered nothing within {FAULT_SHOWS_S:g} s")
        return told[0] is not None and told[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
