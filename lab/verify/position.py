"""How far MM2 itself says that it came: what lies before that and is not on the target will not come.

A position is what Connect has committed: the target has acknowledged all that was read before it. It is
written every `offset.flush.interval.ms`, so it lags behind; and it outlives a topic that is deleted, so one
beyond the end of the source says nothing of the topic that is there now.
"""

from collections.abc import Callable, Mapping
from contextlib import closing

from lab.kafka import Cluster, Offsets, Place, Reader, Record
from lab.lag.arrivals import READ_S, RangeReader
from lab.verify.flow import Flow


def partitions_behind(
    flow: Flow,
    owed: Mapping[int, Offsets],
    *,
    reader: Callable[[Cluster, str], RangeReader] = lambda cluster, level: Reader(cluster, isolation=level),
) -> list[int] | None:
    """The partitions in which MM2's position has not passed all that is owed; None: not known."""
    positions = flow.positions() if flow.positions is not None else None
    if positions is None:
        return None
    now = flow.source.offsets_of([flow.topic])
    behind: list[int] = []
    short: dict[Place, tuple[int, int]] = {}
    for partition, offsets in owed.items():
        position, there = positions.get(partition), now.get((flow.topic, partition))
        if not offsets.count:
            continue
        if position is None or there is None or position > there.end:
            behind.append(partition)
        elif position < offsets.end:
            short[flow.topic, partition] = (position, offsets.end)
    return sorted([*behind, *_with_records(flow, short, reader)])


def _with_records(
    flow: Flow, ranges: Mapping[Place, tuple[int, int]], reader: Callable[[Cluster, str], RangeReader]
) -> set[int]:
    """Those with a record in their range: the last offsets may be markers, or records that were aborted."""
    if not ranges:
        return set()
    found: set[int] = set()

    def take(place: Place, _: Record) -> bool:
        found.add(place[1])
        return False

    with closing(reader(flow.source, flow.connector.isolation)) as opened:
        read = opened.read(ranges, take, timeout_s=READ_S)
    unread = {place[1] for place, (_, stop) in ranges.items() if read.get(place, -1) < stop}
    return found | unread
