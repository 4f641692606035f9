"""Makes numbered records at a rate. Every record says which one it is and can be recomputed from that.

    value   <run>-<producer>-<sequence> <filler up to the size asked for>
    header  lab-id: the same id, since a payload may be mangled where headers survive, and the reverse

The filler is the SHA-256 of the id in hex, repeated: a reader that knows the id knows every byte.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lab.kafka import Cluster, Message, Producer
from lab.wait import RECORDS_ARRIVE_S, pace

HEADER: Final = "lab-id"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many records, how fast, how large. Either `records` or `seconds` ends the workload."""

    run: str
    records: int | None = None
    seconds: float | None = None
    rate_per_s: float | None = None
    size_bytes: int = 100
    keys: int = 0
    headers: bool = False
    compression: str = "none"


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


def payload(identity: str, size_bytes: int) -> bytes:
    """The value of a record: its id, a blank, and a filler that follows from the id."""
    digest = hashlib.sha256(identity.encode()).hexdigest()
    room = size_bytes - len(identity) - 1
    if room <= 0:
        return identity.encode()
    return f"{identity} {(digest * (room // len(digest) + 1))[:room]}".encode()


def produce(cluster: Cluster, topic: str, plan: Plan, on_progress: Callable[[Tally], None]) -> Tally:
    """Send the planned records with acks=all and wait until each is acked, failed, or given up on."""
    tally = Tally()
    producer = cluster.producer(
        **{"acks": "all", "enable.idempotence": True, "linger.ms": 5, "compression.type": plan.compression}
    )

    def on_delivery(error: object, _: Message) -> None:
        if error is None:
            tally.acked += 1
        else:
            tally.failed += 1
            tally.first_error = tally.first_error or str(error)

    begin = shown = time.monotonic()
    try:
        while not _ended(plan, tally.sent, time.monotonic() - begin):
            identity = record_id(plan.run, tally.sent)
            _send(
                producer,
                topic,
                value=payload(identity, plan.size_bytes),
                key=str(tally.sent % plan.keys).encode() if plan.keys else None,
                headers=[(HEADER, identity.encode())] if plan.headers else None,
                on_delivery=on_delivery,
            )
            tally.sent += 1
            if plan.rate_per_s:
                pace(tally.sent, plan.rate_per_s, begin, meanwhile=producer.poll)
            else:
                producer.poll(0)
            if tally.sent % 256 == 0 or plan.rate_per_s:
                now = time.monotonic()
                if now - shown > 0.2:
                    shown = now
                    on_progress(tally)
    finally:
        producer.flush(RECORDS_ARRIVE_S if tally.sent else 0)
        tally.seconds = time.monotonic() - begin
    return tally


def _send(producer: Producer, topic: str, **record: object) -> None:
    """Queue a record; a full queue is drained, not an error."""
    while True:
        try:
            producer.produce(topic, **record)
        except BufferError:
            producer.poll(0.1)
        else:
            return


def _ended(plan: Plan, sent: int, elapsed_s: float) -> bool:
    if plan.records is not None and sent >= plan.records:
        return True
    return plan.seconds is not None and elapsed_s >= plan.seconds
