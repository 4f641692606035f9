"""The target's last records, looked up in the source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lab.kafka import Cluster, Offsets, Place, Record
from lab.lag.arrivals import READ_S, Arrivals, RangeReader
from lab.lag.equal import aligned, equal, younger
from lab.lag.partition import Known, Moment

SEARCHED: Final = 20_000  # records that are looked through for one record
COMPARED: Final = 1_000  # records before equal ones that tell them apart


@dataclass(kw_only=True)
class Search:
    """Finds in the source what arrived on the target, and remembers how far it got."""

    source: Cluster
    isolation: str
    reader: RangeReader
    arrivals: Arrivals
    partitions: dict[Place, Known]
    clock: Callable[[], float]

    def locate(self, places: set[Place], moment: Moment) -> None:
        """Find the last records of these places, as far as they are known, in the source."""
        wanted = {p: last for p in places if (last := self.partitions[p].last) is not None}
        candidates = self._candidates(wanted, moment.upstream)
        several = {p: offsets for p, offsets in candidates.items() if len(offsets) > 1}
        sure = self._told_apart(several, wanted, moment)
        for place, last in wanted.items():
            known = self.partitions[place]
            if not candidates[place]:
                known.sure = False
                known.reason = "the last record of the target was not found in the source"
                continue
            offset, certain = sure.get(place, (candidates[place][0], True))
            if known.found is not None and offset <= known.found:
                known.sure, known.reason = True, ""
                continue  # a replay
            if known.found is not None and last.timestamp_ms is not None and not last.stamped_by_broker:
                known.arrival_s = max(0.0, self.clock() - last.timestamp_ms / 1000)
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
            if (known := self.partitions[p]).found is not None
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
            if equal(record, wanted[place]):
                found[place].append(record.offset)
            return seen[place] < SEARCHED and not (found[place] and younger(record, wanted[place]))

        # Up to what is there now, not when the sample began: the target may hold younger records already.
        ends = self.source.offsets_of({topic for topic, _ in begins}, isolation=self.isolation)
        stops = {p: ends.get(p, upstream[p]).end for p in begins}
        read = self.reader.read({p: (begins[p], stops[p]) for p in begins}, take, timeout_s=READ_S)
        for place in begins:
            whole = seen[place] >= SEARCHED or read.get(place, stops[place]) >= stops[place]
            self.partitions[place].again = not found[place] and not whole

    def _told_apart(
        self, several: Mapping[Place, list[int]], wanted: Mapping[Place, Record], moment: Moment
    ) -> dict[Place, tuple[int, bool]]:
        """Of equal records the one whose predecessors are those on the target, and whether that is sure."""
        if not several:
            return {}
        there: dict[Place, list[Record]] = {place: [] for place in several}
        here: dict[Place, list[Record]] = {place: [] for place in several}
        upstream, downstream = moment.upstream, moment.downstream
        before = {
            p: (max(downstream[p].start, wanted[p].offset - COMPARED), wanted[p].offset + 1) for p in several
        }
        self.arrivals.read(moment, before, lambda place, record: there[place].append(record))

        def take(place: Place, record: Record) -> bool:
            here[place].append(record)
            return True

        ranges = {p: (max(upstream[p].start, o[0] - COMPARED), o[-1] + 1) for p, o in several.items()}
        self.reader.read(ranges, take, timeout_s=READ_S)
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
