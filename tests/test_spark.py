"""A topic is read between the offsets that were taken, never up to "latest", and never past a loss; settings
of a session last no longer than what they are for, and Python closes none."""

import json
from types import SimpleNamespace
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from pyspark.errors import PySparkException, RetriesExceeded
from pyspark.sql.connect.client.retries import DefaultPolicy

from lab import spark as lab_spark
from lab.kafka import Offsets
from lab.spark import SparkError, SparkSession, interpreting, session, topic_frame, translated
from lab.wait import TimedOut


class Reader:
    """Stands for a session and its reader: remembers the options and gives them as the frame."""

    def __init__(self) -> None:
        self.read = self
        self.given: dict[str, str] = {}

    def format(self, name: str) -> "Reader":
        self.given["format"] = name
        return self

    def option(self, name: str, value: str) -> "Reader":
        self.given[name] = value
        return self

    def options(self, **options: str) -> "Reader":
        self.given |= options
        return self

    def load(self) -> "Reader":
        return self


def test_a_topic_is_read_between_its_offsets_with_headers() -> None:
    reader: Any = Reader()
    spark: SparkSession = reader
    offsets = {0: Offsets(start=3, end=10), 1: Offsets(start=0, end=0)}

    topic_frame(spark, "orders", offsets, bootstrap="broker:29092", isolation="read_committed")

    options = dict(reader.given)
    assert json.loads(options.pop("startingOffsets")) == {"orders": {"0": 3, "1": 0}}
    assert json.loads(options.pop("endingOffsets")) == {"orders": {"0": 10, "1": 0}}
    assert options == {
        "format": "kafka",
        "kafka.bootstrap.servers": "broker:29092",
        "kafka.isolation.level": "read_committed",
        "kafka.allow.auto.create.topics": "false",
        "kafka.max.poll.records": "5000",
        "kafka.max.partition.fetch.bytes": "4194304",
        "minPartitions": "2",
        "subscribe": "orders",
        "includeHeaders": "true",
    }


@pytest.mark.parametrize(("records", "tasks"), [(99_999, "1"), (300_000, "3"), (20_000_000, "8")])
def test_many_records_of_one_partition_are_read_by_several_tasks(records: int, tasks: str) -> None:
    reader: Any = Reader()
    spark: SparkSession = reader

    topic_frame(spark, "orders", {0: Offsets(start=0, end=records)}, bootstrap="broker:29092")

    assert reader.given["minPartitions"] == tasks


class Settings(dict[str, str]):
    """Stands for a session and its settings."""

    @property
    def conf(self) -> "Settings":
        return self

    def set(self, key: str, value: str) -> None:
        self[key] = value

    def unset(self, key: str) -> None:
        del self[key]

    @property
    def client(self) -> Any:
        """Whose retry policies are changed for a moment."""
        return SimpleNamespace(get_retry_policies=list, set_retry_policies=lambda _: None)


def test_nothing_is_compiled_within_the_block_only_even_if_it_fails() -> None:
    settings = Settings(other="kept")
    spark: Any = settings

    with interpreting(spark):
        within = dict(settings)
    with pytest.raises(KeyError), interpreting(spark):
        settings["missing"]

    assert within["spark.sql.codegen.wholeStage"] == "false"
    assert within["spark.sql.codegen.factoryMode"] == "NO_CODEGEN"
    assert settings == {"other": "kept"}


def test_python_closes_no_session() -> None:
    class Client:
        closed = False

        def close(self) -> None:
            self.closed = True

    spark, client = object.__new__(SparkSession), Client()
    spark._client = client

    spark.__del__()
    assert not client.closed

    spark.client.close()
    assert client.closed


@pytest.mark.parametrize(("existing", "patience"), [(None, [9]), ("sc://spark.example:15002", [15])])
def test_a_server_of_the_labs_own_that_is_gone_is_not_asked_for_long(
    monkeypatch: pytest.MonkeyPatch, existing: str | None, patience: list[int]
) -> None:
    policies: list[list[DefaultPolicy]] = [[DefaultPolicy()]]
    client = SimpleNamespace(get_retry_policies=lambda: policies[-1], set_retry_policies=policies.append)
    spark = SimpleNamespace(client=client, range=lambda _: SimpleNamespace(collect=list))
    remote = SimpleNamespace(create=lambda: spark)
    monkeypatch.setattr(
        lab_spark, "SparkSession", SimpleNamespace(builder=SimpleNamespace(remote=lambda _: remote))
    )
    monkeypatch.setattr(lab_spark, "existing_spark", lambda: existing)
    monkeypatch.setattr(lab_spark, "_require_listener", lambda _: None)

    session("127.0.0.1:1")

    assert [policy.max_retries for policy in policies[-1]] == patience


def test_a_session_without_an_answer_leaves_nothing_that_later_ones_could_be_taken_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lab_spark, "SPARK_ANSWERS_S", 0.1)
    monkeypatch.setattr(lab_spark, "DefaultPolicy", lambda **_: DefaultPolicy(max_retries=0))

    with pytest.raises(TimedOut):
        session("127.0.0.1:1")

    assert SparkSession._default_session is None
    assert getattr(SparkSession._active_session, "session", None) is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PySparkException(message="Job aborted\n\tat org.apache.spark"), "Job aborted"),
        (grpc.RpcError("connection refused"), "connection refused"),
        (
            RetriesExceeded(errorClass="RETRIES_EXCEEDED", messageParameters={}),
            "the Spark server does not answer any more",
        ),
    ],
)
def test_what_a_job_fails_with_is_a_line_of_its_own(error: Exception, told: str) -> None:
    with pytest.raises(SparkError) as caught, translated('verifying "orders"'):
        raise error

    assert caught.value.message == f'verifying "orders" failed: {told}'
    assert caught.value.hint == '"lab logs spark" tells more; verify again'


def test_what_is_undone_at_a_server_that_is_gone_does_not_hide_why_the_block_ended() -> None:
    class Gone(Settings):
        def unset(self, key: str) -> None:
            raise PySparkException(message="no such session")

    spark: Any = Gone()

    with pytest.raises(PySparkException, match="out of memory"), interpreting(spark):
        raise PySparkException(message="out of memory")
    with pytest.raises(PySparkException, match="no such session"), interpreting(spark):
        pass
