"""What is true of a history: clean, faulty, or wrong only in records that nobody judges any more.

Judged is what the source still has, and what its ledger says that it was given. First each copy is
compared with the record that it really came from. Since equal records are interchangeable, what looks
wrong then is clean all the same if another way to tell them apart explains what a reader sees.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from lab.ledger import ACKED
from scenarios.verifier.truth.explain import Explanation, Item, explain, is_damaged
from scenarios.verifier.truth.logs import Content, Copy, End, Place, Truth


class Label(StrEnum):
    CLEAN = "clean"
    FAULTY = "faulty"
    NOT_JUDGED = "not judged"


@dataclass(kw_only=True)
class Judgement:
    label: Label = Label.CLEAN
    faults: Counter[str] = field(default_factory=Counter)  # by the name of the check that asks
    not_judged: Counter[str] = field(default_factory=Counter)
    owed: int = 0
    compared: int = 0  # records of the target that the source still has


def judge(truth: Truth, *, ledger: bool) -> Judgement:
    found = _Comparison(truth, ledger=ledger).compare()
    if not found.faults and not found.not_judged:
        return found
    unclear = found.not_judged["earlier topic"] or found.not_judged["replay"]
    if not truth.knobs.compacted and explained(truth, ledger=ledger, wild=False):
        found.label = Label.NOT_JUDGED if unclear else Label.CLEAN
    elif (truth.knobs.compacted and not found.faults) or explained(truth, ledger=ledger, wild=True):
        found.label = Label.NOT_JUDGED
    else:
        found.label = Label.FAULTY
    return found


def is_owed(truth: Truth, place: Place, *, ledger: bool) -> bool:
    """Whether a reader of the target must find it, or a later record of its key."""
    partition, offset = place
    source = truth.source[partition]
    slot = source.slots[offset]
    if slot.content is None or offset >= source.owed_end or offset not in set(truth.readable(partition)):
        return False
    known = ledger and slot.sent is not None
    if slot.end is End.ABORTED and known:
        return False
    if truth.knobs.compacted:
        return truth.lives(place) and slot.content.value is not None and not _superseded(truth, place)
    acked = known and any(s.sequence == slot.sent and s.outcome == ACKED for s in truth.ledger)
    return truth.lives(place) or (acked and slot.end is End.COMMITTED)


def _superseded(truth: Truth, place: Place) -> bool:
    partition, offset = place
    key = truth.content(place).key
    return any(o > offset and truth.content((partition, o)).key == key for o in truth.readable(partition))


def visible(truth: Truth, partition: int) -> list[Copy]:
    return [copy for copy, left in _copies(truth, partition) if left]


def _copies(truth: Truth, partition: int) -> list[tuple[Copy, bool]]:
    """All that the mirror ever wrote of this source, and whether the target still has it."""
    target = truth.target[partition]
    return [
        (copy, place >= target.start and not copy.compacted)
        for place, copy in enumerate(target.copies)
        if copy.content and not copy.other_source
    ]


def explained(
    truth: Truth, *, ledger: bool, wild: bool, spare: bool = False
) -> dict[int, Explanation] | None:
    """An explanation of each partition, or None if one has none.

    `wild`: what the source has deleted and no ledger names may have been anything. `spare`: so may what
    the target has deleted.
    """
    found = {}
    for partition, target in truth.target.items():
        copies = [copy for copy in visible(truth, partition) if not copy.earlier_topic]
        explanation = explain(
            items(truth, partition, ledger=ledger, wild=wild, spare=spare),
            [copy.content for copy in copies if copy.content],
            stamped=truth.knobs.stamped,
            repeats=truth.knobs.duplicates_allowed,
            spare=target.start if spare else 0,
        )
        if explanation is None:
            return None
        found[partition] = explanation
    return found


def items(truth: Truth, partition: int, *, ledger: bool, wild: bool, spare: bool) -> list[Item]:
    """The source's places from which records may have come."""
    hidden = {copy.origin for copy, left in _copies(truth, partition) if not left}
    readable = set(truth.readable(partition))
    found = []
    for offset, slot in enumerate(truth.source[partition].slots):
        place = partition, offset
        hole = slot.content is None and offset < truth.source[partition].start
        deleted = wild and (hole or not truth.lives(place))
        sent = slot.sent if ledger and deleted else None
        if deleted or offset in readable:
            item = Item(
                offset=offset,
                content=None if deleted else slot.content,
                must=is_owed(truth, place, ledger=ledger),
                covered=not spare and place in hidden,
                not_of_lab=ledger,
                sent=sent,
            )
            found.append(item)
    return found


