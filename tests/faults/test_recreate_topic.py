"""A topic was created again when it has another id and the partitions that it had."""

from typing import Any

import pytest

from lab.errors import BadInput
from lab.faults import FaultNotObserved, RecreateTopic, recreate_topic
from lab.kafka import Layout, Offsets, TopicConfig
from tests.faults.conftest import MARK, FakeLab


class Cluster:
    alias, bootstrap = "source", "127.0.0.1:1"

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.generation = 1
        self.partitions = 3
        self.created: dict[str, Any] = {}

    def layout(self) -> dict[str, Layout]:
        there = {"orders": Layout(partitions=self.partitions, replicas=2, leaderless=0)}
        return there if self.partitions else {}

    def has_topic(self, topic: str) -> bool:
        return topic in self.layout()

    def topic_configs(self, topics: list[str]) -> dict[str, dict[str, TopicConfig]]:
        own = TopicConfig(value="7", origin="dynamic_topic_config")
        return {"orders": {"retention.ms": own, "x": TopicConfig(value="1", origin="default_config")}}

    def topic_id(self, topic: str) -> str:
        return f"id {self.generation}"

    def offsets(self, topic: str) -> dict[int, Offsets]:
        return {p: Offsets(start=0, end=0) for p in range(self.partitions)}

    def delete_topics(self, *topics: str) -> None:
        self.partitions = 0

    def create_topic(self, topic: str, **given: Any) -> None:
        self.created, self.partitions = given, given["partitions"]
        self.generation += 1


@pytest.fixture
def cluster(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    lab.clusters["source"] = cluster = Cluster()
    monkeypatch.setattr(recreate_topic, "Cluster", lambda alias, bootstrap: cluster)
    return cluster


RECREATE = RecreateTopic(cluster="source", topic="orders")


def test_a_topic_comes_back_with_what_was_its_own(lab: FakeLab, cluster: Cluster) -> None:
    act = RECREATE.check(lab, MARK)
    act.inject()

    assert cluster.created == {"partitions": 3, "replicas": 2, "configs": {"retention.ms": "7"}}
    assert act.prove() == "orders was id 1 and is id 2"
    assert act.what == "recreate orders on source"


def test_the_same_topic_was_not_created_again(lab: FakeLab, cluster: Cluster) -> None:
    act = RECREATE.check(lab, MARK)

    with pytest.raises(FaultNotObserved, match="is the same as before, id 1"):
        act.prove()


def test_a_topic_that_somebody_else_created_is_another(lab: FakeLab, cluster: Cluster) -> None:
    act = RECREATE.check(lab, MARK)
    act.inject()
    cluster.partitions = 1

    with pytest.raises(FaultNotObserved, match="has 1 partitions, not 3"):
        act.prove()


def test_a_topic_whose_maker_was_killed_between_the_two_is_created(lab: FakeLab, cluster: Cluster) -> None:
    act = RECREATE.check(lab, MARK)
    cluster.delete_topics("orders")

    act.inverse.undo()

    assert cluster.created == {"partitions": 3, "replicas": 2, "configs": {"retention.ms": "7"}}
    assert act.inverse.prove() == "topic orders is there, with 3 partitions; its old records are gone"


def test_a_topic_that_is_there_is_left_alone(lab: FakeLab, cluster: Cluster) -> None:
    RECREATE.check(lab, MARK).inverse.undo()

    assert cluster.created == {}


def test_a_cluster_with_a_login_is_refused(lab: FakeLab, cluster: Cluster) -> None:
    cluster.properties = {"sasl.password": "p"}

    with pytest.raises(BadInput, match="asks for a login"):
        RECREATE.check(lab, MARK)


def test_a_topic_that_is_not_there_is_refused(lab: FakeLab, cluster: Cluster) -> None:
    with pytest.raises(BadInput, match='cluster "source" has no topic "order"'):
        RecreateTopic(cluster="source", topic="order").check(lab, MARK)
