"""What a consumer group that switches to the target now would read again there, or never read.

Where the group stands on the source is looked up on the target: the last record before its offset, found
by its time, key and value. What lies between that place and the offset where it would start is counted,
record by record. Where the record is not found, or several are equal, MM2's offset syncs say "at most".
Records that MM2 has written twice are counted once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Final

from lab.kafka import Cluster, Offsets, Place, Reader, Record
from lab.lag.arrivals import RangeReader
from lab.lag.equal import equal, younger
from lab.mm2_records import OffsetSync

READ_S: Final = 15.0
LOOKED_BACK: Final = 1_000  # offsets before a group's for the last record: markers and compaction leave holes
SEARCHED: Final = 20_000  # records that are looked through for one, and counted


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A group in one partition: what it has committed on the source, and where it would start."""

    topic: str
    remote: str
    partition: int
    committed: int
    starts_at: int

    @property
    def here(self) -> Place:
        return (self.topic, self.partition)

    @property
    def there(self) -> Place:
        return (self.remote, self.partition)


@dataclass(frozen=True, kw_only=True)
class Switch:
    """None: nobody can tell. Otherwise so many records, or at most so many."""

    again: int | None
    skipped: int | None
    exact: bool
    reason: str = ""  # why it is not exact


@dataclass(frozen=True)
class _Sought:
    """The last record that was read on the source, or else the first that was not."""

    record: Record
    was_read: bool


