"""Record lag: how many records of a source partition are not on the target yet, and how old they are.

Neither Connect's committed offsets are used, which are as old as the worker's flush interval, nor is an
offset of one cluster subtracted from one of the other, which transactions, compaction and duplicates would
spoil. The last record of the target partition is looked up in the source partition: the first with its
timestamp or a younger one, and from there on the one with the same timestamp, key and value (headers may
have been converted). What stands after it, counted record by record, is the lag.

It is exact
- with duplicates on the target: the furthest record that a watch has seen mirrored counts, so a replay
  makes nothing unmirrored again. A watch that begins in the middle of a replay sees the replay's position
  until it passes.
- with transactions: markers are no records, and aborted records are some only if MM2 reads them.
- with equal records in one millisecond: those before them tell which one it is.

It is "at most" (`exact` is False) while a backlog is too large to be counted in one sample, or when more
equal records follow each other than are compared. It is not known (None, with a `reason`) when the target's
last record is not in the source: it is gone from there, or MM2 did not write it. A target that stamps
records itself (LogAppendTime) is searched for among the last records of the source. Records that are
compacted away after they were counted stay counted as long as they are behind.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from lab.kafka import Cluster, Offsets, Place, Reader, Record
from lab.mm2 import SOURCE, Connector
from lab.parity import is_mirrored

SEARCHED: Final = 20_000  # records that are looked through for one record
COMPARED: Final = 1_000  # records before equal ones that tell them apart
PATIENCE_S: Final = 0.3  # what a sample may spend on counting; the next one goes on
_READ_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class Mirrored:
    """A topic and its name on the target."""

    topic: str
    remote: str


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One partition at one moment: of the records before `source_end`, how many are not on the target."""

    at: float  # seconds since 1970
    topic: str
    partition: int
    source_end: int
    mirrored_to: int | None  # the offset in the source of the first record that is not mirrored
    lag: int | None
    exact: bool = True  # otherwise `lag` is at most that
    oldest_unmirrored_age_s: float | None = None  # 0 when caught up
    arrival_s: float | None = None  # how old the last mirrored record was when the watch first saw it
    reason: str = ""  # why it is not exact


class RangeReader(Protocol):
    """What lab.kafka.Reader does."""

    def read(
        self,
        ranges: Mapping[Place, tuple[int, int]],
        take: Callable[[Place, Record], bool],
        *,
        timeout_s: float,
    ) -> dict[Place, int]: ...

    def close(self) -> None: ...


class Backlog:
    """The records between two offsets, counted as they are read: the holes between them are remembered."""

    def __init__(self) -> None:
        self.begin = self.end = 0
        self.first: Record | None = None
        self._holes: list[tuple[int, int]] = []

    def begin_at(self, offset: int) -> None:
        """Forget what is before; what cannot be known without reading begins anew."""
        if not self.begin <= offset <= self.end:
            self.end, self._holes, self.first = offset, [], None
        self.begin = offset
        self._holes = [(start, stop) for start, stop in self._holes if stop > offset]
        if self.first is not None and self.first.offset < offset:
            self.first = None

    def add(self, record: Record) -> None:
        self.reached(record.offset)
        self.end = record.offset + 1
        self.first = self.first or record

    def reached(self, offset: int) -> None:
        """Between what was read before and this offset there is no record."""
        if offset > self.end:
            self._holes.append((self.end, offset))
            self.end = offset

    def count(self, stop: int) -> int:
        """Records before an offset; what was not read yet is taken for records."""
        empty = sum(max(0, min(hole_stop, stop) - max(start, self.begin)) for start, hole_stop in self._holes)
        return max(0, stop - self.begin - empty)


@dataclass(kw_only=True)
class _Known:
    """What a watch knows of a partition from earlier samples."""

    read_to: int = 0  # in the target
    last: Record | None = None  # of the target
    emptied: bool = False  # records were there, and nothing is left of them
    again: bool = False  # the last search was cut short
    found: int | None = None  # the furthest record that was mirrored, in the source
    sure: bool = True
    reason: str = ""
    arrival_s: float | None = None
    backlog: Backlog = field(default_factory=Backlog)

    def is_news(self, end: int) -> bool:
        return end != self.read_to or self.again

    @property
    def lost(self) -> bool:
        """Whether something was mirrored, and nobody knows how far."""
        return self.found is None and (self.last is not None or self.emptied)


