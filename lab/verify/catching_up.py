"""Wait until a flow's target has what its source had at a moment, or will not have it by itself.

How long to wait is the user's decision. MM2 stands still for good reasons: it is paused, its workers
rebalance (up to 300 s), it has not noticed a new topic yet (600 s). So a target that does not grow ends no
wait, unless MM2 itself says that it has passed all that is owed.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lab.errors import LabError
from lab.kafka import ClusterError
from lab.lag import LagWatcher, Mirrored
from lab.verify.ends import COMMITTED, Frozen, Say
from lab.verify.flow import Flow
from lab.verify.position import partitions_behind
from lab.wait import NotYet, TimedOut, wait_until

# A position that has passed what is owed may be that of an earlier topic of the name, which MM2 is about to
# read from its beginning: then the target grows.
QUIET_S: Final = 10.0
_COUNTING_S: Final = 0.05  # where a backlog ends is known at once; how long it is matters little here
_ASKED_S: Final = 2.0  # between two questions for MM2's position, and two messages

Behind = Callable[[Flow, Frozen], Sequence[int] | None]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How many offsets both sides had at one moment of the wait; markers of transactions take some."""

    at: float  # seconds since 1970
    source: int
    target: int


class _Wait:
    """What was seen so far of a target that is to catch up."""

    def __init__(self, flow: Flow, owed: Frozen, others: int, say: Say, behind: Behind) -> None:
        self.flow, self.owed, self.say = flow, owed, say
        self.wanted = sum(offsets.count for offsets in owed.values()) + others
        self.samples: list[Seen] = []
        self._behind = behind
        self._grown_at = time.monotonic()
        self._asked_at: float | None = None

    def look(self, watched: LagWatcher) -> bool | NotYet:
        ends = self.flow.target.offsets_of([self.flow.remote], isolation=COMMITTED)
        count = sum(offsets.count for offsets in ends.values())
        if not self.samples or self.samples[-1].target != count:
            self._grown_at = time.monotonic()
        self._sampled(count)
        reached = None if self.flow.others else _reached(watched, self.owed)
        if reached or (reached is None and count >= self.wanted):
            return True
        seen = f"{count:,} of {self.wanted:,} records on the target"
        now = time.monotonic()
        if self._asked_at is not None and now - self._asked_at < _ASKED_S:
            return NotYet(seen)
        self._asked_at = now
        behind, position = self._position()
        self.say(f"{seen}; {position}")
        if behind == [] and now - self._grown_at > QUIET_S:
            return True
        return NotYet(f"{seen}; {position}")

    def _sampled(self, count: int) -> None:
        """Of many equal ones the first and the last are enough to draw the line."""
        alike = [sample.target for sample in self.samples[-2:]] == [count, count]
        del self.samples[len(self.samples) - alike :]
        self.samples.append(Seen(at=round(time.time(), 3), source=self.wanted, target=count))

    def _position(self) -> tuple[Sequence[int] | None, str]:
        """The partitions that MM2's position has not passed, and what is waited for, in words."""
        try:
            behind = self._behind(self.flow, self.owed)
        except LabError as error:  # a worker or cluster that is away for a while does not end the wait
            return None, f"waiting for the rest; MM2's position is not known: {error.message}"
        if behind is None:
            return None, "waiting for the rest; MM2's position is not known"
        if not behind:
            return [], "MM2's position has passed the rest"
        of = sum(bool(offsets.count) for offsets in self.owed.values())
        return behind, f"waiting for MM2, whose position is behind in {len(behind):,} of {of:,} partitions"


def wait_for_target(
    flow: Flow,
    owed: Frozen,
    others: int = 0,
    *,
    timeout_s: float,
    say: Say,
    watcher: Callable[..., LagWatcher] = LagWatcher,
    behind: Behind = partitions_behind,
) -> list[Seen]:
    """What was seen until the target had what is owed, MM2's position had passed it, or the time was over.

    Where the last mirrored record of a partition can be found in the source, its place decides; the number
    of records tells too little, since repeated ones may hide others that are still to come. It has to do
    where it cannot be found: in a topic that other sources go into, or whose records are gone.
    """
    wait = _Wait(flow, owed, others, say, behind)
    mirrored = [Mirrored(topic=flow.topic, remote=flow.remote)]
    with watcher(flow.source, flow.target, mirrored, isolation=flow.connector.isolation) as watched:
        try:
            wait_until(
                lambda: wait.look(watched),
                timeout_s=timeout_s,
                what=f'topic "{flow.remote}" caught up',
                transient=(ClusterError,),
            )
        except TimedOut as error:
            last_seen = error.message.partition("; last seen: ")[2]
            say(f"not caught up in {timeout_s:g} s, judged as it is: {last_seen}")
    return wait.samples


def _reached(watched: LagWatcher, owed: Frozen) -> bool | None:
    """Whether each partition is mirrored to the end of what is owed; None where that is not known."""
    mirrored_to = {sample.partition: sample.mirrored_to for sample in watched.sample(patience_s=_COUNTING_S)}
    places = [(mirrored_to.get(p), offsets.end) for p, offsets in owed.items() if offsets.count]
    if any(place is None for place, _ in places):
        return None
    return all(place is not None and place >= end for place, end in places)
