"""What a mirror must never do, planted into the copies of a history.

A fault changes copies and nothing else, and answers whether it found something to spoil. Whether anybody
can see it is not decided here: `judge` compares what a reader of the target sees.
"""

import base64
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from scenarios.verifier.truth.appends import other_content
from scenarios.verifier.truth.logs import Content, Copy, End, Truth

Fault = Callable[[Truth, random.Random], bool]
Where = tuple[int, int]  # partition and place on the target

FAULTS: dict[str, Fault] = {}


def plant(truth: Truth, random_: random.Random) -> Iterator[str]:
    """As many as the knobs ask for, of those that find something to spoil; yields their names."""
    for _ in range(truth.knobs.faults):
        for name in random_.sample(list(FAULTS), len(FAULTS)):
            if FAULTS[name](truth, random_):
                yield name
                break


def fault(make: Fault) -> Fault:
    FAULTS[make.__name__.strip("_")] = make
    return make


def _candidates(truth: Truth) -> list[Where]:
    """Copies of records; nobody owes those of aborted transactions."""
    return [
        (partition, place)
        for partition, target in truth.target.items()
        for place, copy in enumerate(target.copies)
        if (at := copy.origin) and truth.source[at[0]].slots[at[1]].end is not End.ABORTED
    ]


def _drop(truth: Truth, where: list[Where]) -> None:
    """All copies of the same record, also those of replays."""
    origins = {truth.target[p].copies[place].origin for p, place in where}
    for partition in {p for p, _ in where}:
        target = truth.target[partition]
        target.copies = [copy for copy in target.copies if copy.origin not in origins or copy.origin is None]


@fault
def _dropped(truth: Truth, random_: random.Random) -> bool:
    some = _candidates(truth)
    if some:
        _drop(truth, [random_.choice(some)])
    return bool(some)


@fault
def _dropped_tail(truth: Truth, random_: random.Random) -> bool:
    some = _candidates(truth)
    if not some:
        return False
    partition, _ = random_.choice(some)
    here = [where for where in some if where[0] == partition]
    _drop(truth, here[-random_.randint(1, 3) :])
    return True


@fault
def _dropped_first(truth: Truth, random_: random.Random) -> bool:
    some = _candidates(truth)
    if not some:
        return False
    partition, _ = random_.choice(some)
    _drop(truth, [where for where in some if where[0] == partition][: random_.randint(1, 3)])
    return True


@fault
def _repeated(truth: Truth, random_: random.Random) -> bool:
    """One record alone, somewhere after its first copy: no restart explains that."""
    some = _candidates(truth)
    if some:
        partition, place = random_.choice(some)
        copies = truth.target[partition].copies
        copies.insert(random_.randint(place + 1, len(copies)), copies[place])
    return bool(some)


@fault
def _swapped(truth: Truth, random_: random.Random) -> bool:
    pairs = _neighbours(truth)
    if pairs:
        (partition, one), (_, two) = random_.choice(pairs)
        copies = truth.target[partition].copies
        copies[one], copies[two] = copies[two], copies[one]
    return bool(pairs)


def _neighbours(truth: Truth) -> list[tuple[Where, Where]]:
    some = _candidates(truth)
    return [(a, b) for a, b in pairwise(some) if a[0] == b[0]]


@fault
def _late(truth: Truth, random_: random.Random) -> bool:
    """One record arrives after many later ones."""
    pairs = _neighbours(truth)
    if pairs:
        (partition, place), _ = random_.choice(pairs)
        copies = truth.target[partition].copies
        copy = copies.pop(place)
        copies.insert(random_.randint(place + 1, len(copies)), copy)
    return bool(pairs)


@fault
def _moved(truth: Truth, random_: random.Random) -> bool:
    some = _candidates(truth)
    if not some or len(truth.target) < 2:
        return False
    partition, place = random_.choice(some)
    elsewhere = truth.target[random_.choice([p for p in truth.target if p != partition])].copies
    elsewhere.insert(random_.randint(0, len(elsewhere)), truth.target[partition].copies.pop(place))
    return True


