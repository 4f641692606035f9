"""The offsets between which both topics are read, before which records are owed, and the ledgers that count.

The order matters: the source's ends first, then the target's, the ledgers, and the source's once more. Each
may point into the next, and none beyond.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lab.errors import NotEnough
from lab.kafka import Cluster, ClusterError, Offsets
from lab.ledger import Summary, ledgers, summary
from lab.verify.belonging import belongs
from lab.verify.flow import Flow, Origin

COMMITTED: Final = "read_committed"
# What stands for the id of a topic that has none: brokers need inter-broker protocol 2.8 to give ids.
NO_TOPIC_IDS: Final = frozenset(("AAAAAAAAAAAAAAAAAAAAAA", "None", ""))

Frozen = Mapping[int, Offsets]
Unstable = Mapping[int, range]  # by partition, the offsets after the last stable one
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Ends:
    """The offsets between which both topics are read, and before which records are owed."""

    owed: Frozen  # of the source, as named first
    source: Frozen  # as named last
    target: Frozen
    ledgers: Sequence[Summary]
    frozen_at: datetime  # when what is owed was named
    unstable: Unstable = field(default_factory=dict)  # of the source

    @property
    def grown(self) -> bool:
        """Whether the source was written to meanwhile."""
        return any(self.source[partition].end > named.end for partition, named in self.owed.items())

    @property
    def without_holes(self) -> bool:
        """Whether ledgers account for each offset of the source; others may be anybody's markers."""
        written = sum(ledger.acked + ledger.unknown for ledger in self.ledgers)
        offsets = sum(offsets.count for offsets in self.source.values())
        return 0 < written >= offsets and not self.grown and not self.unstable


def name_ends(flow: Flow, owed: Frozen, frozen_at: datetime, tell: Say = lambda _: None) -> Ends:
    """The target's ends, then the ledgers, then the source's ends: each may point into the next."""
    target, unstable = ends_of(flow.target, flow.remote, COMMITTED)
    _note_unstable(flow.target, flow.remote, unstable, tell)
    known = accounts(Origin(topic=flow.topic, source=flow.source), tell)
    # Its starts as well: retention may have passed meanwhile, and what is gone cannot be read.
    source, unstable = _of_source(flow)
    _note_unstable(flow.source, flow.topic, unstable, tell)
    return Ends(
        owed=owed, source=source, target=target, ledgers=known, frozen_at=frozen_at, unstable=unstable
    )


def source_ends(flow: Flow) -> Frozen:
    """Where what MM2 owes ends: before an open transaction, if the connector reads committed records."""
    return _of_source(flow)[0]


def _of_source(flow: Flow) -> tuple[Frozen, Unstable]:
    ends, unstable = ends_of(flow.source, flow.topic, flow.connector.isolation)
    if not ends:
        raise ClusterError(f'cluster "{flow.source.alias}" has no topic "{flow.topic}"', 'see "lab topics"')
    return ends, unstable


def ends_of(cluster: Cluster, topic: str, isolation: str) -> tuple[Frozen, Unstable]:
    """Where the records of a topic begin and end for a reader, and the offsets after that.

    The latter are asked for first: of a topic that grows meanwhile they are fewer, never too many.
    """
    every = cluster.offsets_of([topic])
    ends = cluster.offsets_of([topic], isolation=isolation)
    unstable = {
        partition: range(offsets.end, every[topic, partition].end)
        for (_, partition), offsets in ends.items()
        if (topic, partition) in every and offsets.end < every[topic, partition].end
    }
    return {partition: offsets for (_, partition), offsets in ends.items()}, unstable


def _note_unstable(cluster: Cluster, topic: str, unstable: Unstable, tell: Say) -> None:
    if unstable:
        tell(
            f'{sum(map(len, unstable.values())):,} offsets of topic "{topic}" of cluster "{cluster.alias}" '
            "are not judged: they come after the last stable offset, since a transaction is open"
        )


@contextmanager
def others_at_rest(flow: Flow) -> Iterator[int]:
    """How many records the other sources of the target topic have. More of them would count as this one's."""
    before = [other.source.offsets(other.topic) for other in flow.others]
    yield sum(offsets.count for side in before for offsets in side.values())
    for other, then in zip(flow.others, before, strict=True):
        if other.source.offsets(other.topic) != then:
            raise NotEnough(
                f'topic "{other.topic}" of cluster "{other.source.alias}" goes into the same topic '
                f'"{flow.remote}", and is still being written to',
                "stop its producers, then verify again",
            )


def accounts(origin: Origin, tell: Say = lambda _: None) -> list[Summary]:
    """The ledgers of this very topic, not of an earlier one of its name, or of another lab's."""
    topic_id = origin.source.topic_id(origin.topic)
    if topic_id not in NO_TOPIC_IDS:
        paths = ledgers(origin.source.alias, origin.topic, topic_id, tell=tell)
        return [summary(path) for path in paths]
    named = [summary(path) for path in ledgers(origin.source.alias, origin.topic, tell=tell)]
    without_id = [found for found in named if (found.heading.topic_id or "") in NO_TOPIC_IDS]
    proved = [found for found in without_id if belongs(found, origin.source)]
    if left_out := len(without_id) - len(proved):
        tell(
            f'{left_out:,} ledgers of a topic "{origin.topic}" of a cluster "{origin.source.alias}" are left '
            "out: the cluster has no topic ids, and no record stands where they say that it was acknowledged"
        )
    return proved


def other_accounts(flow: Flow) -> list[Summary]:
    """The ledgers of the other sources of the target topic: one that has records must have some."""
    found: list[Summary] = []
    for other in flow.others:
        its = accounts(other)
        if not its and any(offsets.count for offsets in other.source.offsets(other.topic).values()):
            raise NotEnough(
                f'topic "{other.topic}" of cluster "{other.source.alias}" goes into the same topic '
                f'"{flow.remote}", and has no ledger to tell its records by',
                '"lab produce" writes one; or give it a topic of its own with the default policy',
            )
        found += its
    return found
