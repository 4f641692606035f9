"""How large a topic's records may be: what each broker says of it, and the limit that it had before."""

from dataclasses import dataclass
from typing import Final

from lab.errors import LabError
from lab.faults import probes
from lab.faults.inverse import Inverse
from lab.faults.probes import Answer
from lab.kafka import Cluster, TopicConfig
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

KEY: Final = "max.message.bytes"
_ASKED: Final = 3  # times: a broker says so a moment before its logs go by it


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
        return f"{KEY} is {each_says(cluster, self.topic, self.value)}"


def limits(cluster: Cluster, topic: str) -> list[TopicConfig]:
    """The topic's limit as each live broker knows it, since not all learn of a change at the same time.

    A client with one address asks that broker. One that stands still soon leads nothing, and is left out.
    """
    listed = cluster.brokers()
    answers = zip(listed, probes.ask_all(listed, probes.kafka_request()), strict=True)
    live = [Cluster(cluster.alias, address) for address, answer in answers if answer is Answer.SAID]
    return [broker.topic_configs([topic])[topic][KEY] for broker in live]


def each_says(cluster: Cluster, topic: str, own: str | None) -> str:
    """Wait until every live broker goes by the topic's own limit, or by none of its own; the limit it has."""
    said = 0

    def observe() -> str | NotYet:
        nonlocal said
        told = limits(cluster, topic)
        said = said + 1 if told and all((now.value if now.own else None) == own for now in told) else 0
        values = ", ".join(sorted({str(now.value) for now in told}))
        return values if said >= _ASKED else NotYet(f"{KEY} is {values}")

    what = f"{KEY} is {own or 'as by default'} at every broker"
    return wait_until(observe, timeout_s=FAULT_SHOWS_S, what=what, transient=(LabError,), pause_s=0.1)
