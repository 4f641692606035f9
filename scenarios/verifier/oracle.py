"""The same questions answered once more, record by record in plain Python, sharing nothing with lab/.

`judge` gives each check's outcome and counts for one history. Slow and simple: where it and Spark
disagree, one of them is wrong.
"""

import base64
import hashlib
import re
from collections import defaultdict
from typing import Any

Answer = tuple[str, dict[str, int]]
ACKED, FAILED, UNKNOWN = 1, 2, 3


class Entry:
    """All that is known of one id."""

    def __init__(self, name: tuple[Any, ...], lab: bool) -> None:
        self.name, self.lab = name, lab
        self.s: list[Any] = []
        self.t: list[Any] = []
        self.sent: Any = None


def lab_payload(identity: str, size: int) -> bytes:
    filler = hashlib.sha256(identity.encode()).hexdigest() * (size // 64 + 2)
    return (identity + " " + filler)[: max(size, len(identity))].encode() if size > len(identity) + 1 else b""


def identity(record: Any, runs: tuple[str, ...]) -> tuple[str | None, bool, bool]:
    """The lab's id if it has one, whether the payload is as it says, whether the header is in base64."""

    def is_id(text: str) -> bool:
        found = re.fullmatch(r"(\w+)-(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,17})", text, re.ASCII)
        return found is not None and found[1] in runs

    claim = None if record.value is None else record.value.split(b" ")[0].decode("latin-1")
    claim = claim if claim is not None and is_id(claim) else None
    intact = claim is not None and record.value in (claim.encode(), lab_payload(claim, len(record.value)))
    raw = next((value for key, value in record.headers or () if key == "lab-id"), None)
    plain = raw.decode("latin-1") if raw is not None else None
    try:
        decoded = base64.b64decode(raw, validate=True).decode("latin-1") if raw else None
    except ValueError:
        decoded = None
    named = plain if plain and is_id(plain) else decoded if decoded and is_id(decoded) else None
    found = claim if intact else named or claim
    return found, intact, found is not None and plain != found and decoded == found


def judge(history: Any, runs: tuple[str, ...]) -> dict[str, Answer]:
    entries: dict[tuple[Any, ...], Entry] = {}
    flags: dict[int, tuple[bool, bool]] = {}
    for side, rows in (("s", history.source), ("t", history.target)):
        for row in sorted(rows, key=lambda r: (r.offset, r.partition)):
            found, intact, encoded = identity(row, runs)
            name: tuple[Any, ...] = (found,) if found else (row.key, row.value)
            entry = entries.setdefault(name, Entry(name, found is not None))
            getattr(entry, side).append(row)
            flags[id(row)] = (intact or row.value is None, encoded)
    for sent in history.ledger:
        name = (f"{sent.run}-{sent.producer}-{sent.sequence}",)
        entries.setdefault(name, Entry(name, True)).sent = sent

    ledger, compacted, bounds = history.has_ledger, history.compacted, history.bounds
    trimmed = any(b.s_start > 0 for b in bounds.values())

    def partition(e: Entry) -> int:
        if e.s:
            return int(min(r.partition for r in e.s))
        if e.sent is not None and e.sent.partition is not None:
            return int(e.sent.partition)
        return int(min(r.partition for r in e.t)) if e.t else -1

    def offset(e: Entry) -> int | None:
        return e.s[0].offset if e.s else e.sent.offset if e.sent is not None else None

    def late(e: Entry) -> int:
        return sum(too_new(r.partition, r.offset) for r in e.s)

    def too_new(p: int, place: int | None) -> bool:
        named = bounds[p].s_owed if p in bounds else None
        return named is not None and place is not None and named <= place < bounds[p].s_end

    def apart(e: Entry) -> bool:
        whole = not trimmed and not compacted and len(e.t) > len(e.s)
        same = len(e.s) == len(e.t) and (not compacted or len(e.s) == 1)
        return e.lab or (not late(e) and (whole or same))

    everyone = list(entries.values())
    reached: dict[int, list[int]] = defaultdict(list)
    survivors: dict[int, list[int]] = defaultdict(list)
    for e in everyone:
        place = offset(e)
        if e.t and place is not None and len({r.partition for r in e.s}) <= 1:
            reached[partition(e)].append(place)
        if e.s and apart(e) and len({r.partition for r in e.t}) == 1:
            survivors[e.t[0].partition].append(e.t[0].offset)

    last: dict[str, dict[tuple[int, Any], Any]] = {"s": {}, "t": {}}
    for side, rows in (("s", history.source), ("t", history.target)):
        for row in sorted(rows, key=lambda r: r.offset):
            last[side][row.partition, row.key] = row

    def acked(e: Entry) -> bool:
        sent = e.sent
        return bool(sent and sent.outcome == ACKED and (sent.transaction is None or sent.committed))

    def aborted(e: Entry) -> bool:
        return bool(e.sent and e.sent.transaction is not None and e.sent.committed is False)

    def deleted_at_source(e: Entry) -> bool:
        if e.s or e.sent is None or partition(e) not in bounds:
            return False
        start = bounds[partition(e)].s_start
        return start > 0 and acked(e) if e.sent.offset is None else e.sent.offset < start

    def deleted_at_target(e: Entry) -> bool:
        first, place = min(reached[partition(e)], default=None), offset(e)
        if e.t or partition(e) not in bounds or bounds[partition(e)].t_start == 0:
            return False
        return first is None or (place is not None and place < first)

    def owed(e: Entry) -> bool:
        if e.s and late(e) == len(e.s):
            return False
        if not e.s and e.sent is not None and too_new(partition(e), e.sent.offset):
            return False
        if aborted(e) or not (e.s or (acked(e) and not compacted)):
            return False
        if compacted and e.s and not e.t:
            newest = last["s"][partition(e), e.s[-1].key]
            if newest.offset > e.s[-1].offset or any(r.value is None for r in e.s) or late(e):
                return False
        return True

    def vanished(e: Entry) -> bool:
        return acked(e) and not e.s and not e.t and deleted_at_source(e) and deleted_at_target(e)

    def lost(e: Entry) -> bool:
        fewer = not compacted and len(e.t) < len(e.s) - late(e)
        return owed(e) and not vanished(e) and not deleted_at_target(e) and (not e.t or fewer)

    def tail(e: Entry) -> bool:
        place = offset(e)
        most = max(reached[partition(e)], default=None)
        return most is None or (place is not None and place > most)

    def n(rows: Any) -> int:
        return sum(1 for _ in rows)

    def some(statement: Any) -> list[Entry]:
        return [e for e in everyone if statement(e)]

    answers: dict[str, Answer] = {}

    def answer(check: str, outcome: str, **counts: int) -> None:
        answers[check] = (outcome, counts)

    def outcome(bad: int, enough: int) -> str:
        return "FAIL" if bad else "PASS" if enough else "UNKNOWN"

    # reading
    counts = {"partitions": len(bounds), "of_other_sources": 0}
    for side, word, rows in (("s", "source", history.source), ("t", "target", history.target)):
        read: dict[int, int] = defaultdict(int)
        for e in everyone:  # equal records are counted in the first of their partitions
            if side == "s" and e.s:
                read[partition(e)] += len(e.s)
            elif side == "t" and e.t:
                read[min(r.partition for r in e.t)] += len(e.t)
        unread = 0
        for number, b in bounds.items():
            gap = getattr(b, f"{side}_end") - getattr(b, f"{side}_start") - read[number]
            holes = getattr(b, f"{side}_holes")
            unread += min(gap, 0) if holes is None else gap - holes
        counts |= {f"{word}_rows": len(rows), f"{word}_unread": unread}
    bad = counts["source_unread"] or counts["target_unread"] or not (history.source or history.target)
    answer("reading", "UNKNOWN" if bad else "PASS", **counts)

    # ledger
    missing = some(lambda e: acked(e) and not e.s and not deleted_at_source(e) and not compacted)
    moved = []
    for e in some(lambda e: acked(e) and e.s):
        first, final = e.s[0].offset, max(r.offset for r in e.s)
        there = e.sent.offset is None or first <= e.sent.offset <= final
        if not (there and e.sent.partition == partition(e)):
            moved.append(e)
    damaged = some(lambda e: e.lab and any(not flags[id(r)][0] for r in e.s))
    refused = some(lambda e: e.s and e.sent is not None and e.sent.outcome == FAILED)
    unlisted = some(lambda e: e.s and ledger and e.lab and e.sent is None)
    all_acked, since = n(some(acked)), n(some(lambda e: acked(e) and deleted_at_source(e)))
    trouble = len(missing) + len(moved) + len(damaged) + len(refused) + len(unlisted)
    said = outcome(trouble, all_acked - since) if trouble or ledger or not everyone else "n/a"
    none = 0 if ledger else len(everyone)
    answer("ledger", said, without_ledger=none, acked=all_acked, missing=len(missing), moved=len(moved),
           damaged=len(damaged), refused=len(refused), unlisted=len(unlisted),
           deleted_since=since)  # fmt: skip

    # loss and catch-up
    gone, due, vanishing = some(lost), n(some(owed)), n(some(vanished))
    trimmed_away = some(lambda e: owed(e) and deleted_at_target(e) and not vanished(e))
    said = "FAIL" if gone else "UNKNOWN" if vanishing or trimmed_away or not due else "PASS"
    answer("loss", said, owed=due, lost=len(gone), gone_from_both=vanishing,
           never_in_source=n(e for e in gone if not e.s and not deleted_at_source(e)),
           gone_from_source=n(e for e in gone if deleted_at_source(e)),
           not_mirrored=n(e for e in gone if e.s), gone_from_target=len(trimmed_away),
           tail=n(e for e in gone if tail(e)))  # fmt: skip
    behind = [e for e in gone if not e.t and tail(e)]
    where = len({partition(e) for e in behind})
    gone_too = n(e for e in everyone if owed(e) and deleted_at_target(e) and tail(e))
    said = "FAIL" if behind else "UNKNOWN" if gone_too or not due else "PASS"
    answer("catch_up", said, owed=due, behind=len(behind), partitions_behind=where,
           gone_from_target=gone_too)  # fmt: skip

    # order
    known = some(lambda e: e.t and offset(e) is not None and apart(e))
    single = [e for e in known if len(e.s) <= 1]
    inverted = tardy = 0
    again: set[int] = set()
    for number, b in bounds.items():
        begun = most = None
        for e in sorted(single, key=lambda e: e.t[0].offset):
            if {r.partition for r in e.t} != {number} or partition(e) != number:
                continue
            place = offset(e)
            assert place is not None
            if most is not None and place < most:
                first_may_be_gone = b.t_start > 0 and (begun is None or place <= begun)
                if compacted or first_may_be_gone:
                    again.add(id(e))
                if not first_may_be_gone:
                    tardy, inverted = tardy + compacted, inverted + (not compacted)
            begun = place if begun is None else begun
            most = place if most is None else max(most, place)
    answer("order", outcome(inverted, len(single)), compared=len(single), inverted=inverted, late=tardy,
           replayed=n(e for e in single if len(e.t) > 1), equal=len(known) - len(single))  # fmt: skip

    # duplicates
    mirrored = some(lambda e: e.t and (e.s or e.sent is not None) and apart(e))
    repeated = [e for e in mirrored if len(e.t) > max(len(e.s), 1) or id(e) in again]
    extra = sum(len(e.t) - (0 if id(e) in again else max(len(e.s), 1)) for e in repeated)
    forbidden = 0 if history.duplicates_allowed else extra
    answer("duplicates", outcome(forbidden, len(mirrored)), mirrored=len(mirrored), duplicated=len(repeated),
           extra=extra, most=max((len(e.t) for e in repeated), default=0))  # fmt: skip

    # payload, headers, timestamp, partition
    both = some(lambda e: e.s and e.t and apart(e))

    def differ(what: Any) -> list[Entry]:
        return [e for e in both if {what(r) for r in e.s} != {what(r) for r in e.t}]

    alone = some(lambda e: e.lab and e.t and not e.s)
    spoilt = differ(lambda r: (r.key, r.value))
    spoilt += [e for e in alone if any(not flags[id(r)][0] for r in e.t)]
    null = [e for e in both if any(r.value is None for r in e.s) != any(r.value is None for r in e.t)]
    answer("payload", outcome(len(spoilt), len(both) + len(alone)), compared=len(both),
           recomputed=len(alone), changed=len(spoilt), null_or_not=len(null))  # fmt: skip
    spoilt = differ(lambda r: r.headers or ())
    in_base64 = [
        e for e in spoilt if any(flags[id(r)][1] for r in e.t) and not any(flags[id(r)][1] for r in e.s)
    ]
    answer("headers", outcome(len(spoilt), len(both)), compared=len(both), changed=len(spoilt),
           base64=len(in_base64))  # fmt: skip

    def ends(values: Any) -> tuple[Any, Any]:
        values = list(values)
        return min(values), max(values)

    stamped = [e for e in both if any(r.timestamp_type == 1 for r in e.t)]
    hasty = [e for e in stamped if min(r.timestamp for r in e.t) < min(r.timestamp for r in e.s)]
    other = [e for e in both if e not in stamped
             and ends(r.timestamp for r in e.s) != ends(r.timestamp for r in e.t)]  # fmt: skip
    answer("timestamp", outcome(len(hasty) + len(other), len(both)), compared=len(both),
           by_broker=len(stamped), changed=len(other), earlier=len(hasty))  # fmt: skip

    placed = some(
        lambda e: e.t and apart(e) and (e.s or (e.sent is not None and e.sent.partition is not None))
    )
    strayed = []
    for e in placed:
        before = ends(r.partition for r in e.s) if e.s else (e.sent.partition, e.sent.partition)
        if before != ends(r.partition for r in e.t):
            strayed.append(e)
    answer("partition", outcome(len(strayed), len(placed)), compared=len(placed), moved=len(strayed))

    # phantoms
    foreign, unjudged = 0, 0
    for e in some(lambda e: e.t and not e.s):
        b, first = bounds[partition(e)], min(survivors[partition(e)], default=None)
        if e.sent is None and not e.lab and (
            compacted or (b.s_start > 0 and (first is None or e.t[0].offset < first))
        ):  # fmt: skip
            unjudged += 1
        elif (
            e.sent is None
            or e.sent.outcome == FAILED
            or (e.sent.outcome == UNKNOWN and b.s_start == 0 and not compacted)
        ):
            foreign += 1
    returned = n(some(lambda e: e.lab and e.sent is not None and len(e.s) > 1))
    stopped = n(some(lambda e: e.t and aborted(e)))
    on_target = n(some(lambda e: e.t))
    bad = foreign + returned + (stopped if history.read_committed else 0)
    answer("phantoms", outcome(bad, on_target - unjudged), on_target=on_target, foreign=foreign,
           returned=returned, aborted=stopped, unjudged=unjudged)  # fmt: skip

    # compaction
    keys = set(last["s"]) | set(last["t"]) if compacted else set()
    tally = dict.fromkeys(("deleted", "missing", "stale", "alive", "gone_from_target"), 0)
    for at in keys:
        s: Any = last["s"].get(at)
        t: Any = last["t"].get(at)
        before_source = s is None and bounds[at[0]].s_start > 0
        if s is not None and too_new(at[0], s.offset):
            tally["deleted"] += s.value is None and (t is None or t.value is None)
            continue
        match (s is not None and s.value is not None, t is not None and t.value is not None):
            case False, False:
                tally["deleted"] += 1
            case True, False:
                tally["gone_from_target" if t is None and bounds[at[0]].t_start > 0 else "missing"] += 1
            case True, True:
                tally["stale"] += s.value != t.value
            case False, True:
                tally["alive"] += not before_source
    bad = tally["missing"] + tally["stale"] + tally["alive"]
    said = "UNKNOWN" if tally["gone_from_target"] and not bad else outcome(bad, len(keys))
    answer("compaction", said if keys else "n/a", keys=len(keys), **tally)
    return answers
