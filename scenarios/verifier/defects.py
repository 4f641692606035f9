"""What can go wrong, planted into clean histories: per defect the check that must fire and what it names.

A defect is a function that spoils a history and says what the check's first coordinates are. `DEFECTS`
is the table; `also` are the companions that may fire too, because the one thing is also the other. Any
further check that is not PASS is a false alarm. Checks of other evidence add tables of their own.
"""

import base64
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lab.ledger import ACKED, FAILED, UNKNOWN
from lab.records import payload, record_id
from lab.verify.verdict import Outcome
from scenarios.verifier.histories import OTHER_RUN, RUN, History, Kind, Record, Sent

First = Mapping[str, int]
Spoil = Callable[[History, random.Random], First]


@dataclass(frozen=True, kw_only=True)
class Defect:
    name: str
    check: str
    spoil: Spoil
    kind: Kind
    also: frozenset[str] = frozenset()
    outcome: Outcome = Outcome.FAIL
    case: int = 0  # added to a multiple of four: what the target promises


PLAIN = Kind(partitions=3, records=60, ledger=True, headers=True)
NO_LEDGER = replace(PLAIN, ledger=False, foreign=True)
COMPACTED = replace(PLAIN, compacted=True, tombstones=True)
NO_DUPLICATES, DUPLICATES, COMMITTED = 0, 1, 2
ALL_ELSE = frozenset(
    "reading ledger loss catch_up duplicates order".split()
    + "payload headers timestamp partition phantoms compaction".split()
)

DEFECTS: list[Defect] = []


def defect(
    check: str,
    *,
    kind: Kind = PLAIN,
    also: str = "",
    outcome: Outcome = Outcome.FAIL,
    case: int = NO_DUPLICATES,
) -> Callable[[Spoil], Spoil]:
    def add(spoil: Spoil) -> Spoil:
        name = spoil.__name__.strip("_")
        companions = frozenset(also.split()) if also != "*" else ALL_ELSE
        DEFECTS.append(
            Defect(
                name=name, check=check, spoil=spoil, kind=kind, also=companions, outcome=outcome, case=case
            )
        )
        return spoil

    return add


# -- finding and changing --------------------------------------------------------------------------


def at_source(record: Record) -> First:
    return {"partition": record.partition, "offset": record.offset}


def at_target(record: Record) -> First:
    return {"t_partition": record.partition, "t_first": record.offset}


def middle(history: History, random_: random.Random, *, count: int = 1, where: str = "value") -> list[Record]:
    """So many neighbours of one partition of the source, not its first nor among its last, in order."""
    runs = []
    for partition in history.bounds:
        rows = sorted((r for r in history.source if r.partition == partition), key=lambda r: r.offset)
        for start in range(1, len(rows) - count - 1):
            run = rows[start : start + count]
            if all(_fits(history, r, where) for r in run):
                runs.append(run)
    return random_.choice(runs)


def _fits(history: History, record: Record, where: str) -> bool:
    mine = record.headers is not None and record.headers[0][0] == "lab-id"
    unique = sum((r.key, r.value) == (record.key, record.value) for r in history.source) == 1
    if where == "tombstone":
        return mine and record.value is None
    if where == "equal":
        return not unique
    if where == "foreign":
        return not mine and unique
    return mine and record.value is not None and len(record.value) > 30


def tail(history: History, random_: random.Random, count: int) -> list[Record]:
    rows = sorted(history.source, key=lambda r: r.offset)
    partitions = [p for p in history.bounds if sum(r.partition == p for r in rows) > count + 2]
    partition = random_.choice(partitions)
    return [r for r in rows if r.partition == partition][-count:]


def copies(history: History, record: Record) -> list[Record]:
    if record.headers and record.headers[0][0] == "lab-id":
        return [r for r in history.target if r.headers == record.headers and r.headers]
    return [r for r in history.target if (r.key, r.value) == (record.key, record.value)]


def copy(history: History, record: Record) -> Record:
    return copies(history, record)[0]


def lose(history: History, records: list[Record]) -> None:
    for record in records:
        history.remove(copies(history, record))


def change(history: History, old: Record, new: Record, side: str = "target") -> None:
    rows = history.target if side == "target" else history.source
    rows[rows.index(old)] = new


