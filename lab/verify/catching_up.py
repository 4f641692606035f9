"""Wait until a flow's target has what its source had at a moment, or will not have it by itself."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lab.kafka import ClusterError, Offsets
from lab.lag import LagWatcher, Mirrored
from lab.verify.flow import Flow
from lab.wait import NotYet, TimedOut, wait_until

QUIET_S: Final = 10.0  # a target that has not grown for so long will not catch up by itself
_COUNTING_S: Final = 0.05  # where a backlog ends is told at once; how long it is matters little here

Frozen = Mapping[int, Offsets]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How many offsets both sides had at one moment of the wait; markers of transactions take some."""

    at: float  # seconds since 1970
    source: int
    target: int


def wait_for_target(
    flow: Flow,
    owed: Frozen,
    others: int = 0,
    *,
    timeout_s: float,
    say: Say,
    watcher: Callable[..., LagWatcher] = LagWatcher,
) -> list[Seen]:
    """What was seen until the target had what is owed, or did not grow any more.

    Where the last mirrored record of a partition can be found in the source, its place tells; the number
    of records tells too little, since repeated ones may hide others that are still to come. It has to do
    where it cannot be found: in a topic that other sources go into, or whose records are gone.
    """
    wanted = sum(offsets.count for offsets in owed.values()) + others
    grown_at, before = time.monotonic(), -1
    samples: list[Seen] = []

    def observe() -> bool | NotYet:
        nonlocal grown_at, before
        count = sum(offsets.count for offsets in flow.target.offsets_of([flow.remote]).values())
        samples.append(Seen(at=round(time.time(), 3), source=wanted, target=count))
        if count != before:
            grown_at, before = time.monotonic(), count
            say(f"{count:,} of {wanted:,} records on the target")
        still_s = time.monotonic() - grown_at
        reached = None if flow.others else _reached(watched, owed)
        done = count >= wanted if reached is None else reached
        # Holes take offsets at the source only, so the count may never be reached.
        return done or still_s > QUIET_S or NotYet(f"{count} of {wanted} records")

    mirrored = [Mirrored(topic=flow.topic, remote=flow.remote)]
    with watcher(flow.source, flow.target, mirrored, isolation=flow.connector.isolation) as watched:
        try:
            wait_until(
                observe,
                timeout_s=timeout_s,
                what=f'topic "{flow.remote}" caught up',
                transient=(ClusterError,),
            )
        except TimedOut:
            say(f"not caught up in {timeout_s:g} s; judged as it is")
    return samples


def _reached(watched: LagWatcher, owed: Frozen) -> bool | None:
    """Whether each partition is mirrored to the end of what is owed; None where that cannot be told."""
    mirrored_to = {sample.partition: sample.mirrored_to for sample in watched.sample(patience_s=_COUNTING_S)}
    places = [(mirrored_to.get(p), offsets.end) for p, offsets in owed.items() if offsets.count]
    if any(place is None for place, _ in places):
        return None
    return all(place is not None and place >= end for place, end in places)
