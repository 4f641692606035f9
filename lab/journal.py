"""Append-only journals: checksummed frames, read back as far as they are whole. And that of a producer.

    frame   kind (1 byte), length, CRC-32 of kind and payload (4 bytes each, little-endian), payload

The frames of a producer at work (those of an application that consumes are in lab.consuming.account):

    H       JSON: run, topic, cluster, seed, plan, …; always the first frame
    R       "records below N may be sent": written before any of them is
    A       outcomes, a small Parquet file: sequence, partition, offset; a failed record has no partition
    B, T    a transaction begins, with its first record; it ended and is committed, aborted or unclear
    C       closed: N records were sent

After SIGKILL every record that can be in the topic is below the last reservation. A journal whose last
whole frame is not C is torn: its producer was killed, or its end was lost.
"""

import fcntl
import json
import os
import struct
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.errors import LabError

NAME: Final = "ledger.journal"
UNCLEAR: Final = -1
_NONE: Final = -1

_FRAME: Final = struct.Struct("<cII")
_COUNT: Final = struct.Struct("<q")
_BEGUN: Final = struct.Struct("<iqq")  # index, first sequence, the one after the last that is planned
_ENDED: Final = struct.Struct("<iqb")  # index, the sequence after its last, 1 committed 0 aborted -1 unclear

SETTLED: Final = pa.schema([("sequence", pa.int64()), ("partition", pa.int32()), ("offset", pa.int64())])


class LedgerError(LabError):
    """A ledger cannot be read."""


class NothingYet(LedgerError):
    """It is still being written, or nothing ever was."""


@dataclass
class Account:
    """What a journal says."""

    heading: dict[str, Any]
    sent: int = 0
    torn: bool = True
    settled: list[pa.Table] = field(default_factory=list)
    begun: list[tuple[int, int, int]] = field(default_factory=list)
    ended: dict[int, tuple[int, int]] = field(default_factory=dict)

    def transactions(self) -> tuple[pa.Array, pa.Array]:
        """Index and end of each record's transaction: whole ranges, null between them."""
        indices: array[int] = array("i")
        ends: array[int] = array("b")

        def until(row: int, index: int, end: int) -> None:
            more = max(0, min(row, self.sent) - len(indices))
            indices.extend(array("i", [index]) * more)
            ends.extend(array("b", [end]) * more)

        for index, first, planned in self.begun:
            until(first, _NONE, UNCLEAR)
            stop, end = self.ended.get(index, (planned, UNCLEAR))
            until(stop, index, end)
        until(self.sent, _NONE, UNCLEAR)
        numbers, states = _column(indices, pa.int32()), _column(ends, pa.int8())
        return (
            pc.if_else(pc.less(numbers, 0), pa.scalar(None, pa.int32()), numbers),
            pc.if_else(pc.less(states, 0), pa.scalar(None, pa.bool_()), pc.equal(states, 1)),
        )


class Frames:
    """The file, unbuffered, and locked as long as this process has it open.

    Each frame is one write, given to the kernel when the call returns.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self._file: BinaryIO = path.open("x+b" if create else "rb", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise NothingYet(f'"{path}" is still being written', "wait until its producer ends") from error

    def close(self) -> None:
        self._file.close()

    def append(self, kind: bytes, payload: bytes, *, on_disk: bool = False) -> None:
        """With `on_disk` it is there on return, not only in the kernel."""
        frame = _FRAME.pack(kind, len(payload), zlib.crc32(payload, zlib.crc32(kind))) + payload
        while frame:  # a disk that fills up takes a part
            frame = frame[self._file.write(frame) :]
        if on_disk:
            os.fsync(self._file.fileno())

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        self._file.seek(0)
        return whole_frames(self._file)


def whole_frames(file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Every whole frame from here until one is cut short or damaged; the file then stands before that one."""
    begin = file.tell()
    while len(head := file.read(_FRAME.size)) == _FRAME.size:
        kind, length, checksum = _FRAME.unpack(head)
        payload = file.read(length)
        if len(payload) < length or zlib.crc32(payload, zlib.crc32(kind)) != checksum:
            break
        begin = file.tell()
        yield kind, payload
    file.seek(begin)


class Journal(Frames):
    """A producer's."""

    def heading(self, said: dict[str, Any]) -> None:
        self.append(b"H", json.dumps(said).encode())

    def reserved(self, below: int) -> None:
        """On disk, not only in the kernel, on return."""
        self.append(b"R", _COUNT.pack(below), on_disk=True)

    def settled(self, rows: pa.Table) -> None:
        self.append(b"A", packed(rows))

    def begun(self, transaction: int, first: int, stop: int) -> None:
        self.append(b"B", _BEGUN.pack(transaction, first, stop))

    def ended(self, transaction: int, stop: int, committed: bool | None) -> None:
        self.append(b"T", _ENDED.pack(transaction, stop, UNCLEAR if committed is None else int(committed)))

    def closed(self, sent: int) -> None:
        self.append(b"C", _COUNT.pack(sent), on_disk=True)

    def read(self) -> Account:
        frames = self.frames()
        kind, payload = next(frames, (b"", b""))
        if kind != b"H":
            raise NothingYet(
                f'"{self._file.name}" has no heading', "its producer ended before it sent a record"
            )
        account = Account(json.loads(payload))
        for kind, payload in frames:
            if kind == b"A":
                account.settled.append(pq.read_table(pa.BufferReader(payload)))
            elif kind == b"B":
                account.begun.append(_BEGUN.unpack(payload))
            elif kind == b"T":
                index, stop, committed = _ENDED.unpack(payload)
                account.ended[index] = stop, committed
            else:
                (account.sent,) = _COUNT.unpack(payload)
            account.torn = kind != b"C"
        return account


def settled(
    sequences: "array[int]", offsets: "array[int] | None" = None, partition: int | None = None
) -> pa.Table:
    """Acked records of one partition, or without one the failed ones."""
    size = len(sequences)
    columns = [
        _column(sequences, pa.int64()),
        pa.repeat(pa.scalar(partition, pa.int32()), size),
        pa.nulls(size, pa.int64()) if offsets is None else _column(offsets, pa.int64()),
    ]
    return pa.table(columns, schema=SETTLED)


def _column(values: "array[int]", kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values.tobytes())])


def packed(rows: pa.Table) -> bytes:
    """As a small Parquet file."""
    written = pa.BufferOutputStream()
    grows = [field.name for field in rows.schema if field.type == pa.int64()]
    pq.write_table(
        rows,
        written,
        compression="zstd",
        use_dictionary=[name for name in rows.schema.names if name not in grows],
        column_encoding=dict.fromkeys(grows, "DELTA_BINARY_PACKED"),
        write_statistics=False,
        store_schema=False,
    )
    return written.getvalue().to_pybytes()  # type: ignore[no-any-return]
