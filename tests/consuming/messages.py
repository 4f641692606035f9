"""Records as a consumer gets them."""

from typing import Any

from lab.kafka import KafkaError, Message
from lab.records import payload, record_id


class Received:
    def __init__(self, topic: str, partition: int, offset: int, value: bytes | None) -> None:
        self._place, self._offset, self._value = (topic, partition), offset, value

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> None:
        return None

    def error(self) -> KafkaError | None:
        return None


def message(partition: int, offset: int, sequence: int | None = None, topic: str = "orders") -> Message:
    """With a sequence one of run "cafe", else somebody else's."""
    value = b"tea" if sequence is None else payload(record_id("cafe", sequence), 40)
    stands_in: Any = Received(topic, partition, offset, value)
    return stands_in
