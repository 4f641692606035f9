"""Cluster: the one handle that the lab has on a Kafka cluster."""

from collections.abc import Iterator
from contextlib import closing

from confluent_kafka import Consumer, Producer

from lab.kafka.acls import Acls
from lab.kafka.connection import QUIET, ClusterError
from lab.kafka.groups import Groups
from lab.kafka.reading import Reader, not_read_to_its_end, records
from lab.kafka.topics import Topics
from lab.kafka.values import Place, Record
from lab.wait import CLUSTER_ANSWERS_S, RECORDS_ARRIVE_S, NotYet, wait_until


class Cluster(Topics, Groups, Acls):
    """One Kafka cluster under its MM2 alias: whether it answers, its topics, groups and ACLs, its records."""

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

    def producer(self, **config: object) -> Producer:
        return Producer(self.client_config(**config), logger=QUIET)

    def consumer(self, **config: object) -> Consumer:
        """A member of a group, once it subscribes; what it commits stays in the cluster."""
        return Consumer(self.client_config(**config), logger=QUIET)

    def read(self, topic: str, *, from_start: bool, idle_s: float | None = None) -> Iterator[Record]:
        """Records as they come; with `from_start` those already there first. Ends after `idle_s` of silence.

        Partitions are assigned, not subscribed: no group, no rebalance, nothing left in the cluster.
        """
        starts = {p: o.start if from_start else o.end for p, o in self.offsets(topic).items()}
        yield from records(self, topic, starts, idle_s=idle_s)

    def snapshot(self, topic: str) -> list[Record]:
        """The records that are there at this moment, without headers; none of a topic that is not there."""
        ranges = {place: (o.start, o.end) for place, o in self.offsets_of([topic]).items() if o.count}
        found: list[Record] = []

        def take(_: Place, record: Record) -> bool:
            found.append(record)
            return True

        if ranges:
            with closing(Reader(self)) as reader:
                read = reader.read(ranges, take, timeout_s=RECORDS_ARRIVE_S)
            if short := [place for place, (_, end) in ranges.items() if read[place] < end]:
                where = ", ".join(f"partition {p} at {read[t, p]} of {ranges[t, p][1]}" for t, p in short)
                raise not_read_to_its_end(self, topic, where)
        return found
