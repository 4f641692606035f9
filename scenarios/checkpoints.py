"""What checkpoints say of groups, and whether it stands on the target. Topics have the same names there."""

from collections.abc import Iterable, Mapping

from lab.kafka import Cluster, ClusterError, GroupOffset, Place
from lab.mm2_records import Checkpoint, checkpoint, decoded, newest
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until

Checkpoints = Mapping[tuple[str, str, int], Checkpoint]  # the newest of each group, topic and partition
Committed = Mapping[Place, GroupOffset]


def checkpoints(target: Cluster, topic: str) -> Checkpoints:
    found = decoded(checkpoint, newest(target.snapshot(topic)))
    return {(each.group, each.topic, each.partition): each for each in found}


def translated(found: Checkpoints, group: str) -> Committed:
    """Where a group may go on on the target."""
    return {
        (topic, partition): GroupOffset(offset=told.downstream, metadata=told.metadata)
        for (of, topic, partition), told in found.items()
        if of == group
    }


def wait_until_checkpointed(source: Cluster, target: Cluster, topic: str, group: str) -> Committed:
    """Until its checkpoints are of what it has committed on the source: where it may go on.

    For ever, if what it has committed since the last ones does not move its place on the target: MM2 writes
    no checkpoint then.
    """
    wanted = {place: offset.offset for place, offset in source.group_offsets(group).items()}

    def observe() -> Committed | NotYet:
        found = checkpoints(target, topic)
        upstream = {(t, p): told.upstream for (of, t, p), told in found.items() if of == group}
        return translated(found, group) if wanted and upstream == wanted else NotYet(f"they say {upstream}")

    what = f'checkpoints of {wanted} of group "{group}"'
    return wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=what, transient=(ClusterError,))


def wait_until_synced(target: Cluster, topic: str, groups: Iterable[str]) -> None:
    """Until each group has on the target what its checkpoints say."""
    for group in groups:

        def observe(group: str = group) -> bool | NotYet:
            told, committed = translated(checkpoints(target, topic), group), target.group_offsets(group)
            synced = told and {place: committed.get(place) for place in told} == told
            return bool(synced) or NotYet(f"{committed}")

        what = f'offsets of group "{group}" on the target'
        # the target's first group ever makes it create the topic of all groups
        wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=what, transient=(ClusterError,))
