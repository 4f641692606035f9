"""Every record says which one it is, and every byte of it can be recomputed from that."""

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

from lab import workload as workload_module
from lab.errors import BadInput
from lab.kafka import Cluster, ClusterError, KafkaError, KafkaException, Offsets
from lab.ledger import Heading, Ledger, summary
from lab.producing import Producing
from lab.records import identity_in, record_headers, record_key
from lab.workload import Plan, Tally, Workload, _ahead, payload, produce, record_id


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


@pytest.mark.parametrize(
    ("value", "headers", "read"),
    [
        (payload("cafe-0-7", 100), [("lab-id", b"cafe-0-7")], ("cafe", 0, 7)),
        (payload("cafe-2-7", 8), None, ("cafe", 2, 7)),
        (None, [("other", b"cafe-0-1"), ("lab-id", b"cafe-0-9")], ("cafe", 0, 9)),
        (b"spoilt", [("lab-id", b"cafe-0-9")], ("cafe", 0, 9)),
        (b"tea", None, None),
        (None, [("lab-id", None)], None),
        (b"cafe-0-07 x", [], None),
        (b"cafe-0-7x", [], None),
    ],
)
def test_a_record_that_is_read_says_which_one_it_is(
    value: bytes | None, headers: list[tuple[str, bytes | None]] | None, read: tuple[str, int, int] | None
) -> None:
    assert identity_in(value, headers) == read


def test_a_payload_is_literally_this() -> None:
    assert payload("cafe-0-7", 40) == b"cafe-0-7 62063ddcc7bd1040b6e986e9037e4c6"


@pytest.mark.parametrize(
    ("keys", "seed", "sequence", "key"),
    [(10, 0, 0, b"7"), (10, 7, 0, b"8"), (1000, 7, 9, b"152"), (1000, 7, 12345678901, b"385")],
)
def test_a_key_follows_from_seed_and_sequence(keys: int, seed: int, sequence: int, key: bytes) -> None:
    assert record_key(Plan(run="cafe", keys=keys, seed=seed), sequence) == key


def test_all_keys_are_used() -> None:
    plan = Plan(run="cafe", keys=50, seed=3)

    assert {record_key(plan, n) for n in range(2_000)} == {b"%d" % n for n in range(50)}


def test_headers_are_doubled_empty_null_and_binary_on_request() -> None:
    assert record_headers(Plan(run="cafe"), 7, "cafe-0-7") == [("lab-id", b"cafe-0-7")]
    assert record_headers(Plan(run="cafe", headers=True), 7, "cafe-0-7") == [
        ("lab-id", b"cafe-0-7"),
        ("lab-twice", b"7-first"),
        ("lab-twice", b"7-second"),
        ("lab-empty", b""),
        ("lab-null", None),
        ("lab-binary", bytes(range(256))),
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"run": "ca-fe"}, 'run "ca-fe" is not letters and digits'),
        ({"records": 0}, "0 records are none"),
        ({"seconds": 0.0}, "0.0 seconds are no duration"),
        ({"rate_per_s": 0.0}, "a rate of 0.0 records per second is not positive"),
        ({"rate_per_s": float("nan")}, "a rate of nan records per second is not positive"),
        ({"size_bytes": 0}, "a size of 0 bytes is not 1 to 10000000"),
        ({"size_bytes": 10_000_001}, "a size of 10000001 bytes is not 1 to 10000000"),
        ({"keys": -1}, "-1 keys are less than none"),
        ({"tombstones": True}, "tombstones need keys"),
        ({"transaction_size": -1}, "transactions of -1 records are less than none"),
        ({"compression": "zip"}, 'no compression "zip"; known: none, gzip, snappy, lz4, zstd'),
        ({"seed": -1}, "a seed of -1 is not 0 to 2^63 - 1"),
        ({"records": -3, "tombstones": True}, "-3 records are none; tombstones need keys"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        Plan(**{"run": "cafe", **wrong})

    assert caught.value.message == message
    assert caught.value.hint == '"lab produce --help" shows what goes together'


@pytest.mark.parametrize(
    ("plan", "reserved", "stop", "count"),
    [
        (Plan(run="cafe"), 0, 256, 1_000),
        (Plan(run="cafe"), 8_000, 8_100, 8_000),
        (Plan(run="cafe"), 400_000, 400_100, 50_000),
        (Plan(run="cafe", records=300), 0, 256, 300),
        (Plan(run="cafe", rate_per_s=500), 8_000, 8_001, 500),
        (Plan(run="cafe", rate_per_s=0.1), 0, 1, 1),
        (Plan(run="cafe", rate_per_s=1, transaction_size=100), 0, 100, 100),
    ],
)
def test_what_is_reserved_grows_and_never_exceeds_the_plan(
    plan: Plan, reserved: int, stop: int, count: int
) -> None:
    assert _ahead(plan, reserved, stop) == count


class Delivered:
    def __init__(self, offset: int) -> None:
        self._offset = offset

    def offset(self) -> int:
        return self._offset


TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "message too large")
TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT, "timed out")


