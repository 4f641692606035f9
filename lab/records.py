"""What a workload sends: each record says which one it is, and can be recomputed from that.

    value   <run>-<producer>-<sequence> <filler up to the size asked for>
    key     with `keys`: CRC-32 of "<seed>-<sequence>", modulo `keys`, in decimal
    header  lab-id: the same id, since a payload may be mangled where headers survive, and the reverse

The filler is the SHA-256 of the id in hex, repeated: a reader that knows the id knows every byte. With
`tombstones` every tenth record (sequence % 10 == 9) has no value. A record with a key goes to partition
CRC-32(key) % partitions, one without to sequence % partitions: nothing is left to a partitioner.

With `headers` these follow lab-id, in this order; converters like to spoil them:

    lab-twice   <sequence>-first
    lab-twice   <sequence>-second
    lab-empty   a value of no bytes
    lab-null    no value
    lab-binary  all 256 bytes, 0x00 to 0xff

With `transaction_size` each so many records are one transaction, and every fifth is aborted on purpose
(index % 5 == 4), after its records have reached the topic.
"""

import hashlib
import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lab.errors import BadInput

HEADER: Final = "lab-id"
COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
LARGEST_BYTES: Final = 10_000_000
TOMBSTONE_EVERY: Final = 10
ABORT_EVERY: Final = 5
ID_NUMBERS: Final = r"-(0|[1-9]\d{0,8})-(0|[1-9]\d{0,17})"  # producer and sequence, in Python and in Java
_ID: Final = re.compile(rb"([A-Za-z0-9]+)" + ID_NUMBERS.encode())
_ALL_BYTES: Final = bytes(range(256))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many records, how fast, of what kind. `records`, `seconds` or a stop ends the workload."""

    run: str
    records: int | None = None
    seconds: float | None = None
    rate_per_s: float | None = None
    size_bytes: int = 100
    keys: int = 0
    tombstones: bool = False
    headers: bool = False
    transaction_size: int = 0
    compression: str = "none"
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = [what for fine, what in self._rules() if not fine]
        if wrong:
            raise BadInput("; ".join(wrong), '"lab produce --help" shows what goes together')

    def _rules(self) -> list[tuple[bool, str]]:
        rate, seconds = self.rate_per_s, self.seconds
        return [
            (
                re.fullmatch(r"[A-Za-z0-9]+", self.run) is not None,
                f'run "{self.run}" is not letters and digits',
            ),
            (self.records is None or self.records >= 1, f"{self.records} records are none"),
            (seconds is None or 0 < seconds < math.inf, f"{seconds} seconds are no duration"),
            (rate is None or 0 < rate < math.inf, f"a rate of {rate} records per second is not positive"),
            (
                1 <= self.size_bytes <= LARGEST_BYTES,
                f"a size of {self.size_bytes} bytes is not 1 to {LARGEST_BYTES}",
            ),
            (self.keys >= 0, f"{self.keys} keys are less than none"),
            (self.keys > 0 or not self.tombstones, "tombstones need keys"),
            (
                self.transaction_size >= 0,
                f"transactions of {self.transaction_size} records are less than none",
            ),
            (
                self.compression in COMPRESSIONS,
                f'no compression "{self.compression}"; known: {", ".join(COMPRESSIONS)}',
            ),
            (0 <= self.seed < 2**63, f"a seed of {self.seed} is not 0 to 2^63 - 1"),
        ]


@dataclass(kw_only=True)
class Tally:
    """What became of the records: what is neither acked nor failed is unknown."""

    sent: int = 0
    acked: int = 0
    failed: int = 0
    seconds: float = 0.0
    first_error: str | None = None

    @property
    def unknown(self) -> int:
        return self.sent - self.acked - self.failed


def record_id(run: str, sequence: int, producer: int = 0) -> str:
    return f"{run}-{producer}-{sequence}"


def identity_in(
    value: bytes | None, headers: Iterable[tuple[str, bytes | None]] | None
) -> tuple[str, int, int] | None:
    """Run, producer and sequence of a record that was read; None if no workload made it."""
    told = [(value or b"").partition(b" ")[0], *(v or b"" for name, v in headers or () if name == HEADER)]
    found = next(filter(None, map(_ID.fullmatch, told)), None)
    return found and (found[1].decode(), int(found[2]), int(found[3]))


def payload(identity: str, size_bytes: int) -> bytes:
    """The value of a record: its id, a blank, and a filler that follows from the id."""
    digest = hashlib.sha256(identity.encode()).hexdigest()
    room = size_bytes - len(identity) - 1
    if room <= 0:
        return identity.encode()
    return f"{identity} {(digest * (room // len(digest) + 1))[:room]}".encode()


def record_key(plan: Plan, sequence: int) -> bytes | None:
    return b"%d" % (zlib.crc32(b"%d-%d" % (plan.seed, sequence)) % plan.keys) if plan.keys else None


def record_headers(plan: Plan, sequence: int, identity: str) -> list[tuple[str, bytes | None]]:
    carried: list[tuple[str, bytes | None]] = [(HEADER, identity.encode())]
    if plan.headers:
        carried += [("lab-twice", b"%d-first" % sequence), ("lab-twice", b"%d-second" % sequence)]
        carried += [("lab-empty", b""), ("lab-null", None), ("lab-binary", _ALL_BYTES)]
    return carried


def is_tombstone(plan: Plan, sequence: int) -> bool:
    return plan.tombstones and sequence % TOMBSTONE_EVERY == TOMBSTONE_EVERY - 1
