"""A topic is read between the offsets that were taken, never up to "latest", and never past a loss."""

import json
from typing import Any

from lab.kafka import Offsets
from lab.spark import SparkSession, topic_frame


class Reader:
    """Stands for a session and its reader: remembers the options and gives them as the frame."""

    def __init__(self) -> None:
        self.read = self
        self.given: dict[str, str] = {}

    def format(self, name: str) -> "Reader":
        self.given["format"] = name
        return self

    def option(self, name: str, value: str) -> "Reader":
        self.given[name] = value
        return self

    def options(self, **options: str) -> "Reader":
        self.given |= options
        return self

    def load(self) -> "Reader":
        return self


def test_a_topic_is_read_between_its_offsets_with_headers() -> None:
    reader: Any = Reader()
    session: SparkSession = reader
    offsets = {0: Offsets(start=3, end=10), 1: Offsets(start=0, end=0)}

    topic_frame(session, "orders", offsets, bootstrap="broker:29092", isolation="read_committed")

    options = dict(reader.given)
    assert json.loads(options.pop("startingOffsets")) == {"orders": {"0": 3, "1": 0}}
    assert json.loads(options.pop("endingOffsets")) == {"orders": {"0": 10, "1": 0}}
    assert options == {
        "format": "kafka",
        "kafka.bootstrap.servers": "broker:29092",
        "kafka.isolation.level": "read_committed",
        "kafka.allow.auto.create.topics": "false",
        "subscribe": "orders",
        "includeHeaders": "true",
    }
