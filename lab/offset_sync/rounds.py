"""Rounds of syncing group offsets on one cluster: read, decide, write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab.errors import BadInput
from lab.interruption import uninterruptible
from lab.kafka import ABSENT, Cluster, ClusterError
from lab.mm2 import Connector
from lab.mm2_records import Checkpoint, checkpoint, decoded, newest
from lab.offset_sync.decision import Decision, decide, failed, missing, require_policy
from lab.wait import TimedOut


@dataclass(frozen=True, kw_only=True)
class GroupSync:
    """The groups whose offsets are kept up to date on the destination, and the checkpoints they are from."""

    destination: Cluster
    source: str  # its alias, by which the checkpoints' topic is named
    groups: Sequence[str]
    policy: str | None = None  # not None: what the names in the checkpoints must fit
    separator: str = "."

    @property
    def topic(self) -> str:
        config = {"source.cluster.alias": self.source, "replication.policy.separator": self.separator}
        return Connector(name="", config=config).checkpoints_topic

    def decide(self) -> list[Decision]:
        """What a round would do, for each group. Nothing is written."""
        found = self._checkpoints()
        by_group = {group: [c for c in found if c.group == group] for group in self.groups}
        of_them = [checkpoint for checkpoints in by_group.values() for checkpoint in checkpoints]
        if self.policy is not None:
            require_policy(self.policy, of_them, source=self.source, separator=self.separator)
        states = self.destination.group_states()
        there = self.destination.offsets_of({checkpoint.topic for checkpoint in of_them})
        known = {checkpoint.group for checkpoint in found}
        return [
            decide(
                group,
                its,
                cluster=self.destination.alias,
                state=states.get(group, ABSENT),
                # asked of a cluster's first group ever, the answer comes after its topic was made
                committed=self.destination.group_offsets(group) if group in states else {},
                there=there,
            )
            if its
            else missing(group, self.destination.alias, self.topic, known)
            for group, its in by_group.items()
        ]

    def write(self, decision: Decision) -> Decision:
        """Carry it out; what is given back says what became of it."""
        if not decision.writes:
            return decision
        try:
            with uninterruptible():  # one request, and then what it wrote is known
                self.destination.commit(decision.group, decision.offsets)
        except (ClusterError, TimedOut) as error:
            return replace(decision, writes=(), refused=(*decision.refused, failed(decision.group, error)))
        return decision

    def _checkpoints(self) -> list[Checkpoint]:
        if not self.destination.has_topic(self.topic):
            raise BadInput(
                f'cluster "{self.destination.alias}" has no topic "{self.topic}"',
                "the checkpoint connector makes it; are source alias and separator as in its config?",
            )
        return list(decoded(checkpoint, newest(self.destination.snapshot(self.topic))))