class Broker:
    """Stands for cluster and producer: delivers what is polled for, except what it refuses or forgets."""

    alias = "source"

    def __init__(
        self,
        *,
        full_every: int = 0,
        refused: int = 0,
        timed_out: int = 0,
        forgotten: int = 0,
        partitions: int = 2,
        resent: int = 0,
        error: KafkaError = TOO_LARGE,
        not_sent: int = 0,
    ) -> None:
        self.records: list[dict[str, Any]] = []
        self.config: dict[str, object] = {}
        self.calls: list[str] = []
        self.broken = False
        self._full_every = full_every
        self._errors = [error] * refused + [TIMED_OUT] * timed_out
        self._sent = resent - not_sent
        self._forgotten = forgotten
        self._ends = [0] * partitions
        self._waiting: list[tuple[int, Callable[[KafkaError | None, Delivered], None]]] = []

    def producer(self, **config: object) -> "Broker":
        self.config = config
        return self

    def offsets(self, _: str) -> dict[int, Offsets]:
        return {p: Offsets(start=0, end=end) for p, end in enumerate(self._ends)}

    def topic_id(self, _: str) -> str:
        return "an-id"

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        on_delivery: Callable[[KafkaError | None, Delivered], None],
        headers: list[tuple[str, bytes | None]],
    ) -> None:
        if self.broken:
            raise KafkaException(KafkaError(KafkaError._FATAL, "fenced"))
        if self._full_every and len(self._waiting) >= self._full_every:
            raise BufferError
        self.records.append(
            {"topic": topic, "value": value, "key": key, "partition": partition, "headers": headers}
        )
        self._waiting.append((partition, on_delivery))

    def poll(self, _: float) -> None:
        measure = cast(Callable[[str], None], self.config["stats_cb"])
        measure(json.dumps({"txmsgs": self._sent}))  # of before, which must not count
        for partition, on_delivery in self._waiting:
            self._sent += 1
            if self._forgotten:
                self._forgotten -= 1
            elif self._errors:
                on_delivery(self._errors.pop(0), Delivered(-1001))
            else:
                on_delivery(None, Delivered(self._ends[partition]))
                self._ends[partition] += 1
        self._waiting.clear()
        measure(json.dumps({"txmsgs": self._sent}))

    def flush(self, timeout_s: float) -> None:
        self.poll(timeout_s)

    def init_transactions(self, _: float) -> None:
        self.calls.append("init")

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def commit_transaction(self, _: float) -> None:
        self.calls.append("commit")

    def abort_transaction(self, _: float) -> None:
        self.calls.append("abort")


def standing_in(broker: Broker) -> Cluster:
    stands_in: Any = broker
    return stands_in  # type: ignore[no-any-return]


def produced(broker: Broker, plan: Plan) -> Tally:
    return produce(standing_in(broker), "orders", plan, lambda _: None)


def accounted(broker: Broker, plan: Plan, folder: Path) -> list[dict[str, Any]]:
    """The rows of the ledger of a workload."""
    heading = Heading(run=plan.run, topic="orders", cluster="source", seed=plan.seed, size_bytes=1)
    ledger = Ledger(folder, heading)
    tally = Workload(standing_in(broker), "orders", plan, ledger).run(lambda _: None)
    path = ledger.close(tally.sent)
    said = summary(path)
    assert (tally.sent, tally.acked, tally.failed) == (said.sent, said.acked, said.failed)
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def test_all_planned_records_are_sent_and_acked() -> None:
    broker = Broker()

    tally = produced(broker, Plan(run="cafe", records=3, size_bytes=20))

    assert (tally.sent, tally.acked, tally.failed, tally.unknown) == (3, 3, 0, 0)
    assert broker.records == [
        {
            "topic": "orders",
            "value": payload(f"cafe-0-{n}", 20),
            "key": None,
            "partition": n % 2,
            "headers": [("lab-id", f"cafe-0-{n}".encode())],
        }
        for n in range(3)
    ]
    assert (broker.config["acks"], broker.config["enable.idempotence"]) == ("all", True)


