"""Kafka's console consumer as a member of a group, with an account like that of the lab's own application."""

import re
from dataclasses import dataclass
from pathlib import Path

from lab.consuming import Heading, recover
from lab.consuming.account import Account
from lab.harness import Lab
from lab.kafka import Cluster, Place

_LITTLE = "KAFKA_HEAP_OPTS=-Xmx64m"
_SHOW = "--property print.partition=true --property print.offset=true"


def read(lab: Lab, cluster: Cluster, group: str, topic: str, count: int, folder: Path) -> Path:
    """So many records; it commits when it has them, and leaves."""
    told = lab.shell(
        "msksource",  # which has the memory for clients; the records may be of another cluster
        f"{_LITTLE} kafka-console-consumer.sh --bootstrap-server {lab.internal_bootstrap(cluster.alias)} "
        f"--group {group} --topic {topic} --from-beginning {_SHOW} --max-messages {count} "
        "--timeout-ms 60000 2>/dev/null",
    )
    account = Account(folder, Heading(cluster=cluster.alias, group=group))
    account.processed([Printed.of(topic, line) for line in told.splitlines()])
    account.close()
    return recover(folder)


@dataclass(frozen=True)
class Printed:
    """A record as Kafka's console consumer printed it: partition, offset and value."""

    place: Place
    at: int
    text: str

    @classmethod
    def of(cls, topic: str, line: str) -> "Printed":
        found = re.fullmatch(r"Partition:(\d+)\tOffset:(\d+)\t(.*)", line)
        assert found, line
        return cls((topic, int(found[1])), int(found[2]), found[3])

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes:
        return self.text.encode()

    def headers(self) -> None:
        return None
