"""What becomes of the source's log: a mirror that restarts and is overtaken, retention and the cleaner.

`history` makes one from a seed. Faults are planted between the copying and what deletes from the target.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from lab.records import payload, record_id
from scenarios.verifier.histories import ELSEWHERE
from scenarios.verifier.truth.appends import Producers, other_content
from scenarios.verifier.truth.faults import plant
from scenarios.verifier.truth.logs import Content, Copy, Knobs, Place, Target, Truth, draw

_BACK = 6  # records that a restart reads again, at most


def history(seed: int, change: Callable[[Knobs], Knobs] = lambda knobs: knobs) -> Truth:
    """Everything follows from the seed; `change` switches choices on or off."""
    random_ = random.Random(seed)  # noqa: S311 - repeatable is what it is to be
    truth = Truth(seed=seed, knobs=change(draw(random_)))
    Producers(truth, random_).write()
    if truth.knobs.compacted:
        _compact_source(truth, random_)
    for partition in truth.source:
        truth.target[partition] = Target(copies=_copied(truth, partition, random_))
    if truth.knobs.fan_in:
        _add_other_source(truth, random_)
    truth.planted = tuple(plant(truth, random_))
    if truth.knobs.compacted:
        _compact_target(truth, random_)
    if truth.knobs.target_trimmed:
        for target in truth.target.values():
            target.start = random_.randint(0, random_.choice((len(target.copies) // 2, len(target.copies))))
    return truth


def _copied(truth: Truth, partition: int, random_: random.Random) -> list[Copy]:
    knobs, source = truth.knobs, truth.source[partition]
    order = _order(truth, partition, random_)
    copies = [_copy(truth, (partition, offset), random_) for offset in order]
    if knobs.recreated:
        before = [Copy(content=other_content(random_, knobs), earlier_topic=True) for _ in range(3)]
        copies = before[: random_.randint(1, 3)] + copies
    if knobs.exactly_once:
        for place in range(len(copies), 0, -1):
            if random_.random() < 0.3:
                copies.insert(place, Copy(content=None))
    if knobs.trimmed:
        source.start = max(source.start, random_.randint(0, random_.choice((2, len(source.slots)))))
        source.start = min(source.start, len(source.slots))
    return copies


def _order(truth: Truth, partition: int, random_: random.Random) -> list[int]:
    """The offsets in the order in which MM2 writes their records to the target."""
    knobs, source = truth.knobs, truth.source[partition]
    readable = truth.readable(partition)
    if knobs.compacted:
        readable = _left_by_cleaner(truth, partition, readable, random_)
    begin = random_.randint(0, len(readable)) if knobs.begins_late else 0
    source.begun = _after(readable, begin) if begin else 0
    if begin and random_.random() < 0.7:
        source.start = source.begun
    end = _reached(truth, partition, readable, random_)
    order = readable[begin:end]
    if knobs.overtaken and order:
        first = random_.randrange(len(order))
        last = min(len(order), first + random_.randint(1, 3))
        source.start = max(source.start, order[last - 1] + 1)
        del order[first:last]
    return _with_restarts(order, random_, knobs.restarts)


def _left_by_cleaner(truth: Truth, partition: int, readable: list[int], random_: random.Random) -> list[int]:
    """MM2 had come to some offset when the cleaner ran. Tombstones it has read: they stand for a day."""
    slots, reached = truth.source[partition].slots, random_.randint(0, len(readable))
    return [
        offset
        for place, offset in enumerate(readable)
        if place < reached or not slots[offset].compacted or truth.content((partition, offset)).value is None
    ]


def _after(readable: list[int], begin: int) -> int:
    return readable[begin - 1] + 1


def _reached(truth: Truth, partition: int, readable: list[int], random_: random.Random) -> int:
    """How many of the readable records MM2 has copied when the target is read: at least what is owed."""
    source, end = truth.source[partition], truth.stable_end(partition)
    if end < len(source.slots):
        source.owed = end
    if not truth.knobs.producer_at_work or len(readable) < 2:
        return len(readable)
    owed = random_.randint(max(1, len(readable) - 3), len(readable))
    source.owed = _after(readable, owed)
    return random_.randint(owed, len(readable))


def _with_restarts(order: list[int], random_: random.Random, restarts: int) -> list[int]:
    """Each goes back to the last committed offset and on from there to the end."""
    written = list(order)
    for _ in range(restarts if order else 0):
        reached = random_.randint(1, len(written))
        back = max(0, order.index(written[reached - 1]) - random_.randint(0, _BACK))
        written = written[:reached] + order[back:]
    return written


def _copy(truth: Truth, origin: Place, random_: random.Random) -> Copy:
    content = truth.content(origin)
    if truth.knobs.stamped:
        content = replace(content, timestamp=content.timestamp + random_.choice((0, 0, 3, 50)))
    return Copy(content=content, origin=origin, stamped=truth.knobs.stamped)


def _add_other_source(truth: Truth, random_: random.Random) -> None:
    number = 0
    for target in truth.target.values():
        for place in range(len(target.copies), -1, -1):
            while random_.random() < 0.2:
                identity, number = record_id(ELSEWHERE, number), number + 1
                headers = (("lab-id", identity.encode()),)
                content = Content(value=payload(identity, 60), headers=headers, timestamp=number)
                target.copies.insert(place, Copy(content=content, other_source=True))


def cleaned(rows: list[tuple[int, Content]], random_: random.Random, *, first_late: int) -> set[int]:
    """The offsets that a cleaner deletes: it goes through a log up to somewhere.

    A tombstone goes only when it has stood for long, and the last record of a key only if it is one.
    """
    gone: set[int] = set()
    up_to = random_.randint(0, len(rows))
    last: dict[bytes | None, tuple[int, Content]] = {}
    for offset, content in rows[:up_to]:
        if content.key in last:
            gone.add(last[content.key][0])
        last[content.key] = offset, content
    for offset, content in last.values():
        latest = all(c.key != content.key or o <= offset for o, c in rows)
        if content.value is None and latest and offset < first_late and random_.random() < 0.5:
            gone.add(offset)
    return gone


def _compact_source(truth: Truth, random_: random.Random) -> None:
    for partition, source in truth.source.items():
        rows = [(o, c) for o in truth.readable(partition) if (c := source.slots[o].content)]
        for offset in cleaned(rows, random_, first_late=max(0, len(source.slots) - 4)):
            source.slots[offset].compacted = True


def _compact_target(truth: Truth, random_: random.Random) -> None:
    for target in truth.target.values():
        rows = [(o, copy.content) for o, copy in enumerate(target.copies) if copy.content]
        for offset in cleaned(rows, random_, first_late=max(0, len(target.copies) - 4)):
            target.copies[offset] = replace(target.copies[offset], compacted=True)
