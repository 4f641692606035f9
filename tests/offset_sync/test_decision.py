"""What is written on the destination, what is refused, and with which words."""

import pytest

from lab.errors import BadInput, LabError
from lab.kafka import GroupOffset, Offsets
from lab.mm2 import CUSTOM_POLICY, DEFAULT_POLICY, IDENTITY_POLICY
from lab.mm2_records import Checkpoint
from lab.offset_sync import Decision, Why, Write, decide, missing, require_policy

HERE = {("a.t", 0): Offsets(start=0, end=100), ("a.t", 1): Offsets(start=0, end=100)}


def checkpoint(downstream: int, partition: int = 0, *, topic: str = "a.t", metadata: str = "") -> Checkpoint:
    return Checkpoint(
        group="app",
        topic=topic,
        partition=partition,
        upstream=downstream + 5,
        downstream=downstream,
        metadata=metadata,
        offset=0,
        written_ms=0,
    )


def decided(*checkpoints: Checkpoint, state: str = "empty", **committed: int) -> Decision:
    """`p0=10`: partition 0 is committed at 10."""
    there = {("a.t", int(name[1:])): GroupOffset(offset=offset) for name, offset in committed.items()}
    return decide("app", checkpoints, cluster="b", state=state, committed=there, there=HERE)


@pytest.mark.parametrize("state", ["absent", "empty", "dead"])
def test_a_group_without_members_gets_its_checkpoints_with_their_metadata(state: str) -> None:
    done = decided(checkpoint(40, metadata="m"), checkpoint(7, partition=1), state=state, p1=3)

    assert done.writes == (
        Write(topic="a.t", partition=0, before=None, offset=40, upstream=45, metadata="m"),
        Write(topic="a.t", partition=1, before=3, offset=7, upstream=12, metadata=""),
    )
    assert (done.unchanged, done.refused) == ((), ())
    assert done.offsets == {
        ("a.t", 0): GroupOffset(offset=40, metadata="m"),
        ("a.t", 1): GroupOffset(offset=7),
    }


@pytest.mark.parametrize("state", ["stable", "preparing_rebalancing", "completing_rebalancing", "unknown"])
def test_of_a_group_that_is_in_use_nothing_is_written(state: str) -> None:
    done = decided(checkpoint(40), state=state)

    assert (done.writes, done.unchanged) == ((), ())
    (refusal,) = done.refused
    assert refusal.why is Why.ACTIVE
    assert refusal.message == f'group "app" is {state} in cluster "b": its members there say where it is'
    assert type(refusal.error) is LabError


def test_what_is_there_already_is_left_alone() -> None:
    done = decided(checkpoint(40), p0=40)

    assert (done.writes, done.unchanged, done.refused) == ((), (("a.t", 0),), ())


def test_no_offset_is_moved_back_and_the_other_partitions_are_written() -> None:
    done = decided(checkpoint(40), checkpoint(50, partition=1), p0=41, p1=49)

    assert [(w.partition, w.offset) for w in done.writes] == [(1, 50)]
    (refusal,) = done.refused
    assert (refusal.why, refusal.topic, refusal.partition) == (Why.REWIND, "a.t", 0)
    assert refusal.message == (
        'group "app" has committed 41 in a.t/0 of cluster "b", further than the 40 of its checkpoint'
    )


def test_the_end_itself_can_be_written_and_nothing_beyond_it() -> None:
    done = decided(checkpoint(100), checkpoint(101, partition=1))

    assert [w.offset for w in done.writes] == [100]
    assert [r.why for r in done.refused] == [Why.BEYOND]
    assert 'at 101 of a.t/1, beyond its end 100 in cluster "b"' in done.refused[0].message


def test_a_partition_that_is_not_there_is_named() -> None:
    done = decided(checkpoint(1, topic="t"), checkpoint(1))

    assert [w.topic for w in done.writes] == ["a.t"]
    assert [(r.why, r.topic) for r in done.refused] == [(Why.GONE, "t")]
    assert done.refused[0].message == 'group "app" has a checkpoint for t/0, which cluster "b" has not'
    assert "replication.policy.class" in done.refused[0].remedy


def test_a_group_without_checkpoints_is_bad_input_and_the_nearest_is_named() -> None:
    (refusal,) = missing("ap", "b", "a.checkpoints.internal", ["app", "other"]).refused

    assert refusal.message == 'no checkpoint of group "ap" in topic "a.checkpoints.internal" of cluster "b"'
    assert refusal.remedy.startswith('did you mean "app"? has it committed on the source')
    assert isinstance(refusal.error, BadInput)


@pytest.mark.parametrize(
    ("policy", "topics"),
    [
        (DEFAULT_POLICY, ["a.t", "a.u"]),
        (IDENTITY_POLICY, ["t"]),
        (CUSTOM_POLICY, ["t"]),
        (IDENTITY_POLICY, ["t", "a.of-that-name"]),
        (DEFAULT_POLICY, []),
        (IDENTITY_POLICY, []),
    ],
)
def test_names_that_fit_the_policy_pass(policy: str, topics: list[str]) -> None:
    require_policy(policy, [checkpoint(1, topic=t) for t in topics], source="a", separator=".")


@pytest.mark.parametrize(
    ("policy", "separator", "topics", "told"),
    [
        (DEFAULT_POLICY, ".", ["a.t", "u"], '"u": DefaultReplicationPolicy would have it begin with "a."'),
        (DEFAULT_POLICY, "-", ["a.t"], '"a.t": DefaultReplicationPolicy would have it begin with "a-"'),
        (IDENTITY_POLICY, ".", ["a.t"], '"a.t": IdentityReplicationPolicy would not put "a." before it'),
    ],
)
def test_names_that_do_not_fit_are_bad_input(
    policy: str, separator: str, topics: list[str], told: str
) -> None:
    with pytest.raises(BadInput) as caught:
        require_policy(policy, [checkpoint(1, topic=t) for t in topics], source="a", separator=separator)

    assert caught.value.message == f"checkpoints name topic {told}"
