"""Clean histories: what a source, a mirror without fault and a ledger leave, in many variations.

A seed decides everything. The number of a case decides what its target promises: duplicates are allowed
where it is odd, and MM2 reads committed where it leaves 2 or 3 when divided by four.
"""

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lab.ledger import ACKED, FAILED, UNKNOWN
from lab.records import payload, record_id

RUN, OTHER_RUN = "a1b2c3d4", "0ther"
ELSEWHERE = "e1sewhere"  # a run of another source of the same target topic
Headers = tuple[tuple[str, bytes | None], ...] | None


@dataclass(frozen=True, kw_only=True)
class Record:
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_type: int = 0

    @property
    def at(self) -> tuple[int, int]:
        return self.partition, self.offset


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A row of the ledger."""

    sequence: int
    outcome: int
    transaction: int | None = None
    committed: bool | None = None
    partition: int | None = None
    offset: int | None = None
    run: str = RUN
    producer: int = 0


@dataclass(kw_only=True)
class Bounds:
    """Offsets of a partition as the brokers name them, and how many of them hold no record."""

    s_start: int = 0
    s_end: int = 0
    s_holes: int | None = 0
    t_start: int = 0
    t_end: int = 0
    t_holes: int | None = 0
    s_owed: int | None = None  # where the source ended when the target was asked for it; None: at s_end


@dataclass(kw_only=True)
class History:
    case: int
    source: list[Record] = field(default_factory=list)
    target: list[Record] = field(default_factory=list)
    ledger: list[Sent] = field(default_factory=list)
    bounds: dict[int, Bounds] = field(default_factory=dict)
    has_ledger: bool = True
    compacted: bool = False

    @property
    def duplicates_allowed(self) -> bool:
        return self.case % 2 == 1

    @property
    def read_committed(self) -> bool:
        return self.case % 4 >= 2

    def append(self, record: Record, *, side: str = "target") -> Record:
        """One more record at the end of its partition."""
        bounds = self.bounds[record.partition]
        end = bounds.t_end if side == "target" else bounds.s_end
        added = replace(record, offset=end)
        (self.target if side == "target" else self.source).append(added)
        if side == "target":
            bounds.t_end += 1
        else:
            bounds.s_end += 1
        return added

    def remove(self, gone: Iterable[Record], *, side: str = "target") -> None:
        """As compaction and faults do it: the offsets stay, and hold nothing."""
        at = {record.at for record in gone}
        rows = self.target if side == "target" else self.source
        for partition, _ in at:
            bounds = self.bounds[partition]
            if side == "target" and bounds.t_holes is not None:
                bounds.t_holes += 1
            elif side == "source" and bounds.s_holes is not None:
                bounds.s_holes += 1
        rows[:] = [row for row in rows if row.at not in at]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a history is like; a defect that needs something asks for it."""

    partitions: int
    records: int
    ledger: bool
    transactions: bool = False
    compacted: bool = False
    tombstones: bool = False
    headers: bool = False
    stamped_by_broker: bool = False
    trimmed: bool = False
    unsure: bool = False  # some sends failed, of some nobody knows
    foreign: bool = False  # some records are not the lab's, and equal
    late: bool = False  # a producer is at work while the topics are read


def random_kind(random_: random.Random) -> Kind:
    def often(share: float) -> bool:
        return random_.random() < share

    compacted, trimmed, ledger = often(0.25), often(0.2), often(0.7)
    return Kind(
        partitions=random_.randint(2, 4),
        records=random_.randint(40, 70),
        ledger=ledger,
        transactions=ledger and not compacted and often(0.35),
        compacted=compacted,
        tombstones=compacted or often(0.3),
        headers=often(0.5),
        stamped_by_broker=often(0.2),
        trimmed=trimmed,
        unsure=ledger and often(0.4),
        late=often(0.2),
        foreign=not ledger or (not compacted and not trimmed and often(0.3)),
    )