def test_a_key_always_goes_to_the_same_partition() -> None:
    broker = Broker(partitions=3)

    produced(broker, Plan(run="cafe", records=200, keys=4, seed=7))

    where = {record["key"]: record["partition"] for record in broker.records}
    assert where == {b"0": 2, b"1": 2, b"2": 1, b"3": 1}
    assert all(record["partition"] == where[record["key"]] for record in broker.records)


def test_every_tenth_record_is_a_tombstone_and_still_says_which_one_it_is() -> None:
    broker = Broker()

    produced(broker, Plan(run="cafe", records=20, keys=4, tombstones=True))

    dead = [n for n, record in enumerate(broker.records) if record["value"] is None]
    assert dead == [9, 19]
    assert broker.records[9]["headers"] == [("lab-id", b"cafe-0-9")]


def test_what_is_refused_failed_and_what_is_forgotten_or_timed_out_is_unknown(tmp_path: Path) -> None:
    broker = Broker(timed_out=1, forgotten=1)

    rows = accounted(broker, Plan(run="cafe", records=4), tmp_path / "unknown")

    assert [row["outcome"] for row in rows] == [3, 3, 1, 1]
    assert [(row["partition"], row["offset"]) for row in rows[1:]] == [(None, None), (0, 0), (1, 0)]

    rows = accounted(Broker(refused=2), Plan(run="cafe", records=4), tmp_path / "refused")

    assert [row["outcome"] for row in rows] == [2, 2, 1, 1]


NOT_AUTHORIZED = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not authorized")
NO_TOPIC = KafkaError(KafkaError._UNKNOWN_TOPIC, "unknown topic")


@pytest.mark.parametrize(
    ("error", "sent", "outcome"),
    [
        (TOO_LARGE, {}, 2),
        (TOO_LARGE, {"resent": 1}, 3),
        (NOT_AUTHORIZED, {"not_sent": 2}, 2),
        (NOT_AUTHORIZED, {"not_sent": 1}, 3),
        (NOT_AUTHORIZED, {}, 3),  # one of them may have been sent twice, and the other never
        (NO_TOPIC, {"not_sent": 2}, 2),
        (NO_TOPIC, {"not_sent": 2, "resent": 1}, 3),
    ],
)
def test_what_may_have_been_refused_at_a_second_attempt_is_unknown(
    tmp_path: Path, error: KafkaError, sent: dict[str, int], outcome: int
) -> None:
    """The first may have been written, without an answer: nothing says which record was sent twice."""
    broker = Broker(refused=2, error=error, **sent)

    rows = accounted(broker, Plan(run="cafe", records=6), tmp_path)

    assert [row["outcome"] for row in rows] == [outcome, outcome, 1, 1, 1, 1]


def test_without_statistics_what_was_refused_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workload, "_measure", lambda *_: None)
    monkeypatch.setattr(workload_module, "_MEASURED_S", 0.05)

    rows = accounted(Broker(refused=1), Plan(run="cafe", records=2), tmp_path)

    assert [row["outcome"] for row in rows] == [3, 1]


def test_without_a_ledger_the_counts_are_the_same() -> None:
    tally = produced(Broker(timed_out=1, forgotten=1), Plan(run="cafe", records=10))

    assert (tally.sent, tally.acked, tally.failed, tally.unknown) == (10, 8, 0, 2)

    tally = produced(Broker(refused=2), Plan(run="cafe", records=10))

    assert (tally.sent, tally.acked, tally.failed, tally.unknown) == (10, 8, 2, 0)
    assert tally.first_error == "message too large"


def test_a_full_queue_is_drained_and_no_record_is_left_out(tmp_path: Path) -> None:
    broker = Broker(full_every=1)

    rows = accounted(broker, Plan(run="cafe", records=5), tmp_path)

    assert [(row["sequence"], row["partition"], row["offset"]) for row in rows] == [
        *[(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1), (4, 0, 2)]
    ]
    assert [record["value"].split()[0] for record in broker.records] == [
        f"cafe-0-{n}".encode() for n in range(5)
    ]


