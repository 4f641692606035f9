"""Records that are too large for the target: what the source took, the other side refuses."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lab.errors import BadInput, LabError
from lab.faults import probes
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.inverse import Inverse
from lab.faults.probes import Answer
from lab.kafka import Cluster, KafkaError, KafkaException, Message, TopicConfig
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

KEY: Final = "max.message.bytes"
_ASKED: Final = 3  # times: a broker says so a moment before its logs go by it


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
        if cluster.properties:
            raise BadInput(
                f'cluster "{self.cluster}" asks for a login, which the journal must not hold',
                "choose one that does not",
            )
        if not cluster.has_topic(self.topic):
            raise BadInput(f'cluster "{self.cluster}" has no topic "{self.topic}"', 'see "lab topics"')
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


@dataclass(frozen=True, kw_only=True)
class RestoreLimit(Inverse):
    """The topic's own limit as it was, or none of its own."""

    alias: str
    bootstrap: str
    topic: str
    value: str | None

    def undo(self) -> None:
        cluster = Cluster(self.alias, self.bootstrap)
        if cluster.has_topic(self.topic):
            cluster.set_topic_config(self.topic, **{KEY: self.value})

    def prove(self) -> str:
        cluster = Cluster(self.alias, self.bootstrap)
        if not cluster.has_topic(self.topic):
            return f"topic {self.topic} is gone"
        return f"{KEY} is {_each_says(cluster, self.topic, self.value)}"


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
        _each_says(self.cluster, self.topic, str(self.max_bytes))

    def prove(self) -> str:
        """By a record that is too large, sent once the brokers have said that they will refuse it."""
        told = {now.value for now in _limits(self.cluster, self.topic)}
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
        return bool(told) and told[0] is not None and told[0].code() == KafkaError.MSG_SIZE_TOO_LARGE


def _limits(cluster: Cluster, topic: str) -> list[TopicConfig]:
    """The topic's limit as each live broker knows it, since not all learn of a change at the same time.

    A client with one address asks that broker. One that stands still soon leads nothing, and is left out.
    """
    listed = cluster.brokers()
    answers = zip(listed, probes.ask_all(listed, probes.kafka_request()), strict=True)
    live = [Cluster(cluster.alias, address) for address, answer in answers if answer is Answer.SAID]
    return [broker.topic_configs([topic])[topic][KEY] for broker in live]


def _each_says(cluster: Cluster, topic: str, own: str | None) -> str:
    """Wait until every live broker goes by the topic's own limit, or by none of its own; the limit it has."""
    said = 0

    def observe() -> str | NotYet:
        nonlocal said
        told = _limits(cluster, topic)
        said = said + 1 if told and all((now.value if now.own else None) == own for now in told) else 0
        values = ", ".join(sorted({str(now.value) for now in told}))
        return values if said >= _ASKED else NotYet(f"{KEY} is {values}")

    what = f"{KEY} is {own or 'as by default'} at every broker"
    return wait_until(observe, timeout_s=FAULT_SHOWS_S, what=what, transient=(LabError,), pause_s=0.1)
