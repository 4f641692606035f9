"""Records read without a group: nothing is left in the cluster, and nobody is rebalanced."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from lab.kafka.connection import QUIET, ClusterError, Connection, translated
from lab.kafka.values import Place, Record
from lab.wait import CLUSTER_ANSWERS_S


def records(
    cluster: Connection, topic: str, starts: Mapping[int, int], *, idle_s: float | None
) -> Iterator[Record]:
    """The records of a topic from an offset of each partition on, until `idle_s` of silence.

    Silence says something only once each partition was read to its end: brokers may be slow to answer.
    """
    config = cluster.client_config(
        **{
            "group.id": f"lab-read-{uuid.uuid4().hex[:8]}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    unread = set(starts)
    with closing(Consumer(config, logger=QUIET)) as consumer, translated(f'reading topic "{topic}"'):
        consumer.assign([TopicPartition(topic, partition, start) for partition, start in starts.items()])
        quiet_since = time.monotonic()
        while idle_s is None or time.monotonic() - quiet_since < (CLUSTER_ANSWERS_S if unread else idle_s):
            message = consumer.poll(0.2)
            if message is None:
                continue
            if not _is_end(message):
                yield _record(message)
            elif message.partition() in unread:
                unread.remove(message.partition())
            else:
                continue
            quiet_since = time.monotonic()
    if unread:
        raise not_read_to_its_end(cluster, topic, ", ".join(f"partition {p}" for p in sorted(unread)))


def not_read_to_its_end(cluster: Connection, topic: str, where: str) -> ClusterError:
    return ClusterError(
        f'topic "{topic}" of cluster "{cluster.alias}" was not read to its end: {where}', 'see "lab status"'
    )


def _is_end(message: Message) -> bool:
    """Whether it tells of the end of a partition, in place of a record."""
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return error is not None


class Reader:
    """One consumer, kept for many short readings of whichever partitions, without a group.

    It connects once: a new consumer would spend longer on that than on the reading.
    """

    def __init__(self, cluster: Connection, *, isolation: str = "read_uncommitted") -> None:
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
        with translated(self._what):
            self._consumer = Consumer(config, logger=QUIET)

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
        with translated(self._what):
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
        place, at_end = (message.topic(), message.partition()), _is_end(message)
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
