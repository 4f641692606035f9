"""Records are refused when the topic's limit says so and a record that is too large was."""

from typing import Any

import pytest

from lab.errors import BadInput
from lab.faults import FaultNotObserved, RefuseRecords, probes, topic_limit
from lab.faults.probes import Answer
from lab.faults.refuse_records import Refusing
from lab.faults.topic_limit import KEY
from lab.kafka import Layout, TopicConfig
from tests.faults.conftest import MARK, FakeLab

SILENT = "127.0.0.1:3"  # a broker that stands still, and is not missed yet


def answers(addresses: list[str], _: bytes) -> list[Answer]:
    return [Answer.SILENT if address == SILENT else Answer.SAID for address in addresses]


class Cluster:
    alias = "target"
    own: str | None = None  # the topic's limit, of all handles on the cluster
    late: tuple[str, int] = ("", 0)  # a broker that says for that many questions what was so before

    def __init__(self, alias: str = "target", bootstrap: str = "127.0.0.1:1") -> None:
        self.bootstrap = bootstrap
        self.properties: dict[str, str] = {}

    def brokers(self) -> list[str]:
        return ["127.0.0.1:1", "127.0.0.1:2", SILENT]

    def layout(self) -> dict[str, Layout]:
        return {"orders": Layout(partitions=1, replicas=1, leaderless=0)}

    def has_topic(self, topic: str) -> bool:
        return topic == "orders"

    def topic_configs(self, topics: list[str]) -> dict[str, dict[str, TopicConfig]]:
        assert self.bootstrap != SILENT, "a client would wait for it"
        if Cluster.late[0] == self.bootstrap and Cluster.late[1] > 0:
            Cluster.late = (self.bootstrap, Cluster.late[1] - 1)
            return {"orders": {KEY: TopicConfig(value="7", origin="dynamic_topic_config")}}
        origin = "dynamic_topic_config" if Cluster.own else "default_config"
        return {"orders": {KEY: TopicConfig(value=Cluster.own or "1000000", origin=origin)}}

    def set_topic_config(self, topic: str, **configs: str | None) -> None:
        Cluster.own = configs[KEY]


@pytest.fixture(autouse=True)
def cluster(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(Cluster, "own", None)
    monkeypatch.setattr(Cluster, "late", ("", 0))
    monkeypatch.setattr(topic_limit, "Cluster", Cluster)
    monkeypatch.setattr(probes, "ask_all", answers)
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


def test_a_broker_that_is_late_is_waited_for(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the fault is proved, and before it is over."""
    refusing(monkeypatch, refused=True)
    act = REFUSE.check(lab, MARK)
    Cluster.late = ("127.0.0.1:2", 2)
    act.inject()
    assert Cluster.late == ("127.0.0.1:2", 0)

    act.inverse.undo()
    Cluster.late = ("127.0.0.1:2", 2)
    assert act.inverse.prove() == f"{KEY} is 1000000"
    assert Cluster.late == ("127.0.0.1:2", 0)


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


def test_a_topic_that_is_not_there_is_refused(lab: FakeLab) -> None:
    with pytest.raises(BadInput, match='cluster "target" has no topic "order"'):
        RefuseRecords(cluster="target", topic="order", max_bytes=2000).check(lab, MARK)


def test_a_cluster_with_a_login_is_refused(lab: FakeLab, cluster: Any) -> None:
    cluster.properties = {"sasl.password": "p"}

    with pytest.raises(BadInput, match="asks for a login, which the journal must not hold"):
        REFUSE.check(lab, MARK)
