"""Every record says which one it is, and every byte of it can be recomputed from that."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from lab.kafka import Cluster, Message
from lab.workload import Plan, Tally, payload, produce, record_id


def test_an_id_names_run_producer_and_sequence() -> None:
    assert record_id("cafe", 7) == "cafe-0-7"
    assert record_id("cafe", 7, producer=2) == "cafe-2-7"


@pytest.mark.parametrize("size_bytes", [10, 11, 64, 75, 100, 1_000, 100_000])
def test_a_payload_has_exactly_the_size_asked_for(size_bytes: int) -> None:
    assert len(payload("cafe-0-7", size_bytes)) == size_bytes


def test_a_payload_is_its_id_and_the_ids_hash_over_and_over() -> None:
    digest = hashlib.sha256(b"cafe-0-7").hexdigest()

    assert payload("cafe-0-7", 9 + 64 + 3) == f"cafe-0-7 {digest}{digest[:3]}".encode()
    assert payload("cafe-0-7", 100).split(b" ")[0] == b"cafe-0-7"


@pytest.mark.parametrize("size_bytes", [1, 8, 9])
def test_an_id_is_never_cut_short(size_bytes: int) -> None:
    assert payload("cafe-0-7", size_bytes) == b"cafe-0-7"


class Broker:
    """Stands for cluster and producer: delivers what is polled for, except what it refuses or forgets."""

    def __init__(self, *, full_every: int = 0, refused: int = 0, forgotten: int = 0) -> None:
        self.records: list[dict[str, Any]] = []
        self.config: dict[str, object] = {}
        self._full_every = full_every
        self._refused = refused
        self._forgotten = forgotten
        self._waiting: list[Callable[[object, Message | None], None]] = []

    def producer(self, **config: object) -> "Broker":
        self.config = config
        return self

    def produce(
        self, topic: str, *, on_delivery: Callable[[object, Message | None], None], **record: Any
    ) -> None:
        if self._full_every and len(self._waiting) >= self._full_every:
            raise BufferError
        self.records.append({"topic": topic, **record})
        self._waiting.append(on_delivery)

    def poll(self, _: float) -> None:
        for on_delivery in self._waiting:
            if self._forgotten:
                self._forgotten -= 1
            elif self._refused:
                self._refused -= 1
                on_delivery("message too large", None)
            else:
                on_delivery(None, None)
        self._waiting.clear()

    def flush(self, timeout_s: float) -> None:
        self.poll(timeout_s)


def produced(broker: Broker, plan: Plan) -> Tally:
    stands_in: Any = broker
    cluster: Cluster = stands_in
    return produce(cluster, "orders", plan, lambda _: None)


def test_all_planned_records_are_sent_and_acked() -> None:
    broker = Broker()

    tally = produced(broker, Plan(run="cafe", records=3, size_bytes=20, keys=2, headers=True))

    assert (tally.sent, tally.acked, tally.failed, tally.unknown) == (3, 3, 0, 0)
    assert broker.records == [
        {
            "topic": "orders",
            "value": payload(f"cafe-0-{n}", 20),
            "key": key,
            "headers": [("lab-id", f"cafe-0-{n}".encode())],
        }
        for n, key in enumerate([b"0", b"1", b"0"])
    ]
    assert (broker.config["acks"], broker.config["enable.idempotence"]) == ("all", True)


def test_records_have_neither_key_nor_headers_unless_asked_for() -> None:
    broker = Broker()

    produced(broker, Plan(run="cafe", records=1))

    assert (broker.records[0]["key"], broker.records[0]["headers"]) == (None, None)


def test_what_is_refused_failed_and_what_is_forgotten_is_unknown() -> None:
    tally = produced(Broker(refused=2, forgotten=1), Plan(run="cafe", records=10))

    assert (tally.sent, tally.acked, tally.failed, tally.unknown) == (10, 7, 2, 1)
    assert tally.first_error == "message too large"


def test_a_full_queue_is_drained_and_no_record_is_left_out() -> None:
    broker = Broker(full_every=1)

    tally = produced(broker, Plan(run="cafe", records=5))

    assert (tally.sent, tally.acked) == (5, 5)
    assert [record["value"].split()[0] for record in broker.records] == [
        f"cafe-0-{n}".encode() for n in range(5)
    ]


def test_seconds_end_a_workload_too() -> None:
    tally = produced(Broker(), Plan(run="cafe", seconds=0.05))

    assert tally.sent == tally.acked > 0
    assert 0.05 <= tally.seconds < 2


def test_a_rate_is_kept() -> None:
    tally = produced(Broker(), Plan(run="cafe", records=20, rate_per_s=200))

    assert tally.acked == 20
    assert tally.seconds >= 0.1