class LagWatcher:
    """Samples the lag of one flow's topics. Its two consumers live as long as it does.

    `mirrored` may be replaced between samples, as topics come and go.
    """

    def __init__(
        self,
        source: Cluster,
        target: Cluster,
        mirrored: Sequence[Mirrored],
        *,
        isolation: str = "read_uncommitted",
        clock: Callable[[], float] = time.time,
        reader: Callable[[Cluster, str], RangeReader] = lambda cluster, level: Reader(
            cluster, isolation=level
        ),
    ) -> None:
        self.source, self.target = source, target
        self.mirrored = tuple(mirrored)
        self._isolation, self._clock = isolation, clock
        self._upstream = reader(source, isolation)
        # What a transaction of MM2 aborted will be written once more.
        self._downstream = reader(target, "read_committed")
        self._partitions: dict[Place, _Known] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._upstream.close()
        self._downstream.close()

    def sample(self, *, patience_s: float = PATIENCE_S) -> list[Sample]:
        """The lag of every partition that the source has now. Topics that it does not have give nothing."""
        at = self._clock()
        remotes = {m.topic: m.remote for m in self.mirrored}
        # The source's end first: what stands there must be on the target, what comes later need not be.
        upstream = self.source.offsets_of(remotes, isolation=self._isolation)
        ends = self.target.offsets_of(remotes.values(), isolation="read_committed")
        nothing = Offsets(start=0, end=0)
        downstream = {place: ends.get((remotes[place[0]], place[1]), nothing) for place in upstream}
        for place in upstream:
            self._forget_if_new(place, upstream[place], downstream[place])
        self._locate(self._arrived(downstream, remotes), upstream, downstream, remotes)
        self._count(upstream, patience_s)
        return [self._sample(at, place, offsets) for place, offsets in upstream.items()]

    def _forget_if_new(self, place: Place, source: Offsets, target: Offsets) -> None:
        """A topic that was deleted and created again has shorter partitions."""
        known = self._partitions.setdefault(place, _Known())
        if target.end < known.read_to or (known.found is not None and source.end <= known.found):
            self._partitions[place] = _Known()

    # -- the target's last record --------------------------------------------------------------------

    def _arrived(self, downstream: Mapping[Place, Offsets], remotes: Mapping[str, str]) -> set[Place]:
        """The partitions whose last record on the target is another one than before."""
        for place, offsets in downstream.items():
            self._partitions[place].emptied = offsets.start > 0
        grown = {
            p: o for p, o in downstream.items() if o.start < o.end and self._partitions[p].is_news(o.end)
        }
        found: dict[Place, Record] = {}
        back = 1
        # The last offsets of a partition may be markers of transactions: look further and further back.
        while left := {p: o for p, o in grown.items() if p not in found}:
            ranges = {p: (max(o.start, o.end - back), o.end) for p, o in left.items()}
            read = self._read_target(ranges, remotes, found.__setitem__)
            for place, offsets in left.items():
                self._partitions[place].read_to = read[place]
                if ranges[place][0] == offsets.start and place not in found:
                    del grown[place]
            back *= 16
        changed = {
            p
            for p, record in found.items()
            if record != self._partitions[p].last or self._partitions[p].again
        }
        for place in changed:
            self._partitions[place].last = found[place]
        return changed

    def _read_target(
        self,
        ranges: Mapping[Place, tuple[int, int]],
        remotes: Mapping[str, str],
        take: Callable[[Place, Record], None],
    ) -> dict[Place, int]:
        by_remote = {(remotes[topic], partition): (topic, partition) for topic, partition in ranges}

        def taken(place: Place, record: Record) -> bool:
            take(by_remote[place], record)
            return True

        asked = {remote: ranges[place] for remote, place in by_remote.items()}
        read = self._downstream.read(asked, taken, timeout_s=_READ_S)
        return {place: read.get(remote, ranges[place][1]) for remote, place in by_remote.items()}

    # -- the same record in the source ----------------------------------------------------------------

    def _locate(
        self,
        places: set[Place],
        upstream: Mapping[Place, Offsets],
        downstream: Mapping[Place, Offsets],
        remotes: Mapping[str, str],
    ) -> None:
        wanted = {p: last for p in places if (last := self._partitions[p].last) is not None}
        candidates = self._candidates(wanted, upstream)
        several = {p: offsets for p, offsets in candidates.items() if len(offsets) > 1}
        sure = self._told_apart(several, wanted, upstream, downstream, remotes)
        for place, last in wanted.items():
            known = self._partitions[place]
            if not candidates[place]:
                known.sure = False
                known.reason = "the last record of the target was not found in the source"
                continue
            offset, certain = sure.get(place, (candidates[place][0], True))
            if known.found is not None and offset <= known.found:
                known.sure, known.reason = True, ""
                continue  # a replay
            if known.found is not None and last.timestamp_ms is not None and not last.stamped_by_broker:
                known.arrival_s = max(0.0, self._clock() - last.timestamp_ms / 1000)
            known.found, known.sure = offset, certain
            known.reason = "" if certain else "equal records follow each other"

    def _candidates(
        self, wanted: Mapping[Place, Record], upstream: Mapping[Place, Offsets]
    ) -> dict[Place, list[int]]:
        """The offsets in the source of what equals the records: first where the last search ended."""
        found: dict[Place, list[int]] = {place: [] for place in wanted}
        timed = {p: r for p, r in wanted.items() if r.timestamp_ms is not None and not r.stamped_by_broker}
        since = self.source.offsets_at({p: r.timestamp_ms for p, r in timed.items() if r.timestamp_ms})
        begins: dict[Place, int] = {}
        for place in wanted:
            offsets = upstream[place]
            if place not in timed:
                begins[place] = max(offsets.start, offsets.end - SEARCHED)
            elif (begin := since.get(place, offsets.start)) is not None:
                begins[place] = begin
        # Where producers give timestamps out of order, what lies far back may be the first that is younger.
        ahead = {
            p: max(begin, known.found)
            for p, begin in begins.items()
            if (known := self._partitions[p]).found is not None
        }
        self._search({**begins, **ahead}, wanted, upstream, found)
        again = {p: begins[p] for p in ahead if not found[p] and begins[p] < ahead[p]}
        self._search(again, wanted, upstream, found)
        return found

    def _search(
        self,
        begins: Mapping[Place, int],
        wanted: Mapping[Place, Record],
        upstream: Mapping[Place, Offsets],
        found: dict[Place, list[int]],
    ) -> None:
        if not begins:
            return
        seen = dict.fromkeys(begins, 0)

        def take(place: Place, record: Record) -> bool:
            seen[place] += 1
            if _equal(record, wanted[place]):
                found[place].append(record.offset)
            return seen[place] < SEARCHED and not (found[place] and _younger(record, wanted[place]))

        # Up to what is there now, not when the sample began: the target may hold younger records already.
        ends = self.source.offsets_of({topic for topic, _ in begins}, isolation=self._isolation)
        stops = {p: ends.get(p, upstream[p]).end for p in begins}
        read = self._upstream.read({p: (begins[p], stops[p]) for p in begins}, take, timeout_s=_READ_S)
        for place in begins:
            whole = seen[place] >= SEARCHED or read.get(place, stops[place]) >= stops[place]
            self._partitions[place].again = not found[place] and not whole

    def _told_apart(
        self,
        several: Mapping[Place, list[int]],
        wanted: Mapping[Place, Record],
        upstream: Mapping[Place, Offsets],
        downstream: Mapping[Place, Offsets],
        remotes: Mapping[str, str],
    ) -> dict[Place, tuple[int, bool]]:
        """Of equal records the one whose predecessors are those on the target, and whether that is sure."""
        if not several:
            return {}
        there: dict[Place, list[Record]] = {place: [] for place in several}
        here: dict[Place, list[Record]] = {place: [] for place in several}
        self._read_target(
            {
                p: (max(downstream[p].start, wanted[p].offset - COMPARED), wanted[p].offset + 1)
                for p in several
            },
            remotes,
            lambda place, record: there[place].append(record),
        )

        def take(place: Place, record: Record) -> bool:
            here[place].append(record)
            return True

        ranges = {p: (max(upstream[p].start, o[0] - COMPARED), o[-1] + 1) for p, o in several.items()}
        self._upstream.read(ranges, take, timeout_s=_READ_S)
        return {
            p: aligned(
                offsets,
                here[p],
                there[p],
                whole=upstream[p].start == downstream[p].start == 0
                and len(there[p]) <= COMPARED
                and ranges[p][0] == 0,
            )
            for p, offsets in several.items()
        }

    # -- what stands after it -------------------------------------------------------------------------

    def _count(self, upstream: Mapping[Place, Offsets], patience_s: float) -> None:
        behind: dict[Place, tuple[int, int]] = {}
        for place, offsets in upstream.items():
            known = self._partitions[place]
            if known.lost:
                continue
            after = 0 if known.found is None else known.found + 1
            known.backlog.begin_at(max(offsets.start, after))
            if known.backlog.begin < offsets.end:
                behind[place] = (known.backlog.begin, offsets.end)
        self._read_first(behind)

        def take(place: Place, record: Record) -> bool:
            self._partitions[place].backlog.add(record)
            return True

        uncounted = {
            p: (self._partitions[p].backlog.end, end)
            for p, (_, end) in behind.items()
            if self._partitions[p].backlog.end < end
        }
        if uncounted:
            for place, read in self._upstream.read(uncounted, take, timeout_s=patience_s).items():
                self._partitions[place].backlog.reached(read)

    def _read_first(self, behind: Mapping[Place, tuple[int, int]]) -> None:
        """The oldest record of a backlog whose beginning was counted by an earlier sample."""

        def take(place: Place, record: Record) -> bool:
            self._partitions[place].backlog.first = record
            return False

        logs = {p: self._partitions[p].backlog for p in behind}
        unknown = {p: behind[p] for p, log in logs.items() if log.first is None and log.end > log.begin}
        if unknown:
            self._upstream.read(unknown, take, timeout_s=_READ_S)

    def _sample(self, at: float, place: Place, offsets: Offsets) -> Sample:
        known = self._partitions[place]
        topic, partition = place
        if known.lost and offsets.count:
            return Sample(
                at=at,
                topic=topic,
                partition=partition,
                source_end=offsets.end,
                mirrored_to=None,
                lag=None,
                exact=False,
                reason=known.reason or "nothing is left on the target of what was mirrored",
            )
        backlog = known.backlog
        lag = backlog.count(offsets.end)
        counted = backlog.end >= offsets.end
        first = backlog.first
        age_s = max(0.0, at - first.timestamp_ms / 1000) if first and first.timestamp_ms is not None else None
        return Sample(
            at=at,
            topic=topic,
            partition=partition,
            source_end=offsets.end,
            mirrored_to=offsets.end if not lag else first.offset if first else backlog.begin,
            lag=lag,
            exact=lag == 0 or (known.sure and counted),
            oldest_unmirrored_age_s=age_s if lag else 0.0,
            arrival_s=known.arrival_s,
            reason=known.reason or ("" if counted else "the backlog is still being counted"),
        )


