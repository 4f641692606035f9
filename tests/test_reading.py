"""Records are read until silence, and silence counts only once each partition was read to its end."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from lab.kafka import Cluster, ClusterError, KafkaError, reading
from lab.kafka.reading import records

SLOW = 20  # polls without an answer: 4 s


class Clock:
    """A poll takes as long as it may."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Message:
    def __init__(self, partition: int, offset: int, *, error: int | None = None) -> None:
        self._partition, self._offset, self._error = partition, offset, error

    def error(self) -> KafkaError | None:
        return None if self._error is None else KafkaError(self._error)

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000

    def key(self) -> bytes | None:
        return None

    def value(self) -> bytes:
        return b"%d" % self._offset

    def headers(self) -> None:
        return None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(reading, "time", clock)
    return clock


def answers(monkeypatch: pytest.MonkeyPatch, clock: Clock, *messages: Message | None) -> None:
    told: Iterator[Message | None] = iter(messages)

    def poll(timeout_s: float) -> Message | None:
        message = next(told, None)
        clock.now += 0.0 if message else timeout_s
        return message

    def consumer(config: dict[str, Any], **_: Any) -> SimpleNamespace:
        assert config["enable.partition.eof"] is True
        return SimpleNamespace(assign=lambda _: None, poll=poll, close=lambda: None)

    monkeypatch.setattr(reading, "Consumer", consumer)


END = KafkaError._PARTITION_EOF
CLUSTER = Cluster("source", "broker:9092")


def read(starts: dict[int, int]) -> list[int]:
    return [record.offset for record in records(CLUSTER, "orders", starts, idle_s=1.0)]


def test_silence_ends_what_was_read_to_its_end(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    answers(monkeypatch, clock, Message(0, 0), Message(0, 1), Message(0, 2, error=END), None, Message(0, 2))

    assert read({0: 0}) == [0, 1, 2]
    assert 1.0 <= clock.now <= 1.5


def test_brokers_may_be_slow_to_answer(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    slow = [None] * SLOW
    answers(
        monkeypatch, clock, *slow, Message(0, 0), Message(0, 1, error=END), *slow, Message(1, 5, error=END)
    )

    assert read({0: 0, 1: 5}) == [0]


def test_a_partition_that_was_not_read_to_its_end_is_named(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    answers(monkeypatch, clock, Message(0, 0), Message(0, 1, error=END))

    with pytest.raises(
        ClusterError, match=r'"orders" of cluster "source" was not read .*: partition 1'
    ) as told:
        read({0: 0, 1: 5})
    assert told.value.hint == 'see "lab status"'


def test_what_a_client_is_told_otherwise_ends_it(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    answers(monkeypatch, clock, Message(0, 0, error=KafkaError.TOPIC_AUTHORIZATION_FAILED))

    with pytest.raises(ClusterError):
        read({0: 0})
