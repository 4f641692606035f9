"""Twins: another truth, clean where this one is faulty or the reverse, that leaves the same evidence.

Only what nobody sees is changed: what the source has deleted and no ledger names, what the target has
deleted, and where mirroring began. UNKNOWN is right where a truth has a twin, and nowhere else.

    target trimmed      the missing records were mirrored and deleted there, or never mirrored
    replay or disorder  records stand late since their first copies are deleted, or were mirrored late
    source trimmed      the first records of the target are old ones, or another producer's, or copies
    begun late          mirroring began after records that the source has deleted since, or lost them
"""

import copy as copying
from collections.abc import Iterator

from lab.ledger import ACKED
from scenarios.verifier.truth.explain import Explanation
from scenarios.verifier.truth.judge import Judgement, Label, explained, is_owed, judge
from scenarios.verifier.truth.logs import Content, Copy, Slot, Target, Truth

_UNKNOWN = Content(value=b"nobody has seen this")


def may_be_unknown(truth: Truth, found: Judgement, *, ledger: bool) -> str | None:
    """Why UNKNOWN is a right verdict on it, or None if the evidence decides."""
    if found.label is Label.NOT_JUDGED:
        return "older than the source"
    if nothing_to_judge(truth, found, ledger=ledger):
        return "nothing to judge"
    for name, other in twins(truth, found, ledger=ledger):
        if judge(other, ledger=ledger).label is not found.label:
            return name
    return None


def nothing_to_judge(truth: Truth, found: Judgement, *, ledger: bool) -> bool:
    """No record owed, none on both sides, or of a ledger none that the source should still have."""
    acked = {
        sent.sequence
        for sent in truth.ledger
        if sent.outcome == ACKED and (sent.committed or sent.transaction is None)
    }
    kept = any(
        slot.sent in acked and truth.lives((partition, offset))
        for partition, source in truth.source.items()
        for offset, slot in enumerate(source.slots)
        if slot.sent is not None
    )
    return not found.owed or not found.compared or (ledger and not kept)


def twins(truth: Truth, found: Judgement, *, ledger: bool) -> Iterator[tuple[str, Truth]]:
    """Candidates with the same evidence; whether one is judged otherwise is for `judge` to say."""
    if found.label is Label.FAULTY:
        if (other := mirrored_and_deleted(truth, ledger=ledger)) is not None:
            yield "mirrored and deleted", other
    else:
        yield "never mirrored", never_mirrored(truth)
        if not ledger:
            yield "lost before the source's start", lost_before_start(truth)


def never_mirrored(truth: Truth) -> Truth:
    """What the target has deleted was another producer's: no record was mirrored that is not seen."""
    other = copying.deepcopy(truth)
    for target in other.target.values():
        target.copies[: target.start] = [Copy(content=_UNKNOWN)] * target.start
    return other


def lost_before_start(truth: Truth) -> Truth:
    """Mirroring began at the earliest offset; what the source has deleted were records, and are lost."""
    other = copying.deepcopy(truth)
    for source in other.source.values():
        source.begun = 0
        for offset in range(source.start):
            if source.slots[offset].content is None:
                source.slots[offset] = Slot(content=_UNKNOWN)
    return other


def mirrored_and_deleted(truth: Truth, *, ledger: bool) -> Truth | None:
    """A clean history: what is missing was on the target, and what is unexplained in the source, earlier."""
    if truth.knobs.compacted:
        return _missing_deleted(truth, ledger=ledger)
    explanations = explained(truth, ledger=ledger, wild=True, spare=True)
    if explanations is None:
        return None
    other = copying.deepcopy(truth)
    other.planted = ()
    for partition, explanation in explanations.items():
        _make_true(other, partition, explanation, ledger=ledger)
    return other


def _missing_deleted(truth: Truth, *, ledger: bool) -> Truth | None:
    """What is missing of a compacted topic, put where the target has deleted its records."""
    other = copying.deepcopy(truth)
    other.planted = ()
    arrived = {copy.origin for target in truth.target.values() for copy in target.copies}
    for partition, target in other.target.items():
        places = [(partition, offset) for offset in truth.readable(partition)]
        missing = [p for p in places if p not in arrived and is_owed(truth, p, ledger=ledger)]
        room = target.start - len(missing)
        if room < 0:
            return None
        copies = [Copy(content=truth.content(place), origin=place) for place in missing]
        target.copies[: target.start] = [*target.copies[:room], *copies]
    return other


def _make_true(truth: Truth, partition: int, explanation: Explanation, *, ledger: bool) -> None:
    source, target = truth.source[partition], truth.target[partition]
    offsets = iter(explanation.offsets)
    source.begun = source.start
    deleted: dict[Content, int] = {}  # equal ones are repetitions of one
    copies = []
    for copy in target.copies[target.start :]:
        if copy.content is None or copy.other_source or copy.earlier_topic:
            copies.append(copy)
            continue
        offset = next(offsets)
        named = ledger and source.slots[offset].sent is not None
        if not truth.lives((partition, offset)) and not named:
            if truth.knobs.duplicates_allowed:
                offset = deleted.setdefault(copy.content, offset)
            source.slots[offset] = Slot(content=copy.content)
        copies.append(Copy(content=copy.content, origin=(partition, offset), stamped=copy.stamped))
    places = [(partition, o) for o in sorted(explanation.earlier) if source.slots[o].content]
    earlier = [
        Copy(content=truth.content(place), origin=place, stamped=truth.knobs.stamped) for place in places
    ]
    padding = [Copy(content=_UNKNOWN)] * (target.start - len(earlier))
    truth.target[partition] = Target(copies=padding + earlier + copies, start=target.start)
