"""How far a source connector says that it got, beside where its source's partitions end."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Place = tuple[str, int]  # a topic and the number of one of its partitions


@dataclass(frozen=True, kw_only=True)
class Position:
    """Offsets of one source partition: the next that the connector will read, and the source's end.

    `committed` is what Connect would go on from after a crash; it is written every
    `offset.flush.interval.ms`, so it may lie behind what the target has already.
    """

    topic: str
    partition: int
    committed: int | None  # None: nothing yet
    end: int | None  # None: the source has no such partition (any more)

    @property
    def behind(self) -> int | None:
        return None if self.committed is None or self.end is None else self.end - self.committed


def committed(
    entries: Iterable[Mapping[str, Any]], *, source_alias: str | None = None
) -> dict[Place, int | None]:
    """From the worker's answer, which names the last offset that was read; other connectors keep none.

    A connector that was given another alias of its source keeps what it had under the old one.
    """
    found: dict[Place, int | None] = {}
    for entry in entries:
        partition, offset = entry["partition"], entry["offset"]
        if {"cluster", "topic", "partition"} <= partition.keys() and source_alias in (
            None,
            partition["cluster"],
        ):
            last = None if offset is None else offset.get("offset")
            found[partition["topic"], int(partition["partition"])] = None if last is None else int(last) + 1
    return found


def assigned(task_configs: Iterable[Mapping[str, str]]) -> Iterator[Place]:
    """The partitions that tasks mirror."""
    for config in task_configs:
        for text in filter(None, config.get("task.assigned.partitions", "").split(",")):
            topic, _, partition = text.rpartition("-")
            yield topic, int(partition)


def positions(
    done: Mapping[Place, int | None], mirrored: Iterable[Place], ends: Mapping[Place, int]
) -> list[Position]:
    """Every partition that is mirrored now or was, in order."""
    return [
        Position(topic=topic, partition=number, committed=done.get(place), end=ends.get(place))
        for place in sorted({*done, *mirrored})
        for topic, number in (place,)
    ]
