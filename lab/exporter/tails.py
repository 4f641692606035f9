"""What was added to small topics since they were last read."""

from collections.abc import Callable, Iterable
from typing import Final

from lab.kafka import Cluster, Place, Reader, Record

_READ_S: Final = 5.0


class Tails:
    """Reads only when a topic has grown, with one consumer that opens when it is first needed."""

    def __init__(self, cluster: Cluster, *, reader: Callable[[Cluster], Reader] = Reader) -> None:
        self._cluster, self._new_reader = cluster, reader
        self._reader: Reader | None = None
        self._read_to: dict[Place, int] = {}

    def new(self, topics: Iterable[str], *, at_most: int | None = None) -> list[Record]:
        """Records that were not given before; of a partition's the last `at_most` offsets only."""
        ranges = {}
        for place, offsets in self._cluster.offsets_of(topics).items():
            begin = self._read_to.get(place, 0)
            if offsets.end < begin:
                begin = 0  # deleted and created again
            begin = max(begin, offsets.start, 0 if at_most is None else offsets.end - at_most)
            if begin < offsets.end:
                ranges[place] = (begin, offsets.end)
        if not ranges:
            return []
        found: list[Record] = []

        def take(_: Place, record: Record) -> bool:
            found.append(record)
            return True

        self._reader = self._reader or self._new_reader(self._cluster)
        self._read_to |= self._reader.read(ranges, take, timeout_s=_READ_S)
        return found

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
