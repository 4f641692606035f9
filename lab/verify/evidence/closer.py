"""Which blocks are looked at record by record: those that differ, or all of a case, for a reason.

A block that differs within one distance holds records that were changed where they stand. Whatever moves
records, as a hole or a replay does, is judged with all records at hand.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lab.verify.evidence.digests import BEYOND, BLOCK, BOTH, HEAD, OLDER, TAIL

# Whether a record without an id was changed where it stands, or another one stands there, is known when all
# are looked at; of more records than these it is taken to be changed.
REPLACED: Final = 2_000_000
LOOKED_AT: Final = 500_000  # records of a case: of many blocks that differ the first are looked at
Key = tuple[int, int, int, bool, int]  # in the order of BLOCK
Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Closer:
    """What is looked at: all records of the cases of `whole`, each with the reason, and these blocks."""

    whole: Mapping[int, str] = field(default_factory=dict)
    blocks: frozenset[Key] = frozenset()
    unlabelled: bool = True  # whether records without an id may be among them
    # By side, "s" and "t": the offsets of each partition between which the blocks lie; of one case only.
    ranges: Mapping[str, Mapping[int, tuple[int, int]]] = field(default_factory=dict)

    records: int = 0  # of these blocks

    @property
    def nothing(self) -> bool:
        return not (self.whole or self.blocks)


def look_closer(rows: Iterable[Row], *, together: bool, limit: int = LOOKED_AT) -> Closer:
    """By the rows of `digests`. `together`: several sources go into the target topic."""
    cases: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        cases[row["case"]].append(row)
    whole: dict[int, str] = {}
    blocks: set[Key] = set()
    unlabelled = False
    all_looked: list[Row] = []
    for case, of_case in cases.items():
        reason = "several sources go into the target topic" if together else _reason(of_case)
        if reason:
            whole[case] = reason
            looked = of_case
        else:
            looked = _first(sorted((row for row in of_case if _differs(row)), key=_key), limit)
            blocks |= {_key(row) for row in looked}
            all_looked += looked
        unlabelled |= any(row["unlabelled"] for row in looked)
    ranges = {side: _ranges(all_looked, side) for side in "st"}
    return Closer(
        whole=whole,
        blocks=frozenset(blocks),
        unlabelled=unlabelled,
        ranges=ranges,
        records=sum(row["s_n"] + row["t_n"] for row in all_looked),
    )


def _ranges(rows: list[Row], side: str) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for row in rows:
        if row[f"{side}_n"]:
            first, end = row[f"{side}_first"], row[f"{side}_last"] + 1
            start, until = found.get(row["partition"], (first, end))
            found[row["partition"]] = min(start, first), max(until, end)
    return found


def _key(row: Row) -> Key:
    case, partition, zone, late, block = (row[name] for name in BLOCK)
    return case, partition, zone, late, block


def _reason(rows: Iterable[Row]) -> str | None:
    """Why one distance in each partition does not explain where records stand; None if it does."""
    rows = list(rows)
    if rows[0]["compacted"]:
        return "the topic is compacted"
    both: dict[int, int] = defaultdict(int)
    for row in rows:
        if row["zone"] == BEYOND:
            return "the target has more records than the source"
        if row["zone"] == OLDER and row["t_first"] + row["distance"] < 0:
            return "the target has more old records than the source has deleted"
        if row["stamped"]:
            return "the target stamps records itself"
        if row["zone"] == BOTH and row["s_n"] != row["t_n"]:
            return "records are missing or repeated"
        if row["s_n"] and not row["same_label"]:
            return "the source does not hold what the ledger says"
        if row["zone"] == BOTH and row["late"] and not row["same_content"]:
            return "other records than the first of those not due are on the target"
        both[row["partition"]] += row["s_n"] or 0 if row["zone"] == BOTH else 0
    if _older_may_be_copies(rows):
        return "what is older than the source on the target may be copies of what it still has"
    anonymous = any(row["zone"] == BOTH and row["unlabelled"] and not row["same_content"] for row in rows)
    if anonymous and sum((row["s_n"] or 0) + (row["t_n"] or 0) for row in rows) <= REPLACED:
        return "records without an id differ"
    gaps = [row for row in rows if both[row["partition"]] != max(row["high"] - row["low"], 0)]
    return "there are offsets without records" if gaps else None


def _older_may_be_copies(rows: Iterable[Row]) -> bool:
    """Copies have the times of what they are of: whatever came before all of that has none."""
    until: dict[int, int] = {}
    begun: dict[int, int] = {}
    for row in rows:
        partition = row["partition"]
        if row["zone"] == OLDER:
            until[partition] = max(row["t_until"], until.get(partition, row["t_until"]))
        elif row["s_n"]:
            begun[partition] = min(row["s_from"], begun.get(partition, row["s_from"]))
    return any(at >= begun[partition] for partition, at in until.items() if partition in begun)


def _differs(row: Row) -> bool:
    if row["zone"] == BOTH:
        return not (row["same_content"] and row["same_headers"] and row["same_timestamp"])
    if row["zone"] in (HEAD, TAIL):  # named are the records that the target does not have
        return not row["late"] or not row["same_label"]
    return bool(row["zone"] == OLDER and row["ledger"])


def _first(rows: list[Row], limit: int) -> list[Row]:
    """As many as fit; what the target does not have at all counts first, since nothing else names it."""
    found: list[Row] = []
    records = 0
    for row in rows:
        records += max(row["s_n"], row["t_n"])
        if found and records > limit:
            break
        found.append(row)
    return found