def sent_of(history: History, record: Record) -> Sent:
    return next(s for s in history.ledger if (s.partition, s.offset) == record.at)


def relist(history: History, old: Sent, **changes: object) -> None:
    history.ledger[history.ledger.index(old)] = replace(old, **changes)  # type: ignore[arg-type]


# -- reading: too little evidence is UNKNOWN -------------------------------------------------------


@defect("reading", outcome=Outcome.UNKNOWN)
def offsets_of_the_source_without_records(history: History, random_: random.Random) -> First:
    partition = random_.choice(list(history.bounds))
    history.bounds[partition].s_end += 3
    return {"partition": partition}


@defect("reading", outcome=Outcome.UNKNOWN)
def offsets_of_the_target_without_records(history: History, random_: random.Random) -> First:
    partition = random_.choice(list(history.bounds))
    history.bounds[partition].t_end += 1
    return {"partition": partition}


@defect("reading", outcome=Outcome.UNKNOWN, kind=replace(PLAIN, transactions=True))
def more_records_than_offsets(history: History, random_: random.Random) -> First:
    partition = random_.choice(list(history.bounds))
    history.bounds[partition].s_end -= 1
    return {"partition": partition}


@defect("reading", outcome=Outcome.UNKNOWN, also="*", kind=NO_LEDGER)
def nothing_at_all(history: History, random_: random.Random) -> First:
    history.source.clear()
    history.target.clear()
    for bounds in history.bounds.values():
        bounds.s_end = bounds.t_end = 0
    return {}


@defect("reading", outcome=Outcome.UNKNOWN, also="ledger phantoms")
def records_of_the_source_not_read(history: History, random_: random.Random) -> First:
    [gone] = middle(history, random_)
    history.source.remove(gone)
    return {"partition": gone.partition}


# -- ledger ----------------------------------------------------------------------------------------