class Switching:
    """Judges standings between two clusters. Its two consumers live as long as it does."""

    def __init__(
        self,
        source: Cluster,
        target: Cluster,
        syncs: Iterable[OffsetSync],
        *,
        isolation: str = "read_uncommitted",
        reader: Callable[[Cluster, str], RangeReader] = lambda cluster, level: Reader(
            cluster, isolation=level
        ),
    ) -> None:
        self._source, self._target, self._isolation = source, target, isolation
        self._syncs: dict[Place, list[OffsetSync]] = {}
        for sync in syncs:
            usable = self._syncs.setdefault((sync.topic, sync.partition), [])
            if usable and usable[-1].upstream > sync.upstream:
                usable.clear()  # as MM2 does: the records may have been mirrored anew, into another topic
            usable.append(sync)
        with ExitStack() as stack:
            self._here = stack.enter_context(closing(reader(source, isolation)))
            self._there = stack.enter_context(closing(reader(target, "read_committed")))
            self._closing = stack.pop_all()

    def close(self) -> None:
        self._closing.close()

    def judge(self, standings: Sequence[Standing]) -> list[Switch]:
        """Of one group: each partition stands in there once."""
        upstream = self._source.offsets_of({s.topic for s in standings}, isolation=self._isolation)
        downstream = self._target.offsets_of({s.remote for s in standings}, isolation="read_committed")
        known = [s for s in standings if s.here in upstream and s.there in downstream]
        sought = self._sought(known, upstream)
        found = self._found(known, sought, downstream)
        counted = self._counted({s.there: (found[s.there], s.starts_at) for s in known if s.there in found})
        return [self._switch(s, sought, found, counted) for s in standings]

    # -- the record on the source ------------------------------------------------------------------

    def _sought(
        self, standings: Sequence[Standing], upstream: Mapping[Place, Offsets]
    ) -> dict[Place, _Sought]:
        """By place on the target."""
        last = self._picked(
            self._here,
            {
                s.here: (max(upstream[s.here].start, s.committed - LOOKED_BACK), s.committed)
                for s in standings
            },
            one=False,
        )
        rest = [s for s in standings if s.here not in last]
        first = self._picked(
            self._here,
            {s.here: (max(upstream[s.here].start, s.committed), upstream[s.here].end) for s in rest},
            one=True,
        )
        return {
            s.there: _Sought(record, s.here in last)
            for s in standings
            if (record := last.get(s.here, first.get(s.here))) is not None
        }

    @staticmethod
    def _picked(
        reader: RangeReader, ranges: Mapping[Place, tuple[int, int]], *, one: bool
    ) -> dict[Place, Record]:
        """The first record of each range, or the last; none of a range whose end was not reached in time."""
        picked: dict[Place, Record] = {}

        def take(place: Place, record: Record) -> bool:
            picked[place] = record
            return not one

        wanted = {place: (start, stop) for place, (start, stop) in ranges.items() if start < stop}
        read = reader.read(wanted, take, timeout_s=READ_S) if wanted else {}
        return {place: r for place, r in picked.items() if one or read[place] >= wanted[place][1]}

    # -- the same record on the target -------------------------------------------------------------

    def _found(
        self,
        standings: Sequence[Standing],
        sought: Mapping[Place, _Sought],
        downstream: Mapping[Place, Offsets],
    ) -> dict[Place, int]:
        """The offset on the target from which on a group has read nothing."""
        times = {p: s.record.timestamp_ms for p, s in sought.items() if s.record.timestamp_ms is not None}
        since = self._target.offsets_at(times)
        ranges = {}
        for standing in standings:
            place = standing.there
            if place not in sought or (place in since and since[place] is None):
                continue  # nothing that old or younger is there
            sync = self._sync(standing.here, sought[place].record.offset)
            at = 0 if sync is None or sync.downstream > downstream[place].end else sync.downstream
            begin = max(downstream[place].start, since.get(place) or 0, at)
            if begin < downstream[place].end:
                ranges[place] = (begin, downstream[place].end)
        equals: dict[Place, list[int]] = {place: [] for place in ranges}
        seen = dict.fromkeys(ranges, 0)
        passed: set[Place] = set()  # where what came after the equal one is younger

        def take(place: Place, record: Record) -> bool:
            seen[place] += 1
            wanted = sought[place].record
            if equal(wanted, record):
                equals[place].append(record.offset)
            if equals[place] and not record.stamped_by_broker and younger(record, wanted):
                passed.add(place)
            return seen[place] < SEARCHED and place not in passed

        read = self._there.read(ranges, take, timeout_s=READ_S) if ranges else {}
        return {
            place: offsets[0] + (1 if sought[place].was_read else 0)
            for place, offsets in equals.items()
            # another that is equal may lie where nobody has looked
            if len(offsets) == 1 and (place in passed or read[place] >= ranges[place][1])
        }

    def _sync(self, place: Place, upstream: int) -> OffsetSync | None:
        """The sync that is nearest before an offset of the source."""
        before = [sync for sync in self._syncs.get(place, ()) if sync.upstream <= upstream]
        return max(before, key=lambda sync: sync.upstream, default=None)

    # -- what lies between -------------------------------------------------------------------------

    def _counted(self, between: Mapping[Place, tuple[int, int]]) -> dict[Place, int]:
        """Records between two offsets of the target; none of a place where there are too many to count."""
        counts = dict.fromkeys(between, 0)

        def take(place: Place, _: Record) -> bool:
            counts[place] += 1
            return True

        ranges = {p: (min(ends), max(ends)) for p, ends in between.items()}
        few = {p: (start, stop) for p, (start, stop) in ranges.items() if start < stop <= start + SEARCHED}
        read = self._there.read(few, take, timeout_s=READ_S) if few else {}
        return {
            place: counts[place]
            for place, (start, stop) in ranges.items()
            if start == stop or read.get(place, start) >= stop
        }

    def _switch(
        self,
        standing: Standing,
        sought: Mapping[Place, _Sought],
        found: Mapping[Place, int],
        counted: Mapping[Place, int],
    ) -> Switch:
        place = standing.there
        if place in found:
            ahead = standing.starts_at - found[place]
            count = counted.get(place, abs(ahead))
            return Switch(
                again=count if ahead < 0 else 0,
                skipped=count if ahead > 0 else 0,
                exact=place in counted,
                reason="" if place in counted else "offsets were counted, not records",
            )
        sync = self._sync(standing.here, standing.committed)
        reason = (
            "its last record is not on the target (yet), equals others there, or its search was cut short"
            if place in sought
            else "none of the records around its offset is left on the source"
        )
        if sync is None:
            return Switch(again=None, skipped=None, exact=False, reason=reason)
        return Switch(
            again=max(0, sync.downstream - standing.starts_at) + standing.committed - sync.upstream,
            skipped=max(0, standing.starts_at - sync.downstream),
            exact=False,
            reason=reason,
        )
