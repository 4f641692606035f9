"""A round on a cluster that is a dict: what it asks, what it writes, and what it does when that fails."""

import struct
from collections.abc import Iterable, Mapping
from typing import cast

import pytest

from lab.errors import BadInput
from lab.kafka import Cluster, ClusterError, GroupOffset, Offsets, Place, Record
from lab.mm2 import DEFAULT_POLICY, IDENTITY_POLICY
from lab.offset_sync import GroupSync, Why


class Destination:
    """A cluster of one mirrored topic of one partition, and its groups."""

    alias = "b"

    def __init__(self, *checkpoints: Record, topic: str = "a.checkpoints.internal") -> None:
        self.topic, self.checkpoints = topic, checkpoints
        self.states: dict[str, str] = {}
        self.committed: dict[str, dict[Place, GroupOffset]] = {}
        self.refuses = False

    def has_topic(self, topic: str) -> bool:
        return topic == self.topic

    def snapshot(self, topic: str) -> list[Record]:
        assert topic == self.topic
        return list(self.checkpoints)

    def group_states(self) -> dict[str, str]:
        return self.states

    def group_offsets(self, group: str) -> dict[Place, GroupOffset]:
        assert group in self.states, "the first group ever would make the cluster create a topic"
        return self.committed[group]

    def offsets_of(self, topics: Iterable[str]) -> dict[Place, Offsets]:
        return {("a.t", 0): Offsets(start=0, end=100)} if "a.t" in set(topics) else {}

    def commit(self, group: str, offsets: Mapping[Place, GroupOffset]) -> None:
        if self.refuses:
            raise ClusterError("setting the offsets failed: unknown member", "see there")
        self.committed.setdefault(group, {}).update(offsets)
        self.states.setdefault(group, "empty")


def checkpoint(offset: int, group: str, downstream: int, *, topic: str = "a.t") -> Record:
    key = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, topic)) + bytes(4)
    value = struct.pack(">hqqh", 0, downstream + 5, downstream, 0)
    return Record(partition=0, offset=offset, timestamp_ms=0, key=key, value=value, headers=())


def sync(
    destination: Destination, *groups: str, policy: str | None = None, separator: str = "."
) -> GroupSync:
    return GroupSync(
        destination=cast(Cluster, destination), source="a", groups=groups, policy=policy, separator=separator
    )


def test_the_newest_checkpoint_of_each_group_is_written() -> None:
    there = Destination(checkpoint(0, "app", 10), checkpoint(1, "other", 11), checkpoint(2, "app", 20))
    decisions = sync(there, "app", "other").decide()
    assert there.committed == {}, "deciding writes nothing"

    for decision in decisions:
        sync(there, "app").write(decision)

    assert there.committed == {
        "app": {("a.t", 0): GroupOffset(offset=20)},
        "other": {("a.t", 0): GroupOffset(offset=11)},
    }
    again = sync(there, "app", "other").decide()
    assert [(d.writes, d.unchanged) for d in again] == [((), (("a.t", 0),))] * 2


def test_a_group_in_use_and_one_without_checkpoint_get_nothing() -> None:
    there = Destination(checkpoint(0, "app", 10))
    there.states, there.committed = {"app": "stable"}, {"app": {}}
    decisions = sync(there, "app", "ap").decide()

    assert [sync(there, "app").write(d) for d in decisions] == decisions
    assert there.committed == {"app": {}}
    assert [[r.why for r in d.refused] for d in decisions] == [[Why.ACTIVE], [Why.MISSING]]


def test_what_the_cluster_does_not_take_is_refused_and_not_called_written() -> None:
    there = Destination(checkpoint(0, "app", 10))
    there.refuses = True
    (decision,) = sync(there, "app").decide()

    done = sync(there, "app").write(decision)

    assert done.writes == ()
    assert [(r.why, r.message) for r in done.refused] == [
        (Why.FAILED, "setting the offsets failed: unknown member")
    ]


def test_the_separator_is_part_of_the_topics_name() -> None:
    there = Destination(checkpoint(0, "app", 10), topic="a-checkpoints-internal")

    assert sync(there, "app", separator="-").decide()[0].writes
    with pytest.raises(BadInput) as caught:
        sync(there, "app").decide()
    assert caught.value.message == 'cluster "b" has no topic "a.checkpoints.internal"'


def test_a_policy_that_does_not_fit_refuses_everything() -> None:
    there = Destination(checkpoint(0, "app", 10), checkpoint(1, "else", 3, topic="t"))

    assert sync(there, "app", policy=DEFAULT_POLICY).decide()[0].writes
    with pytest.raises(BadInput, match=r'IdentityReplicationPolicy would not put "a\." before it'):
        sync(there, "app", policy=IDENTITY_POLICY).decide()
