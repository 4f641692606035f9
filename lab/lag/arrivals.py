"""The last record of each partition of the target."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from lab.kafka import Place, Record
from lab.lag.partition import Known, Moment

READ_S: Final = 5.0


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


@dataclass
class Arrivals:
    """Sees when the last record of a partition of the target is another one than before."""

    reader: RangeReader
    partitions: dict[Place, Known]

    def changed(self, moment: Moment) -> set[Place]:
        """The partitions whose last record on the target is another one than before."""
        for place, offsets in moment.downstream.items():
            self.partitions[place].emptied = offsets.start > 0
        grown = {
            p: o
            for p, o in moment.downstream.items()
            if o.start < o.end and self.partitions[p].is_news(o.end)
        }
        found: dict[Place, Record] = {}
        back = 1
        # The last offsets of a partition may be markers of transactions: look further and further back.
        while left := {p: o for p, o in grown.items() if p not in found}:
            ranges = {p: (max(o.start, o.end - back), o.end) for p, o in left.items()}
            read = self.read(moment, ranges, found.__setitem__)
            for place, offsets in left.items():
                self.partitions[place].read_to = read[place]
                if ranges[place][0] == offsets.start and place not in found:
                    del grown[place]
            back *= 16
        changed = {
            p for p, record in found.items() if record != self.partitions[p].last or self.partitions[p].again
        }
        for place in changed:
            self.partitions[place].last = found[place]
        return changed

    def read(
        self,
        moment: Moment,
        ranges: Mapping[Place, tuple[int, int]],
        take: Callable[[Place, Record], None],
    ) -> dict[Place, int]:
        """Records of the target, by their place in the source."""
        by_remote = {(moment.remotes[topic], partition): (topic, partition) for topic, partition in ranges}

        def taken(place: Place, record: Record) -> bool:
            take(by_remote[place], record)
            return True

        asked = {remote: ranges[place] for remote, place in by_remote.items()}
        read = self.reader.read(asked, taken, timeout_s=READ_S)
        return {place: read.get(remote, ranges[place][1]) for remote, place in by_remote.items()}
