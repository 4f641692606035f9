"""A failing history made smaller: records go, one after the other, while the failure stays."""

import copy as copying
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from scenarios.verifier.truth.logs import Place, Truth

Failing = Callable[[Sequence[Truth]], Sequence[bool]]


def shrunk(truth: Truth, failing: Failing, *, rounds: int = 40) -> Truth:
    """`failing` judges all candidates of a round at once, since one costs about as much as many."""
    for _ in range(rounds):
        candidates = list(smaller(truth))
        found = failing(candidates) if candidates else []
        still = next((c for c, fails in zip(candidates, found, strict=True) if fails), None)
        if still is None:
            return truth
        truth = still
    return truth


def smaller(truth: Truth) -> Iterator[Truth]:
    """Without a partition, without a record of the source and its copies, without one copy."""
    if len(truth.source) > 1:
        yield from (without_partition(truth, partition) for partition in truth.source)
    for partition, source in truth.source.items():
        yield from (without(truth, (partition, offset)) for offset in range(len(source.slots)))
    for partition, target in truth.target.items():
        yield from (without_copy(truth, partition, place) for place in range(len(target.copies)))


def without_partition(truth: Truth, gone: int) -> Truth:
    other = copying.deepcopy(truth)
    del other.source[gone], other.target[gone]
    for target in other.target.values():
        target.copies = [c for c in target.copies if not c.origin or c.origin[0] != gone]
        target.start = min(target.start, len(target.copies))
    other.ledger = [sent for sent in other.ledger if sent.partition != gone]
    return other


def without(truth: Truth, place: Place) -> Truth:
    """As if it had never been sent: later records of its partition move up by one offset."""
    partition, offset = place
    other = copying.deepcopy(truth)
    source = other.source[partition]
    slot = source.slots.pop(offset)
    source.start -= source.start > offset
    source.begun -= source.begun > offset
    if source.owed is not None:
        source.owed -= source.owed > offset
    for target in other.target.values():
        before = [c.origin == place for c in target.copies[: target.start]]
        target.start -= sum(before)
        target.copies = [
            replace(c, origin=(partition, c.origin[1] - 1))
            if c.origin and c.origin[0] == partition and c.origin[1] > offset
            else c
            for c in target.copies
            if c.origin != place
        ]
    other.ledger = [
        replace(sent, offset=sent.offset - 1)
        if sent.partition == partition and sent.offset is not None and sent.offset > offset
        else sent
        for sent in other.ledger
        if slot.sent is None or sent.sequence != slot.sent
    ]
    return other


def without_copy(truth: Truth, partition: int, place: int) -> Truth:
    other = copying.deepcopy(truth)
    target = other.target[partition]
    del target.copies[place]
    target.start -= target.start > place
    return other
