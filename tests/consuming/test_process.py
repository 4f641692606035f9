"""The application as a process, against the broker that librdkafka brings along for tests."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lab.consuming import Consuming, Subscription, process, recover, summary
from lab.journal import LedgerError
from lab.kafka import Cluster, ClusterError, Producer
from lab.kafka.connection import QUIET
from lab.records import payload, record_id

RECORDS = 200


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One broker within this process, with a topic of two partitions that have records."""
    broker = Producer({"test.mock.num.brokers": 1}, logger=QUIET)
    host = next(iter(broker.list_topics(timeout=10).brokers.values()))
    for sequence in range(RECORDS):
        broker.produce("old.orders", payload(record_id("cafe", sequence), 40), partition=sequence % 2)
    assert broker.flush(10) == 0
    yield Cluster("source", f"{host.host}:{host.port}")
    del broker


def orders(cluster: Cluster, folder: Path, *, commit_every_s: float = 0.2) -> Consuming:
    subscription = Subscription(group="billing", pattern=".*orders", commit_every_s=commit_every_s)
    return Consuming(cluster, subscription, folder)


def sequences(path: Path) -> list[int]:
    return sorted(row["sequence"] for row in pq.read_table(path).to_pylist())


def test_stopped_cleanly_it_has_processed_and_committed_all(cluster: Cluster, tmp_path: Path) -> None:
    secret = Cluster(cluster.alias, cluster.bootstrap, {"sasl.password": "open-sesame"})
    with orders(secret, tmp_path) as application:
        assert {"old.orders"} == {topic for topic, _ in application.wait_until_assigned(2).assigned or ()}
        application.wait_for_processed(RECORDS)
        command = Path(f"/proc/{application.pid}/cmdline").read_bytes()
        with pytest.raises(LedgerError, match="is the folder of another application"):
            orders(cluster, tmp_path).__enter__()
        said = application.stop()

    assert said.clean
    assert sequences(said.path) == list(range(RECORDS))
    assert said.standing.committed == {("old.orders", p): RECORDS // 2 for p in (0, 1)}
    assert application.standing.processed == RECORDS
    assert all(row["committed"] for row in pq.read_table(said.path).to_pylist())
    assert b"lab.consuming" in command
    written = said.path.read_bytes() + (tmp_path / "consuming.log").read_bytes()
    assert b"open-sesame" not in command + written


def test_killed_it_has_processed_what_it_never_committed(cluster: Cluster, tmp_path: Path) -> None:
    with orders(cluster, tmp_path, commit_every_s=3600) as application:
        application.wait_for_processed(RECORDS)
        said = application.kill()

    assert not said.clean
    assert sequences(said.path) == list(range(RECORDS))
    assert (said.standing.committed, said.standing.uncommitted) == ({}, RECORDS)


class OfTheScenario(Exception):
    """Something else went wrong."""


def fail(application: Consuming) -> None:
    application.wait_for_processed(RECORDS)
    raise OfTheScenario


def test_an_error_in_the_block_ends_it_and_its_journal_can_be_recovered(
    cluster: Cluster, tmp_path: Path
) -> None:
    application = orders(cluster, tmp_path)
    with pytest.raises(OfTheScenario), application:
        fail(application)

    assert not Path(f"/proc/{application.pid}").exists()
    assert summary(recover(tmp_path)).standing.processed == RECORDS


def test_one_that_fails_says_why(tmp_path: Path) -> None:
    subscription = Subscription(group="billing", topics=("orders",), client={"group.protocol": "tea"})
    application = Consuming(Cluster("source", "127.0.0.1:9"), subscription, tmp_path)

    with pytest.raises(ClusterError, match=r"group\.protocol") as caught, application:
        application.wait_for_processed(1)

    assert caught.value.message.startswith('group "billing" on cluster "source": ')
    assert caught.value.hint == f"see {tmp_path / 'consuming.log'}"


def test_one_that_does_not_stop_is_killed_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOPS_S", 0.0)
    application = orders(Cluster("source", "127.0.0.1:9"), tmp_path)

    with pytest.raises(ClusterError, match="did not stop in 0 s"), application:
        application.stop()

    assert not Path(f"/proc/{application.pid}").exists()
