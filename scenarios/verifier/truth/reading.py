"""What a verification sees of a truth: rows between start and end offsets, the ledger, and bounds."""

from scenarios.verifier.histories import Bounds, History, Record
from scenarios.verifier.truth.logs import Content, End, Truth


def seen(truth: Truth, case: int = 0, *, ledger: bool) -> History:
    """The history as it is read; without the ledger nobody knows of any run of the lab."""
    found = History(case=case, has_ledger=ledger, compacted=truth.knobs.compacted)
    for partition in truth.source:
        found.source += _source_rows(truth, partition)
        found.target += _target_rows(truth, partition)
        found.bounds[partition] = _bounds(truth, partition, ledger=ledger)
    if ledger:
        found.ledger = list(truth.ledger)
    return found


def _source_rows(truth: Truth, partition: int) -> list[Record]:
    source, committed = truth.source[partition], truth.knobs.read_committed
    stable_end = truth.stable_end(partition)
    return [
        _row(partition, offset, slot.content)
        for offset, slot in enumerate(source.slots)
        if slot.content
        and truth.lives((partition, offset))
        and (not committed or (slot.end is End.COMMITTED and offset < stable_end))
    ]


def _target_rows(truth: Truth, partition: int) -> list[Record]:
    target = truth.target[partition]
    return [
        _row(partition, offset, copy.content, 1 if copy.stamped else 0)
        for offset, copy in enumerate(target.copies)
        if offset >= target.start and copy.content and not copy.compacted
    ]


def _row(partition: int, offset: int, content: Content, timestamp_type: int = 0) -> Record:
    return Record(partition=partition, offset=offset, timestamp_type=timestamp_type, **vars(content))


def _bounds(truth: Truth, partition: int, *, ledger: bool) -> Bounds:
    """How many offsets are empty is known only of topics that the lab alone wrote, without transactions."""
    knobs = truth.knobs
    source, target = truth.source[partition], truth.target[partition]
    known = ledger and not (knobs.transactions or knobs.compacted or knobs.producer_at_work)
    return Bounds(
        s_start=source.start,
        s_end=len(source.slots),
        s_holes=0 if known else None,
        t_start=target.start,
        t_end=len(target.copies),
        t_holes=0 if known and not knobs.exactly_once else None,
        s_owed=source.owed,
    )
