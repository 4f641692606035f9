"""Which group offsets to write on the destination, and which not.

The rules are those of MM2's own `sync.group.offsets.enabled`: a group's offsets are written only while
nobody of it reads on the destination, and no offset is ever moved back. One more is ours: an offset that
the destination's partition does not have is not written either.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lab.errors import BadInput, LabError, nearest
from lab.kafka import WITHOUT_MEMBERS, GroupOffset, Offsets, Place
from lab.mm2 import KEEPING_NAMES
from lab.mm2_records import Checkpoint


class Why(StrEnum):
    """Why something is not written."""

    MISSING = "no checkpoint"
    ACTIVE = "active"
    REWIND = "rewind"
    GONE = "no such partition"
    BEYOND = "beyond the end"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Of a whole group, or of one of its partitions."""

    group: str
    why: Why
    message: str
    remedy: str
    topic: str | None = None
    partition: int | None = None

    @property
    def error(self) -> LabError:
        kind = BadInput if self.why is Why.MISSING else LabError
        return kind(self.message, self.remedy)


@dataclass(frozen=True, kw_only=True)
class Write:
    """`before` is what the group has committed there so far, `upstream` what it has on the source."""

    topic: str
    partition: int
    before: int | None
    offset: int
    upstream: int
    metadata: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What becomes of one group's offsets on the destination."""

    group: str
    state: str  # of the group there
    writes: tuple[Write, ...] = ()
    unchanged: tuple[Place, ...] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def offsets(self) -> dict[Place, GroupOffset]:
        """To be committed."""
        return {
            (w.topic, w.partition): GroupOffset(offset=w.offset, metadata=w.metadata) for w in self.writes
        }


def decide(
    group: str,
    checkpoints: Iterable[Checkpoint],
    *,
    cluster: str,
    state: str,
    committed: Mapping[Place, GroupOffset],
    there: Mapping[Place, Offsets],
) -> Decision:
    """From the group's newest checkpoints, and what the destination has now.

    `state` is the group's there, `ABSENT` if it has none; `there` are the partitions that exist.
    """
    if state not in WITHOUT_MEMBERS:
        return Decision(group=group, state=state, refused=(_active(group, cluster, state),))
    writes, unchanged, refused = [], [], []
    for checkpoint in sorted(checkpoints, key=lambda c: (c.topic, c.partition)):
        place = (checkpoint.topic, checkpoint.partition)
        before = committed[place].offset if place in committed else None
        if place not in there:
            refused.append(_gone(checkpoint, cluster))
        elif before == checkpoint.downstream:
            unchanged.append(place)
        elif before is not None and before > checkpoint.downstream:
            refused.append(_rewind(checkpoint, cluster, before))
        elif checkpoint.downstream > there[place].end:
            refused.append(_beyond(checkpoint, cluster, there[place].end))
        else:
            writes.append(_write(checkpoint, before))
    return Decision(
        group=group, state=state, writes=tuple(writes), unchanged=tuple(unchanged), refused=tuple(refused)
    )


def _write(checkpoint: Checkpoint, before: int | None) -> Write:
    return Write(
        topic=checkpoint.topic,
        partition=checkpoint.partition,
        before=before,
        offset=checkpoint.downstream,
        upstream=checkpoint.upstream,
        metadata=checkpoint.metadata,
    )


def missing(group: str, cluster: str, topic: str, known: Collection[str]) -> Decision:
    """A group that has no checkpoint at all."""
    because = (
        "has it committed on the source, do groups and groups.exclude of the checkpoint connector select it, "
        "has refresh.groups.interval.seconds passed?"
    )
    refusal = Refusal(
        group=group,
        why=Why.MISSING,
        message=f'no checkpoint of group "{group}" in topic "{topic}" of cluster "{cluster}"',
        remedy=nearest(group, list(known), more=because),
    )
    return Decision(group=group, state="", refused=(refusal,))


def failed(group: str, error: LabError) -> Refusal:
    """The destination did not take what was to be written."""
    return Refusal(
        group=group,
        why=Why.FAILED,
        message=error.message,
        remedy="has a consumer of the group joined there meanwhile? what is committed now tells: lab groups",
    )


def _active(group: str, cluster: str, state: str) -> Refusal:
    return Refusal(
        group=group,
        why=Why.ACTIVE,
        message=f'group "{group}" is {state} in cluster "{cluster}": its members there say where it is',
        remedy="if it has switched already, all is done; if not, stop its consumers there first",
    )


def _rewind(checkpoint: Checkpoint, cluster: str, before: int) -> Refusal:
    return _of(
        checkpoint,
        Why.REWIND,
        f"has committed {before} in {_place(checkpoint)} of cluster "
        f'"{cluster}", further than the {checkpoint.downstream} of its checkpoint',
        "it has read there already; kafka-consumer-groups --reset-offsets goes back on purpose",
    )


def _gone(checkpoint: Checkpoint, cluster: str) -> Refusal:
    return _of(
        checkpoint,
        Why.GONE,
        f'has a checkpoint for {_place(checkpoint)}, which cluster "{cluster}" has not',
        "the source and the checkpoint connector need the same replication.policy.class and separator",
    )


def _beyond(checkpoint: Checkpoint, cluster: str, end: int) -> Refusal:
    return _of(
        checkpoint,
        Why.BEYOND,
        f"has a checkpoint at {checkpoint.downstream} of {_place(checkpoint)}, "
        f'beyond its end {end} in cluster "{cluster}"',
        "was the topic made anew there? its checkpoints are of the old one until MM2 has mirrored it again",
    )


def _of(checkpoint: Checkpoint, why: Why, told: str, remedy: str) -> Refusal:
    return Refusal(
        group=checkpoint.group,
        why=why,
        message=f'group "{checkpoint.group}" {told}',
        remedy=remedy,
        topic=checkpoint.topic,
        partition=checkpoint.partition,
    )


def _place(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.topic}/{checkpoint.partition}"


def require_policy(policy: str, checkpoints: Iterable[Checkpoint], *, source: str, separator: str) -> None:
    """Refuse checkpoints whose topics are not named as a policy names them."""
    prefix = f"{source}{separator}"
    named = {checkpoint.topic: checkpoint.topic.startswith(prefix) for checkpoint in checkpoints}
    simple = policy.rpartition(".")[2]
    if policy not in KEEPING_NAMES:
        if others := [topic for topic, prefixed in named.items() if not prefixed]:
            raise BadInput(
                f'checkpoints name topic "{others[0]}": {simple} would have it begin with "{prefix}"',
                "give the policy and separator of the checkpoint connector",
            )
    elif named and all(named.values()):
        raise BadInput(
            f'checkpoints name topic "{next(iter(named))}": {simple} would not put "{prefix}" before it',
            "give the policy of the checkpoint connector",
        )
