"""The producer's own account: which records it may have sent, and what it knows of each.

A record is *acked* (partition and offset known), *failed* (certainly not in the topic) or *unknown*.
While the workload runs, the account is a journal, in which the intent to send stands before the record
goes out; then the journal becomes `ledger.parquet`, one row per record that may have been sent, which
Spark reads. The ledger of a producer that was killed is made from its journal and marked as *torn*.
"""

import json
import os
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab import journal
from lab.journal import SETTLED, Account, Journal, LedgerError, NothingYet
from lab.project import runs_folder

__all__ = ["ACKED", "FAILED", "UNKNOWN", "Heading", "Ledger", "LedgerError", "Summary", "ledgers", "summary"]

ACKED, FAILED, UNKNOWN = 1, 2, 3
NAME: Final = "ledger.parquet"

FLUSH_S: Final = 0.5
FLUSH_RECORDS: Final = 50_000
_ROW_GROUP: Final = 1_000_000

_SCHEMA: Final = pa.schema(
    [
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("outcome", pa.int8(), nullable=False),
        pa.field("transaction", pa.int32()),
        pa.field("committed", pa.bool_()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
    ]
)


@dataclass(frozen=True, kw_only=True)
class Heading:
    """Whose ledger it is."""

    run: str
    topic: str
    cluster: str
    seed: int
    size_bytes: int
    plan: dict[str, Any] = field(default_factory=dict)
    producer: int = 0
    topic_id: str | None = None  # a topic that is created again under its name has another one
    started_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Counts and heading of a closed ledger, from the file's metadata alone."""

    path: Path
    heading: Heading
    acked: int
    failed: int
    unknown: int
    torn: bool

    @property
    def sent(self) -> int:
        """Records that may have been sent."""
        return self.acked + self.failed + self.unknown


class Ledger:
    """The journal of a producer at work; `close` leaves the Parquet file in its place."""

    def __init__(self, folder: Path, heading: Heading) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / NAME
        self.heading = heading
        self.reserved = 0
        self._settled = 0  # acked and written down
        self._failed = 0
        self._acks: dict[int, tuple[array[int], array[int]]] = {}
        self._failures: array[int] = array("q")
        self._flushed_at = time.monotonic()
        self._journal = Journal(folder / journal.NAME, create=True)
        self._journal.heading(asdict(heading))

    # -- what the workload tells -----------------------------------------------------------------

    def reserve(self, count: int) -> None:
        """Write down that so many more records may be sent. On disk, not only in the kernel, on return."""
        self.reserved += count
        self._journal.reserved(self.reserved)

    def acks(self, partition: int) -> tuple[Callable[[int], None], Callable[[int], None]]:
        """Where the sequence and then the offset of a partition's acked record go.

        The bare `append` of two arrays: anything more shows in the producer's rate.
        """
        sequences, offsets = self._acks.setdefault(partition, (array("q"), array("q")))
        return sequences.append, offsets.append

    def fail(self, sequence: int) -> None:
        """The record is certainly not in the topic."""
        self._failures.append(sequence)
        self._failed += 1

    def begin(self, transaction: int, first: int, stop: int) -> None:
        self._journal.begun(transaction, first, stop)

    def end(self, transaction: int, stop: int, committed: bool | None) -> None:
        self._journal.ended(transaction, stop, committed)

    def flush_when_due(self) -> None:
        if time.monotonic() - self._flushed_at >= FLUSH_S or self._pending >= FLUSH_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Give the outcomes so far to the kernel, where SIGKILL cannot take them back."""
        self._flushed_at = time.monotonic()
        if not self._pending and not self._failures:
            return
        parts = [
            journal.settled(sequences, offsets, partition)
            for partition, (sequences, offsets) in self._acks.items()
            if sequences
        ]
        if self._failures:
            parts.append(journal.settled(self._failures))
        self._journal.settled(pa.concat_tables(parts))
        self._settled += self._pending
        for sequences, offsets in self._acks.values():
            del sequences[:], offsets[:]
        del self._failures[:]

    def close(self, sent: int) -> Path:
        """Write down how many were sent, and make the Parquet file of the journal."""
        self.flush()
        with closing(self._journal):
            self._journal.closed(sent)
            _write(self.path.parent, self._journal.read())
        return self.path

    # -- what others ask ---------------------------------------------------------------------------

    @property
    def acked(self) -> int:
        return self._settled + self._pending

    @property
    def failed(self) -> int:
        return self._failed

    @property
    def _pending(self) -> int:
        return sum(len(sequences) for sequences, _ in self._acks.values())

    @staticmethod
    def recover(folder: Path) -> Path:
        """The Parquet file of a folder's ledger, made from the journal if its producer was killed."""
        path, left = folder / NAME, folder / journal.NAME
        try:
            opened = Journal(left, create=False)
        except FileNotFoundError:
            return path
        with closing(opened):
            if path.exists():  # killed between the last two steps of `close`
                left.unlink(missing_ok=True)
            else:
                _write(folder, opened.read())
        return path


def summary(path: Path) -> Summary:
    """What a closed ledger says of itself; its rows are not read."""
    try:
        raw = pq.read_metadata(path).metadata or {}
        said = {key.decode(): value.decode() for key, value in raw.items()}
        return Summary(
            path=path,
            heading=Heading(**json.loads(said["heading"])),
            acked=int(said["acked"]),
            failed=int(said["failed"]),
            unknown=int(said["unknown"]),
            torn=said["torn"] == "true",
        )
    except (pa.ArrowInvalid, KeyError, TypeError, ValueError, OSError) as error:
        raise LedgerError(
            f'"{path}" is not a ledger: {error}', 'ledgers are written by "lab produce"'
        ) from error


def ledgers(
    cluster: str, topic: str, topic_id: str | None = None, *, tell: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """The closed ledgers of a topic under the runs folder, oldest first; crashed producers' are made now.

    Labs come and go and their topics' names stay: with `topic_id`, only of that very topic. A file that
    cannot be read is told, and keeps nobody from the others.
    """
    for left in list(runs_folder().rglob(journal.NAME)):
        try:
            Ledger.recover(left.parent)
        except NothingYet:
            continue
        except LedgerError as error:
            tell(f"left out: {error}")
    found = [
        said
        for said in _readable(runs_folder().rglob(NAME), tell)
        if (said.heading.cluster, said.heading.topic) == (cluster, topic)
        and topic_id in (None, said.heading.topic_id)
    ]
    return [said.path for said in sorted(found, key=lambda said: (said.heading.started_ms, said.path))]


def _readable(paths: Iterable[Path], tell: Callable[[str], None]) -> Iterator[Summary]:
    for path in paths:
        try:
            yield summary(path)
        except LedgerError as error:
            tell(f"left out: {error}")


# -- the Parquet file ------------------------------------------------------------------------------


def _write(folder: Path, account: Account) -> None:
    """The file is there as a whole or not at all, and the journal goes after it."""
    try:
        heading = Heading(**account.heading)
    except TypeError as error:
        raise LedgerError(
            f'"{folder / journal.NAME}" is of another version of the lab: {error}',
            "read it with that version",
        ) from error
    settled = pa.concat_tables([SETTLED.empty_table(), *account.settled]).combine_chunks()
    transactions = account.transactions()
    counts = dict.fromkeys((ACKED, FAILED, UNKNOWN), 0)
    partial = folder / f".{NAME}.partial"
    with pq.ParquetWriter(
        partial,
        _SCHEMA,
        compression="zstd",
        use_dictionary=["producer", "outcome", "partition"],
        column_encoding=dict.fromkeys(("sequence", "transaction", "offset"), "DELTA_BINARY_PACKED"),
    ) as parquet:
        for first in range(0, account.sent, _ROW_GROUP):  # so that memory holds one group's copies
            size = min(_ROW_GROUP, account.sent - first)
            ended = [column.slice(first, size) for column in transactions]
            rows = _rows(heading.producer, settled, first, size, ended)
            for outcome in pc.value_counts(rows["outcome"]).to_pylist():
                counts[outcome["values"]] += outcome["counts"]
            parquet.write_table(rows)
        parquet.add_key_value_metadata(_said(heading, account.torn, counts))
    with partial.open("rb") as written:
        os.fsync(written.fileno())
    partial.rename(folder / NAME)
    (folder / journal.NAME).unlink()


def _said(heading: Heading, torn: bool, counts: dict[int, int]) -> dict[str, str]:
    return {
        **{key: str(getattr(heading, key)) for key in ("run", "topic", "cluster", "seed", "size_bytes")},
        "plan": json.dumps(heading.plan),
        "torn": json.dumps(torn),
        "heading": json.dumps(asdict(heading)),
        "acked": str(counts[ACKED]),
        "failed": str(counts[FAILED]),
        "unknown": str(counts[UNKNOWN]),
    }


def _rows(producer: int, settled: pa.Table, first: int, size: int, transactions: list[pa.Array]) -> pa.Table:
    """The records from `first` on, one row each."""
    row = pc.subtract(settled["sequence"], first)
    settled = settled.set_column(0, "row", row).filter(pc.and_(pc.greater_equal(row, 0), pc.less(row, size)))
    acked = settled.filter(pc.is_valid(settled["partition"])).combine_chunks()
    failed = settled.filter(pc.is_null(settled["partition"])).combine_chunks()["row"]
    # an ack without an offset (the broker had the record already) is below zero
    known = pc.if_else(pc.less(acked["offset"], 0), pa.scalar(None, pa.int64()), acked["offset"])
    partition = _scattered(acked["partition"], acked["row"], size)
    refused = _scattered(pa.repeat(pa.scalar(FAILED, pa.int8()), len(failed)), failed, size)
    outcome = pc.if_else(pc.is_valid(partition), pa.scalar(ACKED, pa.int8()), pc.fill_null(refused, UNKNOWN))
    sequence = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), size), start=first - 1)
    producers = pa.repeat(pa.scalar(producer, pa.int32()), size)
    offset = _scattered(known, acked["row"], size)
    return pa.table([producers, sequence, outcome, *transactions, partition, offset], schema=_SCHEMA)


def _scattered(values: Any, rows: Any, size: int) -> pa.Array:
    """Each value in its row, nulls elsewhere."""
    whole = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in (values, rows)]
    return pc.scatter(*whole, max_index=size - 1)