def clean(case: int, seed: int, kind: Kind | None = None) -> History:
    """A history in which nothing is wrong."""
    random_ = random.Random(seed)  # noqa: S311 - repeatable is what it is to be
    kind = kind or random_kind(random_)
    history = History(case=case, has_ledger=kind.ledger, compacted=kind.compacted)
    history.bounds = {partition: Bounds() for partition in range(kind.partitions)}
    _produce(history, kind, random_)
    _mirror(history, kind, random_)
    if kind.compacted:
        _compact(history, random_)
    if kind.trimmed:
        _trim(history, random_)
    return history


def _produce(history: History, kind: Kind, random_: random.Random) -> None:
    now = 1_700_000_000_000
    size = random_.randint(2, 5)
    aborted: list[Record] = []
    for sequence in range(kind.records):
        now += random_.randint(0, 9)
        transaction = sequence // size if kind.transactions else None
        committed = None if transaction is None else transaction % 5 != 4
        sent = Sent(sequence=sequence, outcome=ACKED, transaction=transaction, committed=committed)
        chance = random_.random()
        if kind.unsure and chance < 0.1:
            history.ledger.append(replace(sent, outcome=FAILED))
        elif kind.unsure and chance < 0.15:
            history.ledger.append(replace(sent, outcome=UNKNOWN))
        else:
            record = history.append(_record(history, kind, sequence, now, random_), side="source")
            if kind.unsure and chance < 0.2:
                history.ledger.append(replace(sent, outcome=UNKNOWN))
            else:
                offset = None if kind.unsure and chance < 0.25 else record.offset
                history.ledger.append(replace(sent, partition=record.partition, offset=offset))
            if committed is False:
                aborted.append(record)
        if kind.transactions and (sequence % size == size - 1 or sequence == kind.records - 1):
            _end_transaction(history)
        if kind.foreign and random_.random() < 0.3:
            history.append(_foreign(history, now, random_), side="source")
    if not kind.ledger:
        history.ledger.clear()
    if history.read_committed:
        history.remove(aborted, side="source")


def _record(history: History, kind: Kind, sequence: int, now: int, random_: random.Random) -> Record:
    identity = record_id(RUN, sequence)
    key = b"%d" % random_.randrange(8) if kind.tombstones else random_.choice((None, b"", b"key"))
    partition = int(key) % kind.partitions if kind.tombstones and key else random_.randrange(kind.partitions)
    dead = kind.tombstones and kind.ledger and random_.random() < 0.2
    headers: list[tuple[str, bytes | None]] = [("lab-id", identity.encode())]
    if kind.headers:
        headers += [("lab-twice", b"1"), ("lab-twice", b"2"), ("lab-empty", b""), ("lab-null", None)]
        headers += [("lab-binary", bytes(range(256)))]
    value = None if dead else payload(identity, random_.choice((10, 60, 200)))
    if not kind.ledger:  # anybody's records, many of them equal
        value = random_.choice(
            (b"tick", b"", b"a-1-2", b"\xff\xfe", b"%d" % sequence, b"%d words" % sequence)
        )
        if kind.tombstones and random_.random() < 0.2:
            value = None
        headers = [] if random_.random() < 0.5 else [("trace", b"\x00")]
    return Record(
        partition=partition, offset=0, timestamp=now, key=key, value=value, headers=tuple(headers) or None
    )


def _foreign(history: History, now: int, random_: random.Random) -> Record:
    return Record(
        partition=7 % len(history.bounds) if history.compacted else random_.choice(list(history.bounds)),
        offset=0,
        timestamp=now,
        key=b"7" if history.compacted else None,
        value=random_.choice((b"tick", b"tock", b"")),
        headers=None,
    )


def _end_transaction(history: History) -> None:
    """A marker in every partition: an offset without a record."""
    for bounds in history.bounds.values():
        bounds.s_end += 1
        if bounds.s_holes is not None:
            bounds.s_holes += 1


