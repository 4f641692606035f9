"""A Spark cluster that runs already gives the verdict that the lab's own Spark gives.

Claim: LAB_SPARK_REMOTE sends the same jobs to a standalone cluster of a master and two workers: same
verdicts, same counts, tasks on both workers; and what such a cluster lacks is said before a job starts.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from lab import harness
from lab.engine import EngineError
from lab.errors import LabError
from lab.harness import Lab, Wish
from lab.mm2 import BYTES_CONVERTER, Connector
from lab.producing import Producing
from lab.project import SPARK_REMOTE
from lab.records import Plan
from lab.spark_cluster import FOLDER_VARIABLE
from lab.verify.checks import STANDARD
from lab.verify.verification import Judged
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, NotYet, wait_until

pytestmark = pytest.mark.topology("basic-mirror")

PROFILE, COUNT, PARTITIONS, TOPIC = "spark-cluster", 2_000, 4, "judged-twice"
WORKERS = {"spark-worker-1", "spark-worker-2"}
DRIVER = "http://localhost:4040/api/v1/applications"


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Lab]:
    """The same lab, with the cluster beside what it has."""
    before = {box.service: box.id for box in lab.containers()}
    grown = Lab.up(Wish(topology=lab.topology.name, name=lab.name, profiles=(PROFILE,)))
    assert {box.service: box.id for box in lab.containers()}.items() >= before.items()
    try:
        # `up` does not wait for Spark, and the claim is of a cluster that runs already.
        wait_until(
            lambda: grown.shell("spark-connect", "lab-healthy spark 15002"),
            timeout_s=SERVICES_HEALTHY_S,
            what="the cluster's server answers",
            transient=(EngineError,),
        )
        wait_until(
            lambda: tasks(grown).keys() == WORKERS or NotYet("not all have registered"),
            timeout_s=SERVICES_HEALTHY_S,
            what="the executors of both workers",
            transient=(EngineError, ValueError),
        )
        yield grown
    finally:
        grown.close()
        harness.stop_profile(lab.name, PROFILE)
        assert {box.service: box.id for box in lab.containers()} == before


@pytest.fixture(scope="module")
def mirrored(lab: Lab) -> str:
    assert lab.run is not None
    lab.source.create_topic(TOPIC, partitions=PARTITIONS)
    plan = Plan(run="5a5a5a5a", records=COUNT, size_bytes=100)
    with Producing(lab.source, TOPIC, plan, lab.run.path / TOPIC) as producing:
        producing.wait()
    config = lab.connector("test_mirror", topics=TOPIC, **{"header.converter": BYTES_CONVERTER}).config
    connector = Connector(name=TOPIC, config=config)
    lab.deploy(connector)
    remote = connector.remote_topic(TOPIC)
    lab.target.wait_for_records(remote, at_least=COUNT, timeout_s=RECORDS_ARRIVE_S)
    foreign = lab.target.producer()
    foreign.produce(remote, value=b"written by hand", partition=1)  # so that not everything is PASS
    foreign.flush()
    return TOPIC


@pytest.fixture
def remote(cluster: Lab, monkeypatch: pytest.MonkeyPatch) -> str:
    address = f"sc://{cluster.address('spark-connect')}"
    monkeypatch.setenv(SPARK_REMOTE, address)
    return address


def told(judged: Judged) -> list[tuple[Any, ...]]:
    return [(v.check, v.outcome, v.counts, v.first) for v in judged.verdicts]


def tasks(cluster: Lab) -> dict[str, int]:
    """Tasks that each executor has run, by its host, as the driver tells."""
    command = f"curl -s {DRIVER}/$(curl -s {DRIVER} | jq -r .[0].id)/executors"
    executors = json.loads(cluster.shell("spark-connect", command))
    hosts = {e["hostPort"].partition(":")[0]: e["totalTasks"] for e in executors if e["id"] != "driver"}
    assert not any(e["failedTasks"] for e in executors)
    return hosts


def test_verdicts_are_the_same_and_both_workers_had_tasks(
    lab: Lab, cluster: Lab, mirrored: str, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what MM2 says of itself goes on: two verdicts one after the other need not have read the same
    of_records = [check.name for check in STANDARD]
    theirs = cluster.verify(mirrored, only=of_records)
    ran = tasks(cluster)
    monkeypatch.delenv(SPARK_REMOTE)
    ours = lab.verify(mirrored, only=of_records)
    assert told(theirs) == told(ours)
    assert {v.check for v in ours.verdicts if v.outcome == "FAIL"} == {"phantoms"}
    assert next(v.counts["owed"] for v in ours.verdicts if v.check == "loss") == COUNT
    assert ran.keys() == WORKERS
    assert min(ran.values()) >= PARTITIONS, ran


def test_a_folder_that_executors_do_not_share_is_said_first(
    cluster: Lab, mirrored: str, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/tmp/of-each-container")  # noqa: S108
    match = r"^Spark cannot use the folder /tmp/of-each-container: "
    with closing(Lab.attach(cluster.name)) as fresh, pytest.raises(LabError, match=match) as caught:
        fresh.verify(mirrored)
    assert FOLDER_VARIABLE in str(caught.value.hint)


def test_a_folder_that_takes_no_uploads_is_said_first(
    cluster: Lab, mirrored: str, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/proc/nothing")
    match = r"^the Spark server takes no uploads into /proc/nothing: "
    with closing(Lab.attach(cluster.name)) as fresh, pytest.raises(LabError, match=match) as caught:
        fresh.verify(mirrored)
    assert "allowDestLocal=true" in str(caught.value.hint)


def test_where_no_server_listens_it_is_said_at_once(
    lab: Lab, mirrored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SPARK_REMOTE, "sc://127.0.0.1:1")
    match = r"^no Spark Connect server answers at 127\.0\.0\.1:1: "
    with closing(Lab.attach(lab.name)) as fresh, pytest.raises(LabError, match=match):
        fresh.verify(mirrored)
