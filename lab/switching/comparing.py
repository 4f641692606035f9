"""The groups of both ends of a flow, partition by partition."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from lab.kafka import ABSENT, Cluster, GroupOffset, Offsets, Place
from lab.lag import Mirrored
from lab.mm2_records import Checkpoint
from lab.switching.judging import Standing, Switch


class Judge(Protocol):
    """What Switching does."""

    def judge(self, standings: Sequence[Standing]) -> list[Switch]: ...


@dataclass(frozen=True, kw_only=True)
class Side:
    """A group in one partition of one cluster. None: it has committed nothing, or there is no such thing."""

    cluster: str
    state: str
    topic: str
    committed: int | None
    end: int | None

    @property
    def lag(self) -> int | None:
        """In offsets, as Kafka's own tools have it."""
        return None if self.committed is None or self.end is None else self.end - self.committed


@dataclass(frozen=True, kw_only=True)
class Compared:
    """`starts_at`: where the group would go on on the target; by its checkpoint if it was not synced yet."""

    group: str
    partition: int
    source: Side
    target: Side
    checkpoint: Checkpoint | None
    starts_at: int | None
    switch: Switch | None  # None: it would start where auto.offset.reset says, or has not begun

    @property
    def from_checkpoint(self) -> bool:
        return self.starts_at is not None and self.target.committed is None


@dataclass(frozen=True, kw_only=True)
class _Cluster:
    """What one cluster says of some groups and topics, at one time."""

    alias: str
    states: Mapping[str, str]
    committed: Mapping[str, Mapping[Place, GroupOffset]]
    there: Mapping[Place, Offsets]

    @classmethod
    def of(cls, cluster: Cluster, topics: Iterable[str], groups: Iterable[str] | None) -> "_Cluster":
        states = cluster.group_states()
        asked = states if groups is None else [group for group in groups if group in states]
        return cls(
            alias=cluster.alias,
            states=states,
            committed={group: cluster.group_offsets(group) for group in asked},
            there=cluster.offsets_of(topics),
        )

    def side(self, group: str, place: Place) -> Side:
        committed, there = self.committed.get(group, {}).get(place), self.there.get(place)
        return Side(
            cluster=self.alias,
            state=self.states.get(group, ABSENT),
            topic=place[0],
            committed=None if committed is None else committed.offset,
            end=None if there is None else there.end,
        )


def compare(
    source: Cluster,
    target: Cluster,
    mirrored: Sequence[Mirrored],
    checkpoints: Iterable[Checkpoint],
    judge: Judge,
    *,
    groups: Iterable[str] | None = None,
) -> list[Compared]:
    """Every group that has committed in a mirrored topic, or its copy; all of them, or those named."""
    here = _Cluster.of(source, {m.topic for m in mirrored}, groups)
    there = _Cluster.of(target, {m.remote for m in mirrored}, groups)
    latest = {(c.group, c.topic, c.partition): c for c in checkpoints}
    remotes = {m.topic: m.remote for m in mirrored}
    rows = list(_rows(here, there, remotes, latest))
    return [judged for _, its in groupby(rows, lambda row: row.group) for judged in _judged(list(its), judge)]


def _rows(
    here: _Cluster,
    there: _Cluster,
    remotes: Mapping[str, str],
    latest: Mapping[tuple[str, str, int], Checkpoint],
) -> Iterator[Compared]:
    places = sorted(here.there)
    for group in sorted({*here.committed, *there.committed}):
        for topic, partition in places:
            remote = remotes[topic]
            source, target = here.side(group, (topic, partition)), there.side(group, (remote, partition))
            if source.committed is None and target.committed is None:
                continue
            checkpoint = latest.get((group, remote, partition))
            by_checkpoint = None if checkpoint is None else checkpoint.downstream
            yield Compared(
                group=group,
                partition=partition,
                source=source,
                target=target,
                checkpoint=checkpoint,
                starts_at=by_checkpoint if target.committed is None else target.committed,
                switch=None,
            )


def _judged(rows: Sequence[Compared], judge: Judge) -> list[Compared]:
    """Of one group."""
    standings = {
        index: Standing(
            topic=row.source.topic,
            remote=row.target.topic,
            partition=row.partition,
            committed=row.source.committed,
            starts_at=row.starts_at,
        )
        for index, row in enumerate(rows)
        if row.source.committed is not None and row.starts_at is not None and row.target.end is not None
    }
    switches = dict(zip(standings, judge.judge(list(standings.values())), strict=True)) if standings else {}
    return [replace(row, switch=switches.get(index)) for index, row in enumerate(rows)]
