"""What really happened: the full logs of a source and a target topic, and where each copy came from.

Nothing here is seen by a verification: `reading` says what of it is. A slot is one offset of the source,
a copy one offset of the target; both stay in their logs when retention or compaction deletes them.
"""

import random
from dataclasses import dataclass, field
from enum import StrEnum

from scenarios.verifier.histories import Headers, Sent

Place = tuple[int, int]  # partition and offset in the source


class End(StrEnum):
    """How the transaction of a record ended; a record outside of transactions counts as committed."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class Content:
    """All that a reader sees of a record but its offset. Equal contents are interchangeable."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = None
    timestamp: int = 0


@dataclass(kw_only=True)
class Slot:
    """One offset of the source; without content it is the marker of a transaction."""

    content: Content | None
    end: End = End.COMMITTED
    sent: int | None = None  # the sequence in the ledger
    compacted: bool = False  # the cleaner has deleted it


@dataclass(frozen=True, kw_only=True)
class Copy:
    """One offset of the target; without content it is a marker. Without origin no mirror made it."""

    content: Content | None
    origin: Place | None = None
    stamped: bool = False  # by the target's broker
    other_source: bool = False  # mirrored from another source of the same topic
    earlier_topic: bool = False  # mirrored from the topic that was deleted and created again
    compacted: bool = False


@dataclass(kw_only=True)
class Source:
    slots: list[Slot] = field(default_factory=list)
    start: int = 0  # retention has deleted what is before
    owed: int | None = None  # where it ended when a verification began; None: at its end
    begun: int = 0  # mirroring began here: what is before was never owed, unless the source still has it

    @property
    def owed_end(self) -> int:
        return len(self.slots) if self.owed is None else self.owed


@dataclass(kw_only=True)
class Target:
    copies: list[Copy] = field(default_factory=list)
    start: int = 0


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """What may happen in a history; each is drawn by itself."""

    partitions: int = 1
    records: int = 8  # per partition, about
    ledger: str = "none"  # of all records, of some, of none
    values: int = 2  # how many different ones, where the records are not the lab's
    one_time: bool = False  # all timestamps are equal
    headers: bool = False
    transactions: bool = False
    left_open: bool = False
    compacted: bool = False
    partition_added: bool = False
    recreated: bool = False
    unsure: bool = False  # some sends failed, of some nobody knows
    trimmed: bool = False
    begins_late: bool = False
    overtaken: bool = False
    restarts: int = 0
    producer_at_work: bool = False
    read_committed: bool = False
    exactly_once: bool = False
    stamped: bool = False
    target_trimmed: bool = False
    fan_in: bool = False
    duplicates_allowed: bool = False
    faults: int = 0

    @property
    def on(self) -> list[str]:
        """The names of what is switched on, for reports."""
        return [
            f"{name}={value}" if isinstance(value, str) else name
            for name, value in vars(self).items()
            if value and name not in ("partitions", "records", "values", "faults")
        ]


@dataclass(kw_only=True)
class Truth:
    """One history with all that is hidden of it."""

    seed: int = 0
    knobs: Knobs = field(default_factory=Knobs)
    source: dict[int, Source] = field(default_factory=dict)
    target: dict[int, Target] = field(default_factory=dict)
    ledger: list[Sent] = field(default_factory=list)
    planted: tuple[str, ...] = ()

    def readable(self, partition: int) -> list[int]:
        """The offsets whose records MM2 would be given, were none deleted."""
        source = self.source[partition]
        return [
            offset
            for offset, slot in enumerate(source.slots[: self.stable_end(partition)])
            if slot.content and (slot.end is End.COMMITTED or not self.knobs.read_committed)
        ]

    def stable_end(self, partition: int) -> int:
        """Where MM2 stops: who reads committed records stops before the first open transaction."""
        slots = self.source[partition].slots
        opened = [o for o, slot in enumerate(slots) if slot.content and slot.end is End.OPEN]
        return opened[0] if opened and self.knobs.read_committed else len(slots)

    def lives(self, place: Place) -> bool:
        """Whether the source still has the record."""
        source = self.source[place[0]]
        return place[1] >= source.start and not source.slots[place[1]].compacted

    def content(self, place: Place) -> Content:
        found = self.source[place[0]].slots[place[1]].content
        assert found is not None, f"{place} is a marker"
        return found


def draw(random_: random.Random) -> Knobs:
    """Half of all histories are without a fault; each other choice is independent of it."""

    def often(share: float) -> bool:
        return random_.random() < share

    compacted, ledger = often(0.15), random_.choice(("all", "some", "none"))
    duplicates_allowed = often(0.5)
    return Knobs(
        partitions=random_.choice((1, 1, 2, 2, 3, 4)),
        records=random_.choice((0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, random_.randint(0, 60))),
        ledger=ledger,
        values=random_.choice((1, 2, 2, 4, 1_000)),
        one_time=often(0.4),
        headers=often(0.4),
        transactions=not compacted and often(0.3),
        left_open=often(0.3),
        compacted=compacted,
        partition_added=often(0.1),
        recreated=not compacted and often(0.04),
        unsure=often(0.3),
        trimmed=often(0.35),
        begins_late=often(0.12),
        overtaken=not compacted and often(0.08),
        # where no duplicate is allowed each restart is a fault
        restarts=random_.choice((0, 1, 1, 2)) if duplicates_allowed or often(0.1) else 0,
        producer_at_work=often(0.15),
        read_committed=often(0.4),
        exactly_once=often(0.15),
        stamped=often(0.15),
        target_trimmed=often(0.2),
        fan_in=not compacted and ledger != "none" and often(0.1),
        duplicates_allowed=duplicates_allowed,
        faults=random_.choice((0, 0, 0, 0, 1, 1, 1, 2)),
    )
