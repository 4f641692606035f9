"""Histories of migrations for the verdict on what was processed: clean ones, defects, and an oracle."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from lab.consumption import PROCESSED_COLUMNS, PRODUCED_COLUMNS
from lab.ledger import ACKED, FAILED, UNKNOWN

CLUSTERS = ("old", "new")
PARTITIONS = 3
EACH = 24  # records of each producer
RUNS = ("before", "after")
_PRODUCED = [column.split()[0] for column in PRODUCED_COLUMNS.split(", ")]
_TYPES = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}

Row = dict[str, object]
Id = tuple[object, object, object]


@dataclass
class History:
    """Two generations of producers and two sessions of an application, one on each cluster."""

    case: int
    produced: list[Row] = field(default_factory=list)
    processed: list[Row] = field(default_factory=list)

    def renumbered(self) -> "History":
        """`number` and `at_ms` as the order of the list says, now that something was moved."""
        numbers: Counter[object] = Counter()
        at_ms, before = 1_000, self.processed[0]["session"]
        for turn, row in enumerate(self.processed):
            # several in a millisecond, as of one batch; two applications never share one
            at_ms += turn % 5 == 0 or row["session"] != before
            before = row["session"]
            row["number"], row["at_ms"] = numbers[before], at_ms
            numbers[before] += 1
        return self


def clean(case: int, seed: int, *, again: int = 0) -> History:
    """All is processed in order; the second session begins `again` records before the first one's end."""
    rng = random.Random(seed)  # noqa: S311 - repeatable is what it is to be
    history = History(case)
    for generation, run in enumerate(RUNS):
        offsets = [0] * PARTITIONS
        for sequence in range(EACH):
            partition = rng.randrange(PARTITIONS)
            history.produced.append(_sent(case, generation, run, sequence, partition, offsets[partition]))
            offsets[partition] += 1
    moved = rng.randrange(EACH // 2, EACH)
    first = history.produced[:moved]
    second = history.produced[moved - again :]
    history.processed = [_read(row, 0) for row in first] + [_read(row, 1) for row in second]
    return history.renumbered()


def _sent(case: int, generation: int, run: str, sequence: int, partition: int, offset: int) -> Row:
    return dict(
        zip(
            _PRODUCED,
            (case, "orders", generation, CLUSTERS[generation], "orders", run, 0, sequence),
            strict=False,
        )
    ) | {"outcome": ACKED, "transaction": None, "committed": None, "partition": partition, "offset": offset}


def _read(sent: Row, session: int) -> Row:
    told = {name: sent[name] for name in ("case", "topic", "partition", "offset", "run", "producer")}
    told["sequence"] = sent["sequence"]
    return {**told, "session": session, "cluster": CLUSTERS[session], "number": 0, "at_ms": 0,
            "committed": True}  # fmt: skip


# -- defects: each spoils a clean history, and says which counts must be found ------------------


def skip(history: History) -> dict[str, int]:
    gone = history.processed.pop(7)
    assert gone["run"] == "before"
    history.renumbered()
    return {"skipped": 1}


def read_again(history: History) -> dict[str, int]:
    history.processed += [dict(row) for row in history.processed[-4:]]
    history.renumbered()
    return {"again": 4, "again_on_old": 0, "again_on_new": 4, "repeated": 4, "most": 2}


def swapped(history: History) -> dict[str, int]:
    """Two neighbours of a partition come the other way round."""
    places = [i for i, row in enumerate(history.processed) if row["partition"] == 0 and row["session"] == 0]
    one, two = places[:2]
    rows = history.processed
    rows[one], rows[two] = rows[two], rows[one]
    history.renumbered()
    return {"inverted": 1}


def overtaken(history: History) -> dict[str, int]:
    """The moved producer's first record comes before the last one that it sent to the old cluster."""
    rows = history.processed
    first = next(i for i, row in enumerate(rows) if row["run"] == "after")
    partition = rows[first]["partition"]
    before = [i for i, row in enumerate(rows[:first]) if row["partition"] == partition]
    rows.insert(before[-1], rows.pop(first))
    history.renumbered()
    return {"inverted": 1}


def strange(history: History) -> dict[str, int]:
    """Somebody else's record, and one of a workload whose ledger nobody has."""
    one, two = dict(history.processed[3]), dict(history.processed[4])
    one |= {"run": None, "producer": None, "sequence": None, "offset": 901}
    two |= {"run": "elsewhere", "offset": 902}
    history.processed[5:5] = [one, two]
    history.renumbered()
    return {"foreign": 2}


def refused(history: History) -> dict[str, int]:
    """Two were processed that cannot be: one was refused by the cluster, one aborted."""
    history.produced[2] |= {"outcome": FAILED, "partition": None, "offset": None}
    history.produced[3] |= {"transaction": 0, "committed": False}
    return {"foreign": 2}


def unsure(history: History) -> dict[str, int]:
    """Lost acks are no defect: one such record arrived, one did not."""
    history.produced[2] |= {"outcome": UNKNOWN, "partition": None, "offset": None}
    history.produced[3] |= {"outcome": UNKNOWN, "partition": None, "offset": None}
    history.processed.pop(3)
    history.renumbered()
    return {"unsure": 1, "skipped": 0}


@dataclass(frozen=True)
class Defect:
    spoil: Callable[[History], dict[str, int]]
    check: str | None  # that must fail, and no other; None: none


DEFECTS = (
    Defect(skip, "skipped"),
    Defect(read_again, None),
    Defect(swapped, "processing_order"),
    Defect(overtaken, "processing_order"),
    Defect(strange, "foreign"),
    Defect(refused, "foreign"),
    Defect(unsure, None),
)


# -- as frames, and judged in plain Python ---------------------------------------------------------------


def tables(histories: list[History]) -> tuple[pa.Table, pa.Table]:
    def table(rows: list[Row], columns: str) -> pa.Table:
        fields = [column.split() for column in columns.split(", ")]
        return pa.Table.from_pylist(rows, pa.schema([(name, _TYPES[kind]) for name, kind in fields]))

    return (
        table([row for history in histories for row in history.produced], PRODUCED_COLUMNS),
        table([row for history in histories for row in history.processed], PROCESSED_COLUMNS),
    )


def oracle(history: History) -> dict[str, int]:
    """The counts of all checks, from lists that are gone through one by one."""
    sent = {_id(row): row for row in history.produced}
    times = Counter(_id(row) for row in history.processed if row["run"] is not None)
    acked = {i for i, row in sent.items() if row["outcome"] == ACKED and row["transaction"] is None}
    possible = {i for i, row in sent.items() if row["outcome"] != FAILED and row["committed"] is not False}
    known = [i for i in times if i in sent]
    again = Counter(row["cluster"] for row in _later(history) if _id(row) in sent)
    nobodys = sum(1 for row in history.processed if row["run"] is None)
    return {
        "acked": len(acked),
        "processed": len(known),
        "skipped": len(acked - times.keys()),
        "unsure": len((possible - acked) & times.keys()),
        "repeated": sum(times[i] > 1 for i in known),
        "again": sum(times[i] - 1 for i in known),
        **{f"again_on_{alias}": again[alias] for alias in CLUSTERS},
        "inverted": _inversions(history, sent),
        "foreign": nobodys + len(times.keys() - possible),
    }


def _id(row: Row) -> Id:
    return row["run"], row["producer"], row["sequence"]


def _later(history: History) -> list[Row]:
    """Every time of a record but its first."""
    seen: set[Id] = set()
    found = []
    for row in history.processed:
        if _id(row) in seen:
            found.append(row)
        seen.add(_id(row))
    return found


def _inversions(history: History, sent: dict[Id, Row]) -> int:
    reached: dict[object, tuple[int, int]] = {}
    found, seen = 0, set()
    for row in history.processed:
        if _id(row) in sent and _id(row) not in seen:
            seen.add(_id(row))
            at = int(str(sent[_id(row)]["generation"])), int(str(row["sequence"]))
            found += at < reached.get(row["partition"], (0, -1))
            reached[row["partition"]] = max(at, reached.get(row["partition"], (0, -1)))
    return found
