"""What a cluster answers with: topics, offsets, records, configs, ACLs, in Kafka's words. No client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Place = tuple[str, int]  # a topic and the number of one of its partitions


@dataclass(frozen=True, kw_only=True)
class Offsets:
    """The first offset still there and the next one to be written."""

    start: int
    end: int

    @property
    def count(self) -> int:
        """Records between the two if no transaction marker or compaction left a hole."""
        return self.end - self.start


@dataclass(frozen=True, kw_only=True)
class Topic:
    name: str
    partitions: int
    replicas: int
    offsets: Mapping[int, Offsets]  # of its partitions that have a leader
    leaderless: int = 0

    @property
    def internal(self) -> bool:
        """Whether Kafka, Connect or MM2 made it for themselves."""
        return self.name.startswith("__") or self.name.endswith(".internal") or self.name == "heartbeats"

    @property
    def count(self) -> int:
        return sum(offsets.count for offsets in self.offsets.values())


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where a topic lies, without its offsets, which nobody tells where a partition has no leader."""

    partitions: int
    replicas: int
    leaderless: int


@dataclass(frozen=True, kw_only=True)
class Record:
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    stamped_by_broker: bool = False  # LogAppendTime: when it was written here, not what its producer said


@dataclass(frozen=True, kw_only=True)
class TopicConfig:
    """The value of one key of a topic's config, and who gave it: Kafka's ConfigSource in lower case.

    "dynamic_topic_config" is the topic's own, "default_config" Kafka's default.
    """

    value: str | None
    origin: str
    read_only: bool = False
    sensitive: bool = False

    @property
    def own(self) -> bool:
        return self.origin == "dynamic_topic_config"

    @property
    def default(self) -> bool:
        return self.origin == "default_config"


@dataclass(frozen=True, kw_only=True, order=True)
class Acl:
    """An ACL binding, with Kafka's words in lower case: resource "topic", pattern "literal" …"""

    resource: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


BROKERS_DEFAULT: Final = -1  # as a topic's number of replicas
ABSENT: Final = "absent"  # what we say of a group that a cluster does not list
WITHOUT_MEMBERS: Final = (ABSENT, "empty", "dead")  # states in which nobody of a group reads


@dataclass(frozen=True, kw_only=True)
class GroupOffset:
    offset: int
    metadata: str = ""