def _changed(
    truth: Truth, random_: random.Random, change: Callable[[Content], dict[str, Any] | None]
) -> bool:
    """A copy gets the fields that `change` gives for its content; None where there is nothing to change."""
    some = [
        (where, changed)
        for where in _candidates(truth)
        if (content := _at(truth, where).content) and (changed := change(content)) is not None
    ]
    if some:
        (partition, place), changed = random_.choice(some)
        copies = truth.target[partition].copies
        copy = copies[place]
        assert copy.content is not None
        copies[place] = replace(copy, content=replace(copy.content, **changed))
    return bool(some)


def _at(truth: Truth, where: Where) -> Copy:
    return truth.target[where[0]].copies[where[1]]


@fault
def _value_changed(truth: Truth, random_: random.Random) -> bool:
    other = random_.choice((b"other", b"tick", b"", None))
    return _changed(truth, random_, lambda c: {"value": other} if c.value != other else None)


@fault
def _value_cut(truth: Truth, random_: random.Random) -> bool:
    return _changed(truth, random_, lambda c: {"value": c.value[: len(c.value) // 2]} if c.value else None)


@fault
def _key_changed(truth: Truth, random_: random.Random) -> bool:
    other = random_.choice((b"other", b"", None))
    return _changed(truth, random_, lambda c: {"key": other} if c.key != other else None)


@fault
def _header_lost(truth: Truth, random_: random.Random) -> bool:
    return _changed(truth, random_, lambda c: {"headers": c.headers[:-1] or None} if c.headers else None)


@fault
def _headers_in_base64(truth: Truth, random_: random.Random) -> bool:
    """As SimpleHeaderConverter writes them."""

    def encoded(content: Content) -> dict[str, Any] | None:
        if not content.headers:
            return None
        return {"headers": tuple((k, v and base64.b64encode(v)) for k, v in content.headers)}

    return _changed(truth, random_, encoded)


@fault
def _header_null_or_empty(truth: Truth, random_: random.Random) -> bool:
    def other(content: Content) -> dict[str, Any] | None:
        if not content.headers:
            return None
        key, value = content.headers[-1]
        return {"headers": (*content.headers[:-1], (key, b"" if value is None else None))}

    return _changed(truth, random_, other)


@fault
def _timestamp_changed(truth: Truth, random_: random.Random) -> bool:
    """Where the broker stamps, only an earlier time than the source's is wrong."""
    by = -100 if truth.knobs.stamped else random_.choice((-1, 1, 1_000))
    return _changed(truth, random_, lambda c: {"timestamp": c.timestamp + by})


@fault
def _foreign(truth: Truth, random_: random.Random) -> bool:
    """Another producer writes to the target."""
    target = truth.target[random_.choice(list(truth.target))]
    copy = Copy(content=other_content(random_, truth.knobs), stamped=truth.knobs.stamped)
    target.copies.insert(random_.randint(0, len(target.copies)), copy)
    return True


@fault
def _aborted_mirrored(truth: Truth, random_: random.Random) -> bool:
    """By a mirror that was to read committed records only."""
    some = [
        (partition, offset)
        for partition, source in truth.source.items()
        for offset, slot in enumerate(source.slots)
        if truth.knobs.read_committed and slot.content and slot.end is End.ABORTED
    ]
    if not some:
        return False
    place = random_.choice(some)
    copies = truth.target[place[0]].copies
    later = (i for i, copy in enumerate(copies) if copy.origin and copy.origin > place)
    copy = Copy(content=truth.content(place), origin=place, stamped=truth.knobs.stamped)
    copies.insert(next(later, len(copies)), copy)
    return True


@fault
def _last_value_stale(truth: Truth, random_: random.Random) -> bool:
    """The last record of a key never arrives, an earlier one has."""
    if not truth.knobs.compacted:
        return False
    of_key: dict[tuple[int, bytes | None], list[Where]] = {}
    for partition, place in _candidates(truth):
        content = _at(truth, (partition, place)).content
        of_key.setdefault((partition, content.key if content else None), []).append((partition, place))
    some = [places for places in of_key.values() if len({_at(truth, w).origin for w in places}) > 1]
    if some:
        _drop(truth, [max(random_.choice(some), key=lambda w: _at(truth, w).origin or (0, 0))])
    return bool(some)
