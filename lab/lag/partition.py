"""One partition: what a sample says of it, what a watch knows of it, and the backlog that is counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.kafka import Offsets, Place, Record


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
class Known:
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


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What both clusters had when a sample began, by place in the source."""

    upstream: Mapping[Place, Offsets]
    downstream: Mapping[Place, Offsets]
    remotes: Mapping[str, str]  # a topic's name on the target
