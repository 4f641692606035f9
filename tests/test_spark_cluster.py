"""What a Spark cluster lacks is told in words, with the cause that Java's stack trace hides."""

from typing import Any

import pytest
from pyspark.errors import PySparkException

from lab import spark_cluster
from lab.errors import BadInput, LabError
from lab.kafka import Offsets
from lab.project import existing_spark
from lab.spark import SparkError, SparkSession, session
from lab.spark_cluster import Asked, check_reach, first_line, folder_at

TRACE = """(java.lang.X) first

JVM stacktrace:
Caused by: a.B: middle
	at x
Caused by: c.D: Timed out. Call: listNodes
"""


class Server:
    """Stands for a session, of which only the config is asked."""

    def __init__(self, warehouse: str) -> None:
        self.conf = {"spark.sql.warehouse.dir": warehouse}


def server(warehouse: str) -> SparkSession:
    stand_in: Any = Server(warehouse)
    return stand_in


@pytest.mark.parametrize(
    "warehouse", ["file:/data/warehouse", "hdfs://nn:8020/data/warehouse/", "/data/warehouse"]
)
def test_the_folder_is_where_the_server_keeps_tables(warehouse: str) -> None:
    assert folder_at(server(warehouse), None) == "/data/warehouse/mirror-lab"


def test_a_folder_that_was_named_is_taken() -> None:
    assert folder_at(server("x"), "/shared/lab/") == "/shared/lab"


@pytest.mark.parametrize("folder", ["hdfs://nn/x", "relative", "", "/"])
def test_a_folder_is_a_path(folder: str) -> None:
    with pytest.raises(BadInput, match="is not a path such as /shared/mirror-lab"):
        folder_at(server("x"), folder)


def test_the_innermost_cause_is_told() -> None:
    assert first_line(PySparkException(TRACE)) == "c.D: Timed out. Call: listNodes"
    assert first_line(PySparkException("one\ntwo")) == "one"


def asked() -> Asked:
    return Asked(
        alias="us",
        topic="orders",
        bootstrap="one:9092",
        advertised=("one:9092", "two:9092"),
        offsets={0: Offsets(start=3, end=9), 1: Offsets(start=4, end=4)},
    )


def test_what_is_not_reached_is_named_with_what_brokers_advertise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def fail(_: object, topic: str, offsets: object, **options: Any) -> None:
        seen.update(topic=topic, offsets=offsets, **options)
        raise PySparkException(TRACE)

    monkeypatch.setattr(spark_cluster, "topic_frame", fail)

    with pytest.raises(LabError) as caught:
        check_reach(server("x"), asked())

    assert caught.value.message == (
        'Spark does not reach cluster "us" at one:9092: c.D: Timed out. Call: listNodes'
    )
    assert "must resolve and reach one:9092 and two:9092, which its brokers advertise; " in str(
        caught.value.hint
    )
    assert seen["offsets"] == {0: Offsets(start=8, end=9), 1: Offsets(start=4, end=4)}
    assert int(seen["options"]["kafka.default.api.timeout.ms"]) <= 10_000


def test_a_refusal_is_no_matter_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PySparkException("x\nCaused by: a.SaslAuthenticationException: Authentication failed")

    monkeypatch.setattr(spark_cluster, "topic_frame", fail)

    with pytest.raises(LabError, match=r'^cluster "us" at one:9092 refuses Spark: ') as caught:
        check_reach(server("x"), asked())

    assert "client properties" in str(caught.value.hint)


@pytest.mark.parametrize("address", ["127.0.0.1:15002", "http://127.0.0.1:1", "sc://", "sc://h:port", "sc"])
def test_a_remote_that_is_no_address_is_bad_input(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("LAB_SPARK_REMOTE", address)

    with pytest.raises(BadInput, match=r"is not sc://host:port$"):
        session("")


def test_where_nothing_listens_it_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_SPARK_REMOTE", "sc://127.0.0.1:1/;token=secret")

    with pytest.raises(SparkError) as caught:
        session("")

    assert caught.value.message == "no Spark Connect server answers at 127.0.0.1:1: Connection refused"


def test_an_empty_remote_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_SPARK_REMOTE", "")

    assert existing_spark() is None