def test_a_queue_that_stays_full_does_not_keep_a_workload_from_stopping() -> None:
    """As where the cluster is away: the record that did not go into the queue was not sent."""

    class Stalled(Broker):
        polls = 0

        def poll(self, _: float) -> None:
            self.polls += 1
            workload.stopped = True
            assert self.polls < 10, "it was told to stop"

    workload = Workload(standing_in(Stalled(full_every=3)), "orders", Plan(run="cafe", records=10))

    assert workload.run(lambda _: None).sent == 3


def test_every_fifth_transaction_is_aborted(tmp_path: Path) -> None:
    broker = Broker()

    rows = accounted(broker, Plan(run="cafe", records=11, transaction_size=2), tmp_path)

    assert broker.config["transactional.id"] == "lab-cafe"
    assert broker.calls == ["init", *["begin", "commit"] * 4, "begin", "abort", "begin", "commit"]
    assert [(row["transaction"], row["committed"]) for row in rows] == [
        *[(n // 2, True) for n in range(8)],
        *[(4, False), (4, False), (5, True)],
    ]
    assert {row["outcome"] for row in rows} == {1}


def test_seconds_end_a_workload_too() -> None:
    tally = produced(Broker(), Plan(run="cafe", seconds=0.05))

    assert tally.sent == tally.acked > 0
    assert 0.05 <= tally.seconds < 2


def test_seconds_end_a_workload_between_two_records() -> None:
    tally = produced(Broker(), Plan(run="cafe", seconds=0.05, rate_per_s=0.01))

    assert (tally.sent, tally.acked) == (1, 1)
    assert tally.seconds < 2


def test_a_rate_is_kept() -> None:
    tally = produced(Broker(), Plan(run="cafe", records=60, rate_per_s=200))

    assert tally.acked == 60
    assert tally.seconds >= 40 / 200  # forty at a time, and none is waited for after the last


def test_producing_goes_on_beside_the_block_and_ends_with_it(tmp_path: Path) -> None:
    with Producing(standing_in(Broker()), "orders", Plan(run="cafe", rate_per_s=2_000), tmp_path) as orders:
        assert orders.wait_for_acked(50) >= 50

    said = summary(orders.path)
    assert said.acked == said.sent == orders.tally.acked >= 50
    assert (said.torn, said.heading.topic_id, said.heading.plan["rate_per_s"]) == (False, "an-id", 2_000)


def test_waiting_for_more_than_is_planned_ends_at_once(tmp_path: Path) -> None:
    plan = Plan(run="cafe", records=3)

    with (
        pytest.raises(ClusterError) as caught,
        Producing(standing_in(Broker()), "orders", plan, tmp_path) as orders,
    ):
        orders.wait_for_acked(4)

    assert caught.value.message == "the workload ended with 3 records acked, 4 are awaited"


def test_what_goes_wrong_beside_the_block_surfaces_at_its_end(tmp_path: Path) -> None:
    broker = Broker()
    broker.broken = True

    with (
        pytest.raises(ClusterError, match='producing to topic "orders" of cluster "source" failed'),
        Producing(standing_in(broker), "orders", Plan(run="cafe"), tmp_path) as orders,
    ):
        orders.wait()

    assert summary(orders.path).unknown == 1


def test_a_blocks_end_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    """As where the cluster was killed: nobody will answer."""
    waited: list[float] = []

    class Killed(Broker):
        def flush(self, timeout_s: float) -> None:
            waited.append(timeout_s)

    plan = Plan(run="cafe", rate_per_s=2_000)
    with Producing(standing_in(Killed()), "orders", plan, tmp_path) as orders:
        orders.wait_for_acked(10)
        orders.patience_s = 0.5

    assert waited == [0.5]


def test_an_interrupted_block_flushes_and_closes_its_ledger(tmp_path: Path) -> None:
    def interrupted() -> None:
        with Producing(standing_in(Broker()), "orders", Plan(run="cafe"), tmp_path) as orders:
            orders.wait_for_acked(10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    said = summary(tmp_path / "ledger.parquet")
    assert (said.torn, said.unknown) == (False, 0)
    assert said.acked >= 10
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("producing")]
