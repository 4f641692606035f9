"""What an application processed, in the order in which it did, and what it committed of that.

While it runs this is a journal (the frames of lab.journal); afterwards `processed.parquet`, one row per
record that was processed, which Spark reads. A record is processed when its frame is given to the kernel:
SIGKILL cannot take that back, and whatever has no frame was not processed.

    H   JSON: cluster, group, subscription, when it was started; always the first frame
    J   JSON: the partitions that the member has from now on
    P   processed records, a small Parquet file
    K   JSON: offsets that were committed, once the cluster has acknowledged that
    C   closed: the member has committed all and left its group
"""

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from lab.journal import Frames, LedgerError, packed
from lab.kafka import Message, Place
from lab.records import identity_in

NAME: Final = "processed.parquet"
JOURNAL: Final = "processed.journal"

# run, producer and sequence are null in a record that no workload has made
_ROW: Final = pa.schema(
    [
        *(("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())),
        *(("run", pa.string()), ("producer", pa.int32()), ("sequence", pa.int64())),
        ("at_ms", pa.int64()),
    ]
)
# `number`: which record of this application it was, from 0; `committed`: whether an offset after it was
_SCHEMA: Final = pa.schema([("number", pa.int64()), *_ROW, ("committed", pa.bool_())])
_BY_PLACE: Final = ("positions", "committed", "pending")


@dataclass(frozen=True, kw_only=True)
class Heading:
    """Whose account it is."""

    cluster: str
    group: str
    subscription: Mapping[str, Any] = field(default_factory=dict)
    started_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)


@dataclass(kw_only=True)
class Standing:
    """Where an application stands. Offsets are those of the record after the last one."""

    processed: int = 0
    positions: dict[Place, int] = field(default_factory=dict)
    committed: dict[Place, int] = field(default_factory=dict)
    pending: dict[Place, int] = field(default_factory=dict)  # how many are processed, and not committed
    assigned: list[Place] | None = None  # None: the group has not told it yet
    first_ms: int | None = None  # when it processed its first record, and its last
    last_ms: int | None = None
    closed: bool = False

    @property
    def uncommitted(self) -> int:
        """Records that it has processed since it committed last: after a kill they come again."""
        return sum(self.pending.values())

    def take(self, kind: bytes, payload: bytes) -> pa.Table | None:
        """One more frame of the journal; the records, if it has some."""
        if kind == b"P":
            rows = pq.read_table(pa.BufferReader(payload)).cast(_ROW)
            self._processed(rows)
            return rows
        if kind == b"K":
            self.committed |= (offsets := _by_place(json.loads(payload)))
            self.pending = {place: n for place, n in self.pending.items() if place not in offsets}
        elif kind == b"J":
            self.assigned = [(topic, partition) for topic, partition in json.loads(payload)]
        elif kind == b"C":
            self.closed = True
        return None

    def _processed(self, rows: pa.Table) -> None:
        at = rows["at_ms"].to_pylist()
        self.processed += len(at)
        self.first_ms = at[0] if self.first_ms is None else self.first_ms
        self.last_ms = at[-1]
        places = list(zip(rows["topic"].to_pylist(), rows["partition"].to_pylist(), strict=True))
        # in the order of processing: what is read again moves a position back
        ends = zip(places, rows["offset"].to_pylist(), strict=True)
        self.positions |= {place: offset + 1 for place, offset in ends}
        for place, count in Counter(places).items():
            self.pending[place] = self.pending.get(place, 0) + count


@dataclass(frozen=True, kw_only=True)
class Summary:
    """An application's closed account."""

    path: Path
    heading: Heading
    standing: Standing

    @property
    def clean(self) -> bool:
        """Whether it committed all that it had processed, and left its group."""
        return self.standing.closed


class Account:
    """The journal of an application at work."""

    def __init__(self, folder: Path, heading: Heading) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._frames = Frames(folder / JOURNAL, create=True)
        self._frames.append(b"H", json.dumps(asdict(heading)).encode())
        self._at_ms = 0

    def assigned(self, places: Sequence[Place]) -> None:
        self._frames.append(b"J", json.dumps(sorted(places)).encode())

    def processed(self, messages: Sequence[Message]) -> None:
        # a clock that is set back must not turn the order round
        self._at_ms = max(self._at_ms, time.time_ns() // 1_000_000)
        named = [identity_in(m.value(), m.headers()) or (None, None, None) for m in messages]
        columns = [
            [m.topic() for m in messages],
            [m.partition() for m in messages],
            [m.offset() for m in messages],
            *([names[i] for names in named] for i in range(3)),
            [self._at_ms] * len(messages),
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _ROW, strict=True)]
        self._frames.append(b"P", packed(pa.table(arrays, schema=_ROW)))

    def committed(self, offsets: Mapping[Place, int]) -> None:
        self._frames.append(b"K", json.dumps(_rows(offsets)).encode())

    def closed(self) -> None:
        self._frames.append(b"C", b"", on_disk=True)

    def close(self) -> None:
        """Without `closed` before, this is how a member that failed or was killed leaves it."""
        self._frames.close()


def recover(folder: Path) -> Path:
    """The Parquet file of an application that has ended in whatever way, made from its journal."""
    path, left = folder / NAME, folder / JOURNAL
    try:
        opened = Frames(left, create=False)
    except FileNotFoundError:
        return path
    with closing(opened):
        if not path.exists():
            _write(path, opened)
        left.unlink(missing_ok=True)
    return path


def summary(path: Path) -> Summary:
    """What a closed account says of itself; its rows are not read."""
    try:
        said = (pq.read_metadata(path).metadata or {})[b"summary"]
        told = json.loads(said)
        for offsets in _BY_PLACE:
            told["standing"][offsets] = _by_place(told["standing"][offsets])
        assigned = told["standing"]["assigned"]
        told["standing"]["assigned"] = None if assigned is None else [(t, p) for t, p in assigned]
        return Summary(path=path, heading=Heading(**told["heading"]), standing=Standing(**told["standing"]))
    except (pa.ArrowInvalid, KeyError, OSError) as error:
        raise LedgerError(f'"{path}" is no account of an application: {error}') from error


def _write(path: Path, journal: Frames) -> None:
    """The file is there as a whole or not at all."""
    frames = journal.frames()
    kind, heading = next(frames, (b"", b""))
    if kind != b"H":
        raise LedgerError(f'"{path.parent}" has an account without a heading', "the application never began")
    standing = Standing()
    pieces = [rows for kind, payload in frames if (rows := standing.take(kind, payload)) is not None]
    rows = pa.concat_tables([_ROW.empty_table(), *pieces]).combine_chunks()
    places = zip(rows["topic"].to_pylist(), rows["partition"].to_pylist(), strict=True)
    ends = [standing.committed.get(place, 0) for place in places]
    committed = [offset < end for offset, end in zip(rows["offset"].to_pylist(), ends, strict=True)]
    columns = [pa.array(range(len(rows)), pa.int64()), *rows.columns, pa.array(committed, pa.bool_())]
    table = pa.table(columns, schema=_SCHEMA)
    offsets = {name: _rows(getattr(standing, name)) for name in _BY_PLACE}
    said = {"heading": json.loads(heading), "standing": {**vars(standing), **offsets}}
    partial = path.with_suffix(".partial")
    pq.write_table(
        table.replace_schema_metadata({"summary": json.dumps(said)}),
        partial,
        compression="zstd",
        use_dictionary=["topic", "partition", "run", "producer"],
        column_encoding=dict.fromkeys(("number", "offset", "sequence", "at_ms"), "DELTA_BINARY_PACKED"),
    )
    with partial.open("rb") as written:
        os.fsync(written.fileno())
    partial.rename(path)


def _rows(by_place: Mapping[Place, int]) -> list[list[Any]]:
    return [[*place, number] for place, number in sorted(by_place.items())]


def _by_place(rows: list[list[Any]]) -> dict[Place, int]:
    return {(topic, partition): number for topic, partition, number in rows}
