"""A slow link is proved by twenty probes through it, against as many past it."""

from contextlib import nullcontext
from typing import Any

import pytest

from lab.errors import BadInput
from lab.faults import FaultNotObserved, SlowLink, probes
from tests.faults.conftest import MARK, FakeLab
from tests.faults.link_api import LinkApi

SLOW = SlowLink(cluster="source", delay_ms=200)


@pytest.fixture
def link_api(monkeypatch: pytest.MonkeyPatch) -> LinkApi:
    return LinkApi(monkeypatch)


def measured(monkeypatch: pytest.MonkeyPatch, *, through_s: float, direct_s: float, count: int = 20) -> None:
    def round_trips(address: str, **_: Any) -> list[float]:
        through = address.endswith(("19191", "19192", "19193"))
        return [through_s] * count if through else [direct_s] * 20

    monkeypatch.setattr(probes, "round_trips", round_trips)


def test_answers_come_later_until_the_toxic_is_gone(
    lab: FakeLab, link_api: LinkApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = SLOW.check(lab, MARK)
    measured(monkeypatch, through_s=0.203, direct_s=0.001)
    act.inject()

    assert link_api.toxics["kafka-source-2"] == [
        {
            "name": "lab-f0",
            "type": "latency",
            "stream": "downstream",
            "toxicity": 1.0,
            "attributes": {"latency": 200, "jitter": 0},
        }
    ]
    assert link_api.toxics["kafka-target-1"] == []
    assert act.prove().startswith("kafka-source-1: 203 ms through the link, 1.0 ms past it; ")
    assert act.what == "slow link to kafka-source-1, kafka-source-2, kafka-source-3: 200 ms"


def test_only_its_own_toxics_are_removed(lab: FakeLab, link_api: LinkApi) -> None:
    act = SLOW.check(lab, MARK)
    act.inject()
    link_api.toxics["kafka-source-1"].append({"name": "mine"})

    act.inverse.undo()

    assert link_api.toxics["kafka-source-1"] == [{"name": "mine"}]
    assert act.inverse.prove() == "no toxic of the fault on 3 proxies"
    act.inverse.undo()  # twice is fine


@pytest.mark.parametrize(("through_s", "direct_s"), [(0.15, 0.001), (0.21, 0.2)])
def test_less_than_was_asked_for_is_not_observed(
    lab: FakeLab, link_api: LinkApi, monkeypatch: pytest.MonkeyPatch, through_s: float, direct_s: float
) -> None:
    act = SLOW.check(lab, MARK)
    act.inject()
    measured(monkeypatch, through_s=through_s, direct_s=direct_s)

    with pytest.raises(FaultNotObserved, match="less than 160 ms more"):
        act.prove()


@pytest.mark.parametrize(("through_s", "shows"), [(0.132, True), (0.128, False)])
def test_jitter_is_as_often_less_as_it_is_more(
    lab: FakeLab, link_api: LinkApi, monkeypatch: pytest.MonkeyPatch, through_s: float, shows: bool
) -> None:
    act = SlowLink(cluster="source", delay_ms=200, jitter_ms=60).check(lab, MARK)
    act.inject()
    measured(monkeypatch, through_s=through_s, direct_s=0.001)

    with nullcontext() if shows else pytest.raises(FaultNotObserved, match="less than 130 ms more"):
        act.prove()


def test_too_few_answers_prove_nothing(
    lab: FakeLab, link_api: LinkApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = SLOW.check(lab, MARK)
    act.inject()
    measured(monkeypatch, through_s=0.2, direct_s=0.001, count=19)

    with pytest.raises(FaultNotObserved, match="19 were answered through the link, and 20 past it"):
        act.prove()


def test_a_link_that_was_restarted_is_not_slow_any_more(lab: FakeLab, link_api: LinkApi) -> None:
    act = SLOW.check(lab, MARK)
    link_api.deaf = True
    act.inject()

    with pytest.raises(FaultNotObserved, match='the link to "kafka-source-1" has no toxic "lab-f0"'):
        act.prove()


@pytest.mark.parametrize(("delay_ms", "jitter_ms"), [(0, 0), (-1, 0), (100, 51), (10_001, 0)])
def test_a_delay_that_cannot_be_is_refused(lab: FakeLab, delay_ms: int, jitter_ms: int) -> None:
    with pytest.raises(BadInput, match="cannot be proved"):
        SlowLink(cluster="source", delay_ms=delay_ms, jitter_ms=jitter_ms).check(lab, MARK)


def test_one_broker_may_be_meant(lab: FakeLab, link_api: LinkApi) -> None:
    SlowLink(cluster="source", delay_ms=50, broker="kafka-source-3").check(lab, MARK).inject()

    assert [broker for broker, toxics in link_api.toxics.items() if toxics] == ["kafka-source-3"]
