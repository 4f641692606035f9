"""Victims are found by the part that they play, and written as text."""

from typing import Any

import pytest

from lab.errors import BadInput, LabError
from lab.faults import Brokers, Controller, Leader, Service, Services, Victim, WorkerOf, Workers, victims
from lab.kafka import Layout
from lab.mm2_status import Status
from tests.faults.conftest import Engine, FakeLab

TEXTS: dict[str, Victim] = {
    "kafka-source-1": Service("kafka-source-1"),
    "kafka-connect-1,kafka-connect-2": Services(("kafka-connect-1", "kafka-connect-2")),
    "workers": Workers(),
    "leader:source/orders/3": Leader(cluster="source", topic="orders", partition=3),
    "controller:source": Controller("source"),
    "brokers:target": Brokers("target"),
    "task:mm2-msc-source/1": WorkerOf(connector="mm2-msc-source", task=1),
}


@pytest.mark.parametrize(("text", "victim"), TEXTS.items())
def test_a_victim_is_read_as_it_is_written(text: str, victim: Victim) -> None:
    assert victims.parse(text) == victim
    assert str(victim) == text


@pytest.mark.parametrize("text", ["leader:source", "leader:a/b/c", "task:x", "controller:", "chief:source"])
def test_what_names_nobody_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        victims.parse(text)

    assert caught.value.message == f'"{text}" names no victim'
    assert "leader:CLUSTER/TOPIC/PARTITION" in (caught.value.hint or "")


class Cluster:
    alias = "source"

    def layout(self) -> dict[str, Layout]:
        return {"orders": Layout(partitions=2, replicas=3, leaderless=0)}

    def leader(self, topic: str, partition: int) -> str:
        return {("orders", 0): "127.0.0.1:19093"}.get((topic, partition), "127.0.0.1:1")


def test_a_leader_is_found_by_the_address_that_it_advertises(lab: FakeLab) -> None:
    lab.clusters["source"] = Cluster()

    assert Leader(cluster="source", topic="orders").services(lab) == ("kafka-source-2",)
    with pytest.raises(LabError, match="no broker of cluster"):
        Leader(cluster="source", topic="orders", partition=1).services(lab)


@pytest.mark.parametrize(
    ("topic", "partition", "message"),
    [("order", 0, 'cluster "source" has no topic "order"'), ("orders", 2, '"orders" has no partition 2')],
)
def test_a_partition_that_is_not_there_has_no_leader(
    lab: FakeLab, topic: str, partition: int, message: str
) -> None:
    lab.clusters["source"] = Cluster()

    with pytest.raises(BadInput, match=message):
        Leader(cluster="source", topic=topic, partition=partition).services(lab)


def test_a_service_is_named_once(lab: FakeLab) -> None:
    with pytest.raises(BadInput, match='"kafka-source-1" is named twice'):
        Services(("kafka-source-1", "kafka-source-1")).services(lab)


def test_the_controller_is_the_leader_of_the_quorum(lab: FakeLab) -> None:
    lab.project.told = "ClusterId:   c291cmNl\nLeaderId:               3\nLeaderEpoch: 4\n"

    assert Controller("target").services(lab) == ("kafka-target-3",)


def test_a_quorum_is_asked_through_a_node_that_is_at_work(lab: FakeLab, fake_engine: Engine) -> None:
    lab.project.told = "LeaderId: 3\n"
    fake_engine.boxes["kafka-target-1"].state = "exited"

    Controller("target").services(lab)

    assert lab.project.asked == ["kafka-target-2"]


def test_a_quorum_without_a_leader_is_an_error(lab: FakeLab) -> None:
    with pytest.raises(LabError, match='cluster "target" has no controller'):
        Controller("target").services(lab)


def test_groups_of_services(lab: FakeLab) -> None:
    assert Brokers("source").services(lab) == ("kafka-source-1", "kafka-source-2", "kafka-source-3")
    assert Workers().services(lab) == ("kafka-connect-1", "kafka-connect-2")
    with pytest.raises(BadInput, match='no cluster "sauce"'):
        Brokers("sauce").services(lab)


class Connect:
    def status(self, name: str) -> Status:
        told: dict[str, Any] = {
            "name": name,
            "connector": {"state": "RUNNING", "worker_id": "kafka-connect-1:8083"},
            "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "kafka-connect-2:8083"}],
        }
        return Status.read(told, {})


def test_the_worker_of_a_task_is_asked_for(lab: FakeLab) -> None:
    lab.connect = Connect()

    assert WorkerOf(connector="m").services(lab) == ("kafka-connect-2",)
    with pytest.raises(BadInput) as caught:
        WorkerOf(connector="m", task=7).services(lab)
    assert (caught.value.message, caught.value.hint) == ('connector "m" has no task 7', "it has 0")
