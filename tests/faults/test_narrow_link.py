"""A narrow link is proved by what goes through it in a second, each way, within a factor of two."""

from typing import Any

import pytest

from lab.errors import BadInput
from lab.faults import FaultNotObserved, NarrowLink, probes
from tests.faults.conftest import MARK, FakeLab
from tests.faults.link_api import LinkApi

NARROW = NarrowLink(cluster="source", rate_kb_per_s=128, broker="kafka-source-1")


@pytest.fixture
def link_api(monkeypatch: pytest.MonkeyPatch) -> LinkApi:
    return LinkApi(monkeypatch)


def measured(monkeypatch: pytest.MonkeyPatch, up: float, down: float) -> None:
    def rate_up(address: str, **_: Any) -> float:
        return up

    def rate_down(address: str, node_id: str, **_: Any) -> float:
        assert node_id == "1"
        return down

    monkeypatch.setattr(probes, "rate_up", rate_up)
    monkeypatch.setattr(probes, "rate_down", rate_down)


def test_both_ways_are_narrow_until_the_toxics_are_gone(
    lab: FakeLab, link_api: LinkApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, 120_000, 100_000)
    act = NARROW.check(lab, MARK)
    act.inject()

    assert [(t["stream"], t["attributes"]) for t in link_api.toxics["kafka-source-1"]] == [
        ("upstream", {"rate": 128}),
        ("downstream", {"rate": 128}),
    ]
    assert act.prove() == "kafka-source-1: 120 KB/s up, 100 KB/s down"
    act.inverse.undo()
    assert link_api.toxics["kafka-source-1"] == []
    assert act.what == "narrow link to kafka-source-1: 128 KB/s"


@pytest.mark.parametrize(("up", "down"), [(257_000, 128_000), (128_000, 63_000), (0, 128_000)])
def test_a_rate_that_is_far_from_what_was_asked_for_is_not_observed(
    lab: FakeLab, link_api: LinkApi, monkeypatch: pytest.MonkeyPatch, up: float, down: float
) -> None:
    measured(monkeypatch, up, down)
    act = NARROW.check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match="not as narrow as asked, 128 KB/s"):
        act.prove()


@pytest.mark.parametrize("rate", [0, -5, 10_001])
def test_a_rate_that_cannot_be_proved_is_refused(lab: FakeLab, rate: int) -> None:
    with pytest.raises(BadInput, match="cannot be proved"):
        NarrowLink(cluster="source", rate_kb_per_s=rate).check(lab, MARK)