@defect("ledger")
def acked_at_another_offset(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    relist(history, sent_of(history, record), offset=record.offset + 1)
    return at_source(record)


@defect("ledger")
def acked_in_another_partition(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    relist(history, sent_of(history, record), partition=(record.partition + 1) % 3)
    return at_source(record)


@defect("ledger")
def damaged_before_it_was_mirrored(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    assert record.value is not None
    value = record.value[:-1] + b"!"
    change(history, record, replace(record, value=value), "source")
    mirrored = copy(history, record)
    change(history, mirrored, replace(mirrored, value=value))
    return at_source(record)


@defect("ledger")
def refused_and_there(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    relist(history, sent_of(history, record), outcome=FAILED, partition=None, offset=None)
    return at_source(record)


@defect("ledger")
def a_row_of_the_ledger_is_gone(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    history.ledger.remove(sent_of(history, record))
    return at_source(record)


@defect("ledger", also="loss catch_up")
def the_last_record_is_gone_everywhere(history: History, random_: random.Random) -> First:
    [record] = tail(history, random_, 1)
    lose(history, [record])
    history.source.remove(record)
    history.bounds[record.partition].s_end -= 1
    return at_source(record)


@defect("ledger")
def the_brokers_of_the_source_lost_the_end(history: History, random_: random.Random) -> First:
    gone = tail(history, random_, 3)
    history.source[:] = [r for r in history.source if r not in gone]
    history.bounds[gone[0].partition].s_end -= 3
    return at_source(gone[0])


# -- loss ------------------------------------------------------------------------------------------


@defect("loss")
def a_hole(history: History, random_: random.Random) -> First:
    gone = middle(history, random_)
    lose(history, gone)
    return at_source(gone[0])


@defect("loss", kind=replace(PLAIN, transactions=True), case=COMMITTED)
def a_hole_among_transactions(history: History, random_: random.Random) -> First:
    gone = middle(history, random_)
    lose(history, gone)
    return at_source(gone[0])


@defect("loss")
def a_wide_hole(history: History, random_: random.Random) -> First:
    gone = middle(history, random_, count=3)
    lose(history, gone)
    return at_source(gone[0])


@defect("loss", case=DUPLICATES)
def a_hole_among_replays(history: History, random_: random.Random) -> First:
    gone = middle(history, random_)
    lose(history, gone)
    return at_source(gone[0])


@defect("loss", kind=NO_LEDGER, also="order")
def an_equal_record_fewer(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_, where="equal")
    history.remove([copies(history, record)[-1]])
    return {}


@defect("loss", kind=replace(PLAIN, tombstones=True, records=90))
def a_tombstone_is_lost(history: History, random_: random.Random) -> First:
    gone = middle(history, random_, where="tombstone")
    lose(history, gone)
    return at_source(gone[0])


@defect("loss")
def deleted_from_the_source_before_it_was_mirrored(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    start = record.offset + 1
    gone = sorted(
        (r for r in history.source if r.partition == record.partition and r.offset < start),
        key=lambda r: r.offset,
    )
    lose(history, gone)
    history.source[:] = [r for r in history.source if r not in gone]
    history.bounds[record.partition].s_start = start
    return at_source(gone[0])


@defect("loss", also="ledger")
def acked_and_never_seen(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    lose(history, [record])
    history.remove([record], side="source")
    return at_source(record)


@defect("loss", outcome=Outcome.UNKNOWN)
def deleted_from_the_target(history: History, random_: random.Random) -> First:
    partition = random_.choice(list(history.bounds))
    rows = sorted((r for r in history.source if r.partition == partition), key=lambda r: r.offset)
    lose(history, rows[:3])
    history.bounds[partition].t_start = 3
    history.bounds[partition].t_holes = 0
    return at_source(rows[0])


@defect("loss", outcome=Outcome.UNKNOWN)
def deleted_from_both(history: History, random_: random.Random) -> First:
    first = deleted_from_the_target(history, random_)
    bounds = history.bounds[first["partition"]]
    gone = [r for r in history.source if r.partition == first["partition"] and r.offset < 3]
    history.source[:] = [r for r in history.source if r not in gone]
    bounds.s_start = 3
    return first


# -- catch_up --------------------------------------------------------------------------------------


@defect("catch_up", also="loss")
def the_last_record_is_not_mirrored(history: History, random_: random.Random) -> First:
    gone = tail(history, random_, 1)
    lose(history, gone)
    return at_source(gone[0])


@defect("catch_up", also="loss", case=DUPLICATES)
def the_end_is_not_mirrored(history: History, random_: random.Random) -> First:
    gone = tail(history, random_, 4)
    lose(history, gone)
    return at_source(gone[0])


@defect("catch_up", also="loss")
def a_partition_is_not_mirrored(history: History, random_: random.Random) -> First:
    partition = random_.choice(list(history.bounds))
    gone = sorted((r for r in history.source if r.partition == partition), key=lambda r: r.offset)
    lose(history, gone)
    return at_source(gone[0])


@defect("catch_up", also="*")
def nothing_is_mirrored(history: History, random_: random.Random) -> First:
    lose(history, history.source)
    return at_source(min(history.source, key=lambda r: r.at))


# -- duplicates ------------------------------------------------------------------------------------


@defect("duplicates")
def a_record_twice(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    history.append(copy(history, record))
    return at_source(record)


@defect("duplicates")
def a_record_four_times(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    for _ in range(3):
        history.append(copy(history, record))
    return at_source(record)


@defect("duplicates")
def a_replayed_range(history: History, random_: random.Random) -> First:
    again = middle(history, random_, count=3)
    for record in again:
        history.append(copy(history, record))
    return at_source(again[0])


@defect("duplicates", kind=NO_LEDGER)
def an_equal_record_more(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_, where="equal")
    history.append(copies(history, record)[0])
    return {}


@defect("duplicates", kind=replace(PLAIN, trimmed=True))
def a_record_twice_that_the_source_has_deleted(history: History, random_: random.Random) -> First:
    kept = {r.headers for r in history.source}
    gone = [r for r in history.target if r.headers and r.headers not in kept]
    if not gone:
        return a_record_twice(history, random_)
    again = random_.choice(gone)
    history.append(again)
    return {"t_partition": again.partition, "t_first": again.offset}


# -- order -----------------------------------------------------------------------------------------


def _rewritten(history: History, records: list[Record], order: list[int]) -> None:
    """The copies of these records take each other's offsets: place i gets the record number order[i]."""
    mirrored = [copy(history, record) for record in records]
    offsets = sorted(record.offset for record in mirrored)
    history.target[:] = [r for r in history.target if r not in mirrored]
    history.target += [replace(mirrored[j], offset=offsets[i]) for i, j in enumerate(order)]


@defect("order")
def two_neighbours_swapped(history: History, random_: random.Random) -> First:
    records = middle(history, random_, count=2)
    place = copy(history, records[1])
    _rewritten(history, records, [1, 0])
    return at_target(place)


@defect("order")
def a_block_reversed(history: History, random_: random.Random) -> First:
    records = middle(history, random_, count=3)
    place = copy(history, records[1])
    _rewritten(history, records, [2, 1, 0])
    return at_target(place)


@defect("order")
def a_record_comes_at_the_very_end(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    early = copy(history, record)
    late = history.append(early)
    history.remove([early])
    return at_target(late)


@defect("order", kind=replace(PLAIN, stamped_by_broker=True), also="timestamp")
def the_last_overtakes(history: History, random_: random.Random) -> First:
    records = middle(history, random_, count=4)
    place = copy(history, records[1])
    _rewritten(history, records, [3, 0, 1, 2])
    return at_target(place)


# -- payload ---------------------------------------------------------------------------------------


def _value(spoilt: Callable[[bytes], bytes | None]) -> Spoil:
    def spoil(history: History, random_: random.Random) -> First:
        [record] = middle(history, random_)
        mirrored = copy(history, record)
        assert mirrored.value is not None
        change(history, mirrored, replace(mirrored, value=spoilt(mirrored.value)))
        return at_source(record)

    return spoil


def _key(new: bytes | None, old: bytes | None) -> Spoil:
    def spoil(history: History, random_: random.Random) -> First:
        while True:
            [record] = middle(history, random_)
            if record.key == old:
                break
        mirrored = copy(history, record)
        change(history, mirrored, replace(mirrored, key=new))
        return at_source(record)

    return spoil


for _name, _spoil in {
    "a_bit_flipped_at_the_end": _value(lambda v: v[:-1] + bytes([v[-1] ^ 1])),
    "a_bit_flipped_in_the_middle": _value(lambda v: v[:25] + bytes([v[25] ^ 128]) + v[26:]),
    "the_value_cut": _value(lambda v: v[:-3]),
    "the_value_longer": _value(lambda v: v + b"\x00"),
    "the_value_empty": _value(lambda v: b""),
    "the_value_null": _value(lambda v: None),
    "the_key_changed": _key(b"yek", b"key"),
    "the_key_null_not_empty": _key(None, b""),
    "the_key_empty_not_null": _key(b"", None),
}.items():
    _spoil.__name__ = _name
    defect("payload")(_spoil)


@defect("phantoms", also="loss")
def the_value_of_another_record(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    mirrored = copy(history, record)
    change(history, mirrored, replace(mirrored, value=payload(record_id(RUN, 10_000), 100)))
    return at_target(mirrored)


@defect("payload", kind=replace(PLAIN, tombstones=True, records=90))
def a_tombstone_became_an_empty_value(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_, where="tombstone")
    mirrored = copy(history, record)
    change(history, mirrored, replace(mirrored, value=b""))
    return at_source(record)


@defect("payload", kind=replace(PLAIN, trimmed=True))
def changed_and_gone_from_the_source(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    mirrored = copy(history, record)
    assert mirrored.value is not None
    bounds = history.bounds[record.partition]
    bounds.s_start = record.offset + 1
    history.source[:] = [
        r for r in history.source if r.partition != record.partition or r.offset > record.offset
    ]
    change(history, mirrored, replace(mirrored, value=mirrored.value[:-1] + b"?"))
    return at_source(record)


# -- headers ---------------------------------------------------------------------------------------


def _headers(
    spoilt: Callable[[list[tuple[str, bytes | None]]], list[tuple[str, bytes | None]] | None],
) -> Spoil:
    def spoil(history: History, random_: random.Random) -> First:
        [record] = middle(history, random_)
        mirrored = copy(history, record)
        new = spoilt(list(mirrored.headers or ()))
        change(history, mirrored, replace(mirrored, headers=tuple(new) if new else None))
        return at_source(record)

    return spoil


def _base64(value: bytes | None) -> bytes | None:
    return None if value is None else base64.b64encode(value)


for _name, _spoil in {
    "no_headers": _headers(lambda hs: None),
    "the_last_header_gone": _headers(lambda hs: hs[:-1]),
    "a_header_twice": _headers(lambda hs: [*hs, hs[-1]]),
    "headers_in_another_order": _headers(lambda hs: [hs[0], hs[2], hs[1], *hs[3:]]),
    "an_empty_header_became_null": _headers(lambda hs: [*hs[:3], ("lab-empty", None), *hs[4:]]),
    "a_null_header_became_empty": _headers(lambda hs: [*hs[:4], ("lab-null", b""), *hs[5:]]),
    "a_header_in_another_encoding": _headers(lambda hs: [*hs[:-1], ("lab-binary", bytes(range(255)) + b"?")]),
    "headers_in_base64": _headers(lambda hs: [(key, _base64(value)) for key, value in hs]),
}.items():
    _spoil.__name__ = _name
    defect("headers")(_spoil)


# -- timestamp -------------------------------------------------------------------------------------


def _stamped(by_ms: int) -> Spoil:
    def spoil(history: History, random_: random.Random) -> First:
        records = middle(history, random_, count=2)
        for record in records:
            mirrored = copy(history, record)
            change(history, mirrored, replace(mirrored, timestamp=record.timestamp + by_ms))
        return at_source(records[0])

    return spoil


BY_BROKER = replace(PLAIN, stamped_by_broker=True)
for _name, _kind, _by_ms in (
    ("timestamps_one_ms_later", PLAIN, 1),
    ("timestamps_one_hour_earlier", PLAIN, -3_600_000),
    ("timestamps_lost", PLAIN, -1_700_000_000_000),
    ("stamped_by_the_target_before_the_source", BY_BROKER, -1),
):
    _spoil = _stamped(_by_ms)
    _spoil.__name__ = _name
    defect("timestamp", kind=_kind)(_spoil)


# -- partition -------------------------------------------------------------------------------------


@defect("partition")
def in_another_partition(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    history.append(replace(copy(history, record), partition=(record.partition + 1) % 3))
    history.remove([copy(history, record)])
    return at_source(record)


@defect("partition", also="duplicates")
def in_two_partitions(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    history.append(replace(copy(history, record), partition=(record.partition + 2) % 3))
    return at_source(record)


@defect("partition")
def two_partitions_swapped(history: History, random_: random.Random) -> First:
    other = {0: 1, 1: 0}
    history.target[:] = [replace(r, partition=other.get(r.partition, r.partition)) for r in history.target]
    one, two = history.bounds[0], history.bounds[1]
    one.t_end, two.t_end, one.t_holes, two.t_holes = two.t_end, one.t_end, two.t_holes, one.t_holes
    return at_source(min(history.source, key=lambda r: r.at))


# -- phantoms --------------------------------------------------------------------------------------


def _added(value: bytes, headers: tuple[tuple[str, bytes | None], ...] | None = None) -> Spoil:
    def spoil(history: History, random_: random.Random) -> First:
        partition = random_.choice(list(history.bounds))
        strange = Record(
            partition=partition, offset=0, timestamp=1_700_000_000_500, key=None, value=value, headers=headers
        )
        return at_target(history.append(strange))

    return spoil


for _name, _kind, _spoil in (
    ("a_foreign_record", PLAIN, _added(b"from somewhere else")),
    ("a_foreign_record_without_ledger", NO_LEDGER, _added(b"from somewhere else")),
    ("an_empty_record", PLAIN, _added(b"")),
    ("a_record_of_another_run", PLAIN, _added(payload(record_id(OTHER_RUN, 3), 80))),
    ("a_record_that_looks_like_ours", PLAIN, _added(payload(record_id(RUN, 12_345), 80))),
):
    _spoil.__name__ = _name
    defect("phantoms", kind=_kind)(_spoil)


def _known_as(outcome: int) -> Spoil:
    def spoil(history: History, random_: random.Random) -> First:
        history.ledger.append(Sent(sequence=5_000, outcome=outcome))
        return _added(payload(record_id(RUN, 5_000), 80))(history, random_)

    return spoil


for _name, _outcome in (
    ("a_refused_record_on_the_target", FAILED),
    ("an_unsent_record_on_the_target", UNKNOWN),
):
    _spoil = _known_as(_outcome)
    _spoil.__name__ = _name
    defect("phantoms")(_spoil)


@defect("phantoms", kind=replace(PLAIN, transactions=True), case=COMMITTED)
def an_aborted_record_is_mirrored(history: History, random_: random.Random) -> First:
    end = history.bounds[1].s_end
    history.bounds[1].s_end += 1
    history.bounds[1].s_holes = (history.bounds[1].s_holes or 0) + 1
    history.ledger.append(
        Sent(sequence=5_000, outcome=ACKED, transaction=4, committed=False, partition=1, offset=end)
    )
    identity = record_id(RUN, 5_000)
    headers = (("lab-id", identity.encode()),)
    record = Record(
        partition=1, offset=0, timestamp=0, key=None, value=payload(identity, 70), headers=headers
    )
    return at_target(history.append(record))


@defect("phantoms")
def a_record_came_back_to_the_source(history: History, random_: random.Random) -> First:
    [record] = middle(history, random_)
    mirrored = copy(history, record)
    history.append(record, side="source")
    history.append(mirrored)
    return at_target(mirrored)


# -- compaction ------------------------------------------------------------------------------------


def _last_of(history: History, random_: random.Random, *, alive: bool) -> Record:
    last: dict[tuple[int, bytes | None], Record] = {}
    for record in sorted(history.source, key=lambda r: r.offset):
        last[record.partition, record.key] = record
    fitting = [
        r for r in last.values() if (r.value is not None) == alive and copies(history, r) and r.headers
    ]
    return random_.choice(fitting)


def _of_key(history: History, record: Record) -> list[Record]:
    return sorted(
        (r for r in history.target if (r.partition, r.key) == (record.partition, record.key)),
        key=lambda r: r.offset,
    )


@defect("compaction", kind=COMPACTED, also="loss catch_up")
def a_key_is_missing(history: History, random_: random.Random) -> First:
    record = _last_of(history, random_, alive=True)
    history.remove(_of_key(history, record))
    return {"partition": record.partition, "s_offset": record.offset}


@defect("compaction", kind=COMPACTED, also="duplicates")
def an_old_value_came_back(history: History, random_: random.Random) -> First:
    record = _last_of(history, random_, alive=True)
    identity = record_id(RUN, 6_000)
    old = replace(record, value=payload(identity, 90), headers=(("lab-id", identity.encode()),))
    late = history.append(old)
    history.ledger.append(Sent(sequence=6_000, outcome=UNKNOWN))
    return {"partition": record.partition, "s_offset": record.offset, "t_offset": late.offset}


@defect("compaction", kind=COMPACTED)
def a_deleted_key_is_alive(history: History, random_: random.Random) -> First:
    key = b"%d" % 9
    history.bounds[0].s_end += 2
    for offset, dead in ((0, False), (1, True)):
        identity = record_id(RUN, 7_000 + offset)
        record = Record(
            partition=0,
            offset=history.bounds[0].s_end - 2 + offset,
            timestamp=1,
            key=key,
            value=None if dead else payload(identity, 80),
            headers=(("lab-id", identity.encode()),),
        )
        history.source.append(record)
        history.ledger.append(Sent(sequence=7_000 + offset, outcome=ACKED, partition=0, offset=record.offset))
        if not dead:
            history.append(record)
    return {"partition": 0, "s_offset": history.bounds[0].s_end - 1}


@defect("compaction", kind=COMPACTED, also="phantoms")
def a_key_got_a_foreign_value(history: History, random_: random.Random) -> First:
    record = _last_of(history, random_, alive=True)
    history.append(replace(record, value=b"from somewhere else", headers=None))
    return {"partition": record.partition, "s_offset": record.offset}


@defect("compaction", kind=COMPACTED, also="duplicates")
def a_replay_stopped_before_the_end(history: History, random_: random.Random) -> First:
    first = a_deleted_key_is_alive(history, random_)
    dead = next(r for r in history.source if r.at == (0, first["s_offset"]))
    value = copy(history, next(r for r in history.source if r.at == (0, first["s_offset"] - 1)))
    history.append(dead)
    history.append(value)
    return first
