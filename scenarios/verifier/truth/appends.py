"""The source's log: records of the lab and of anybody, transactions, partitions that come later."""

import random
from dataclasses import dataclass, field

from lab.ledger import ACKED, FAILED, UNKNOWN
from lab.records import payload, record_id
from scenarios.verifier.histories import RUN, Headers, Sent
from scenarios.verifier.truth.logs import Content, End, Knobs, Slot, Source, Truth

BEGIN_MS = 1_700_000_000_000
_VALUES = (b"tick", b"tock", b"", b"\xff\xfe")
_MORE_HEADERS = (("lab-twice", b"1"), ("lab-twice", b"2"), ("lab-empty", b""), ("lab-null", None))
_KEYS = 4


@dataclass(kw_only=True)
class _Transaction:
    number: int
    left: int
    slots: list[Slot] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)  # places in the ledger


class Producers:
    """All who write to the source, one record after the other."""

    def __init__(self, truth: Truth, random_: random.Random) -> None:
        self._truth, self._knobs, self._random = truth, truth.knobs, random_
        self._now, self._sequence, self._transactions = BEGIN_MS, 0, 0
        self._open: dict[int, _Transaction] = {}

    def write(self) -> None:
        knobs = self._knobs
        self._truth.source = {partition: Source() for partition in range(knobs.partitions)}
        total = knobs.records * knobs.partitions
        for number in range(total):
            self._now += 0 if knobs.one_time else self._random.choice((0, 0, 1, 5))
            self._write_one(second_half=2 * number >= total)
        for partition in list(self._open):
            if not knobs.left_open:
                self._end(partition, End.COMMITTED)

    def _write_one(self, *, second_half: bool) -> None:
        knobs, random_ = self._knobs, self._random
        last = knobs.partitions - (knobs.partition_added and not second_half and knobs.partitions > 1)
        key = b"%d" % random_.randrange(_KEYS) if knobs.compacted else random_.choice((None, None, b"", b"k"))
        partition = (
            int(key) % max(1, knobs.partitions - knobs.partition_added)
            if knobs.compacted and key
            else random_.randrange(last)
        )
        of_lab = knobs.ledger == "all" or (knobs.ledger == "some" and random_.random() < 0.6)
        if of_lab:
            self._send(partition, key)
        else:
            value: bytes | None = random_.choice(_VALUES[: knobs.values])
            if knobs.values > len(_VALUES):
                value = b"%d words" % random_.getrandbits(40)
            if knobs.compacted and random_.random() < 0.2:
                value = None
            trace: Headers = (("trace", b"\x00"),) if knobs.headers and random_.random() < 0.5 else None
            self._append(partition, Content(key=key, value=value, headers=trace, timestamp=self._now))
        transaction = self._open.get(partition)
        if transaction and transaction.left == 0:
            self._end(partition, End.ABORTED if random_.random() < 0.3 else End.COMMITTED)

    def _send(self, partition: int, key: bytes | None) -> None:
        """A record of the lab, with its row of the ledger."""
        sequence, self._sequence = self._sequence, self._sequence + 1
        ledger, chance = self._truth.ledger, self._random.random()
        sure = not self._knobs.unsure
        if not sure and chance < 0.1:
            ledger.append(Sent(sequence=sequence, outcome=FAILED))
            return
        if not sure and chance < 0.15:
            ledger.append(Sent(sequence=sequence, outcome=UNKNOWN))
            return
        identity = record_id(RUN, sequence)
        headers: tuple[tuple[str, bytes | None], ...] = (("lab-id", identity.encode()),)
        if self._knobs.headers:
            headers = (
                *headers,
                ("lab-twice", b"1"),
                ("lab-twice", b"2"),
                ("lab-empty", b""),
                ("lab-null", None),
            )
        dead = self._knobs.compacted and self._random.random() < 0.2
        value = None if dead else payload(identity, 60)
        at = len(self._truth.source[partition].slots)
        content = Content(key=key, value=value, headers=headers, timestamp=self._now)
        self._append(partition, content, sent=sequence)
        transaction = self._open.get(partition)
        number = transaction.number if transaction else None
        if transaction:
            transaction.sent.append(len(ledger))
        if not sure and chance < 0.2:
            ledger.append(Sent(sequence=sequence, outcome=UNKNOWN, transaction=number))
        else:
            ledger.append(
                Sent(sequence=sequence, outcome=ACKED, transaction=number, partition=partition, offset=at)
            )

    def _append(self, partition: int, content: Content, sent: int | None = None) -> None:
        """Into the partition's transaction if there is one; another producer's record may stand between."""
        slot = Slot(content=content, sent=sent)
        self._truth.source[partition].slots.append(slot)
        if self._knobs.transactions and partition not in self._open and self._random.random() < 0.5:
            self._transactions += 1
            size = self._random.randint(1, 4)
            self._open[partition] = _Transaction(number=self._transactions, left=size)
        transaction = self._open.get(partition)
        if transaction:
            slot.end = End.OPEN
            transaction.slots.append(slot)
            transaction.left -= 1

    def _end(self, partition: int, end: End) -> None:
        transaction = self._open.pop(partition)
        for slot in transaction.slots:
            slot.end = end
        for row in transaction.sent:
            self._truth.ledger[row] = _ended(self._truth.ledger[row], end)
        self._truth.source[partition].slots.append(Slot(content=None))


def _ended(sent: Sent, end: End) -> Sent:
    return Sent(**(vars(sent) | {"committed": end is End.COMMITTED}))


def other_content(random_: random.Random, knobs: Knobs) -> Content:
    """What a producer writes that is no mirror: often equal to what the source has."""
    value = random_.choice((*_VALUES[: knobs.values], b"foreign"))
    key = b"%d" % random_.randrange(_KEYS) if knobs.compacted else random_.choice((None, b"", b"k"))
    return Content(key=key, value=value, timestamp=BEGIN_MS + random_.choice((0, 0, 1, 7)))