def _mirror(history: History, kind: Kind, random_: random.Random) -> None:
    for partition, bounds in history.bounds.items():
        owed = sorted((r for r in history.source if r.partition == partition), key=lambda r: r.offset)
        order = list(range(len(owed)))
        if history.duplicates_allowed:
            for _ in range(random_.randint(0, 2)):  # back to the last committed offset, and on from there
                reached = random_.randint(0, len(order))
                again = order[:reached]
                back = max(0, (again[-1] if again else 0) - random_.randint(0, 6))
                order = again + list(range(back, len(owed)))
        if kind.late and len(owed) > 4:
            bounds.s_owed = owed[-3].offset
            reached = len(owed) - random_.randint(0, 3)
            order = order[: next((place for place, i in enumerate(order) if i >= reached), len(order))]
        for index in order:
            copy = owed[index]
            if kind.stamped_by_broker:
                later = copy.timestamp + random_.randint(0, 50)
                copy = replace(copy, timestamp=later, timestamp_type=1)
            history.append(copy)
            if kind.transactions and history.read_committed and random_.random() < 0.2:
                bounds.t_end += 1
                bounds.t_holes = (bounds.t_holes or 0) + 1


def _is_late(history: History, record: Record) -> bool:
    """Tombstones stay for a day: none is gone that was written while the topics were read."""
    owed = history.bounds[record.partition].s_owed
    return owed is not None and record.offset >= owed


def _compact(history: History, random_: random.Random) -> None:
    for side, rows in (("source", history.source), ("target", history.target)):
        of_key: dict[tuple[int, bytes | None], list[Record]] = defaultdict(list)
        for row in sorted(rows, key=lambda r: r.at):
            of_key[row.partition, row.key].append(row)
        gone: list[Record] = []
        for records in of_key.values():  # the cleaner goes through the log up to somewhere
            cleaned = records[: random_.randint(0, len(records))]
            gone += cleaned[:-1]
            deleted = cleaned and cleaned[-1] is records[-1] and cleaned[-1].value is None
            if deleted and not _is_late(history, cleaned[-1]) and random_.random() < 0.5:
                gone.append(records[-1])
        history.remove(gone, side=side)
    for bounds in history.bounds.values():
        if random_.random() < 0.5:
            bounds.s_holes = bounds.t_holes = None


def _trim(history: History, random_: random.Random) -> None:
    """Retention deletes the beginning of the source, which had been mirrored long before."""
    for partition, bounds in history.bounds.items():
        start = random_.randint(0, bounds.s_end // 2)
        before = [r for r in history.source if r.partition == partition and r.offset < start]
        bounds.s_start = start
        history.source[:] = [r for r in history.source if r not in before]
        if bounds.s_holes is not None:
            bounds.s_holes = bounds.s_end - start - sum(r.partition == partition for r in history.source)


def merged(history: History, seed: int) -> tuple[History, int]:
    """The same history in a target topic that gets another source's records too, and how many they are."""
    random_ = random.Random(seed)  # noqa: S311 - repeatable is what it is to be
    bounds = {partition: replace(b) for partition, b in history.bounds.items()}
    target: list[Record] = []
    added = 0
    for partition, b in bounds.items():
        here = {r.offset: r for r in history.target if r.partition == partition}
        end = b.t_start
        for offset in range(b.t_start, b.t_end + 1):
            while random_.random() < 0.3:
                target.append(_elsewhere(partition, end, added))
                added, end = added + 1, end + 1
            if offset in here:
                target.append(replace(here[offset], offset=end))
            end += offset < b.t_end
        b.t_end = end
    return replace(history, target=target, bounds=bounds), added


def _elsewhere(partition: int, offset: int, number: int) -> Record:
    identity = record_id(ELSEWHERE, number)
    return Record(
        partition=partition,
        offset=offset,
        timestamp=1_700_000_000_000 + number,
        key=None,
        value=payload(identity, 60),
        headers=(("lab-id", identity.encode()),),
    )