def _equal(record: Record, mirrored: Record) -> bool:
    same_time = mirrored.stamped_by_broker or record.timestamp_ms == mirrored.timestamp_ms
    return same_time and record.key == mirrored.key and record.value == mirrored.value


def _younger(record: Record, mirrored: Record) -> bool:
    if mirrored.stamped_by_broker or record.timestamp_ms is None or mirrored.timestamp_ms is None:
        return False
    return record.timestamp_ms > mirrored.timestamp_ms


def aligned(
    candidates: Sequence[int], source: Sequence[Record], target: Sequence[Record], *, whole: bool
) -> tuple[int, bool]:
    """The candidate before which the most records are those before the target's last, and whether it is sure.

    With `whole` both sequences begin where their partitions do: of two that agree to the beginning of the
    target the earlier one is it.
    """
    place_of = {record.offset: index for index, record in enumerate(source)}
    lengths: dict[int, int] = {}
    for candidate in candidates:
        at, length = place_of[candidate], 0
        while length < len(target) and length <= at and _equal(source[at - length], target[-1 - length]):
            length += 1
        lengths[candidate] = length
    longest = max(lengths.values())
    best = [candidate for candidate, length in lengths.items() if length == longest]
    return min(best), len(best) == 1 or (whole and longest == len(target))


def watchers(
    connectors: Iterable[Connector],
    cluster: Callable[[str], Cluster],
    *,
    topic: str | None = None,
    kafka_4: bool = False,
) -> list[LagWatcher]:
    """A watcher for each pair of clusters with topics that source connectors mirror: all, or the named one.

    Connectors that read and name alike share one: it is a watcher that costs connections, not a topic.
    """
    alike: dict[tuple[object, ...], list[Connector]] = {}
    for connector in connectors:
        if connector.connector_class == SOURCE:
            between = (connector.source_alias, connector.target_alias, connector.isolation)
            alike.setdefault((*between, connector.keeps_names, connector.separator), []).append(connector)
    found = []
    for group in alike.values():
        first = group[0]
        source = cluster(first.source_alias)
        mirrored = [
            Mirrored(topic=t.name, remote=first.remote_topic(t.name))
            for t in source.topics()
            if t.name == topic or (topic is None and not t.internal)
            if any(is_mirrored(connector, t.name, kafka_4=kafka_4) for connector in group)
        ]
        if mirrored:
            target = cluster(first.target_alias)
            found.append(LagWatcher(source, target, mirrored, isolation=first.isolation))
    return found