class _Comparison:
    """Of each copy with the record that it came from."""

    def __init__(self, truth: Truth, *, ledger: bool) -> None:
        self._truth, self._ledger = truth, ledger
        self._found = Judgement()
        self._copies = [(p, copy, left) for p in truth.target for copy, left in _copies(truth, p)]
        self._arrived = {copy.origin for _, copy, _ in self._copies}

    def compare(self) -> Judgement:
        self._loss()
        self._duplicates()
        self._order()
        for partition, copy, left in self._copies:
            if left:
                self._one(partition, copy)
        if self._truth.knobs.compacted:
            self._last_values()
        return self._found

    def _note(self, check: str, *, judged: bool) -> None:
        (self._found.faults if judged else self._found.not_judged)[check] += 1

    def _judged(self, place: Place) -> bool:
        slot = self._truth.source[place[0]].slots[place[1]]
        return self._truth.lives(place) or (self._ledger and slot.sent is not None)

    def _loss(self) -> None:
        truth = self._truth
        arrived = self._arrived
        for partition, source in truth.source.items():
            last = max((o[1] for o in arrived if o and o[0] == partition), default=-1)
            for offset in truth.readable(partition):
                place = partition, offset
                owed = is_owed(truth, place, ledger=self._ledger)
                self._found.owed += owed
                if place in arrived:
                    continue
                if owed:
                    self._note("catch_up" if offset > last else "loss", judged=True)
                elif source.begun <= offset < source.owed_end and not source.slots[offset].compacted:
                    self._note("loss", judged=False)

    def _duplicates(self) -> None:
        """Also one whose first copy the target has deleted, if it stands behind a later record."""
        if self._truth.knobs.duplicates_allowed:
            return
        seen: set[Place] = set()
        visibly: dict[int, set[Place]] = {partition: set() for partition in self._truth.target}
        for partition, copy, left in self._copies:
            origin = copy.origin
            if not origin:
                continue
            if left:
                repeated = any(other >= origin for other in visibly[partition])
                if origin in seen and repeated:
                    behind_living = any(map(self._truth.lives, visibly[partition]))
                    self._note("duplicates", judged=self._judged(origin) or behind_living)
                visibly[partition].add(origin)
            seen.add(origin)

    def _order(self) -> None:
        """A later copy of what stood there before is a replay, wherever it stands."""
        seen: set[Place] = set()
        visibly_seen: set[Place] = set()
        highest: dict[int, Place] = {}
        for partition, copy, left in self._copies:
            origin = copy.origin
            if not origin or origin[0] != partition:
                continue
            if left:
                above = highest.setdefault(partition, origin)
                if origin < above and origin not in seen:
                    judged = self._judged(origin) or self._judged(above)
                    self._note("order", judged=judged and not self._truth.knobs.compacted)
                elif origin < above and origin not in visibly_seen and self._truth.planted:
                    # behind later records, and what it repeats is deleted: a restart, or the planted fault
                    self._note("replay", judged=False)
                highest[partition] = max(above, origin)
                visibly_seen.add(origin)
            seen.add(origin)

    def _one(self, partition: int, copy: Copy) -> None:
        """A copy by itself: whether it is of a record, of this partition, and the same."""
        truth, origin, content = self._truth, copy.origin, copy.content
        assert content is not None
        if copy.earlier_topic:
            self._note("earlier topic", judged=False)
        elif origin is None:
            self._note("phantoms", judged=True)
        else:
            self._found.compared += truth.lives(origin)
            if origin[1] not in truth.readable(origin[0]):  # aborted, and only committed ones were to be read
                self._note("phantoms", judged=True)
            if origin[0] != partition:
                self._note("partition", judged=True)
            there = truth.content(origin)
            if (there.key, there.value) != (content.key, content.value):
                judged = truth.lives(origin) or self._recomputed(origin, content)
                self._note("payload", judged=judged)
            if there.headers != content.headers:
                self._note("headers", judged=truth.lives(origin))
            earlier, other = content.timestamp < there.timestamp, content.timestamp != there.timestamp
            if earlier if copy.stamped else other:
                self._note("timestamp", judged=truth.lives(origin))

    def _recomputed(self, origin: Place, content: Content) -> bool:
        """Whether the ledger alone proves the value wrong."""
        sent = self._truth.source[origin[0]].slots[origin[1]].sent
        return self._ledger and sent is not None and is_damaged(content, sent)

    def _last_values(self) -> None:
        """For whoever reads to the end: each key of the source has its last value, or none."""
        truth = self._truth
        for partition, source in truth.source.items():
            last = {copy.content.key: copy.content for copy in visible(truth, partition) if copy.content}
            newest = {truth.content((partition, o)).key: o for o in truth.readable(partition)}
            for key, offset in newest.items():
                place = partition, offset
                value = truth.content(place).value
                if offset >= source.owed_end:
                    continue
                if value is None:
                    alive = key in last and last[key].value is not None
                    if alive:
                        self._note("compaction", judged=truth.lives(place) or source.start == 0)
                elif is_owed(truth, place, ledger=self._ledger):
                    deleted = key not in last and place in self._arrived
                    same = key in last and last[key].value == value
                    if not same and not deleted:
                        self._note("compaction", judged=True)
