"""Records are refused when the topic's limit says so and a record that is too large was."""

from typing import Any

import pytest

from lab.errors import BadInput
from lab.faults import FaultNotObserved, RefuseRecords, refuse_records
from lab.faults.refuse_records import KEY, Refusing
from lab.kafka import TopicConfig
from tests.faults.conftest import MARK, FakeLab


class Cluster:
    alias, bootstrap = "target", "127.0.0.1:1"
    own: str | None = None  # the topic's limit, of all handles on the cluster

    def __init__(self, *_: object) -> None:
        self.properties: dict[str, str] = {}

    def has_topic(self, topic: str) -> bool:
        return topic == "orders"

    def topic_configs(self, topics: list[str]) -> dict[str, dict[str, TopicConfig]]:
        origin = "dynamic_topic_config" if Cluster.own else "default_config"
        return {"orders": {KEY: TopicConfig(value=Cluster.own or "1000000", origin=origin)}}

    def set_topic_config(self, topic: str, **configs: str | None) -> None:
        Cluster.own = configs[KEY]


@pytest.fixture(autouse=True)
def cluster(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(Cluster, "own", None)
    monkeypatch.setattr(refuse_records, "Cluster", Cluster)
    lab.clusters["target"] = cluster = Cluster()
    return cluster


REFUSE = RefuseRecords(cluster="target", topic="orders", max_bytes=2000)


def refusing(monkeypatch: pytest.MonkeyPatch, *, refused: bool) -> None:
    monkeypatch.setattr(Refusing, "_is_refused", lambda _: refused)


@pytest.mark.parametrize("before", [None, "500000"])
def test_the_limit_is_as_it_was_afterwards(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    Cluster.own = before
    refusing(monkeypatch, refused=True)
    act = REFUSE.check(lab, MARK)
    act.inject()

    assert Cluster.own == "2000"
    assert act.prove() == "a record of 2,001 bytes was refused"
    act.inverse.undo()
    assert Cluster.own == before
    assert act.inverse.prove() == f"{KEY} is {before or 1000000}"


def test_a_record_that_is_taken_is_not_refused(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, refused=False)
    act = REFUSE.check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match=r"^topic orders took a record of 2,001 bytes$"):
        act.prove()


def test_a_limit_that_somebody_has_changed_is_not_ours(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    act = REFUSE.check(lab, MARK)
    act.inject()
    Cluster.own = None  # as MM2 may do, which syncs the configs of topics

    with pytest.raises(FaultNotObserved, match=f"{KEY} of topic orders is 1000000"):
        act.prove()


@pytest.mark.parametrize("max_bytes", [0, 1_000_000])
def test_a_limit_that_refuses_nothing_more_is_refused(lab: FakeLab, max_bytes: int) -> None:
    with pytest.raises(BadInput, match="no new limit"):
        RefuseRecords(cluster="target", topic="orders", max_bytes=max_bytes).check(lab, MARK)


def test_a_cluster_with_a_login_is_refused(lab: FakeLab, cluster: Any) -> None:
    cluster.properties = {"sasl.password": "p"}

    with pytest.raises(BadInput, match="asks for a login, which the journal must not hold"):
        REFUSE.check(lab, MARK)
