"""Records deleted before MM2 has read them, as when retention passes it."""

from dataclasses import dataclass
from typing import ClassVar

from lab.errors import BadInput
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.inverse import Nothing
from lab.faults.topics import require_topic
from lab.kafka import Cluster, Offsets


@dataclass(frozen=True, kw_only=True)
class DeleteRecords:
    """Delete all records that a topic has now, or those of each partition before the offset `before`."""

    name: ClassVar[str] = "delete-records"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = False

    cluster: str
    topic: str
    before: int | None = None

    def check(self, lab: Ground, mark: Mark) -> "Deleting":
        cluster = lab.cluster(self.cluster)
        require_topic(cluster, self.topic)
        now = cluster.offsets(self.topic)
        wanted = {p: o.end if self.before is None else min(self.before, o.end) for p, o in now.items()}
        stops = {p: stop for p, stop in wanted.items() if stop > now[p].start}
        if not stops:
            raise BadInput(f'topic "{self.topic}" has no records to delete', '"lab topics" counts them')
        return Deleting(cluster, self.topic, now, stops)


@dataclass(frozen=True)
class Deleting:
    cluster: Cluster
    topic: str
    found: dict[int, Offsets]
    stops: dict[int, int]

    @property
    def what(self) -> str:
        return f"delete records of {self.topic} on {self.cluster.alias}"

    @property
    def inverse(self) -> Nothing:
        return Nothing(why="records that were deleted stay deleted")

    def inject(self) -> None:
        self.cluster.delete_records(self.topic, self.stops)

    def prove(self) -> str:
        now = self.cluster.offsets(self.topic)
        kept = {p: now[p].start for p, stop in self.stops.items() if now[p].start < stop}
        if kept:
            raise FaultNotObserved(f'topic "{self.topic}" still begins at {kept}')
        ranges = [f"{p}: {self.found[p].start} to {stop - 1}" for p, stop in sorted(self.stops.items())]
        return f"deleted, by partition: {', '.join(ranges)}"
