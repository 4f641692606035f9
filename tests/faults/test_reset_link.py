"""A link that resets is proved by connections that end without an answer, while those past it do not."""

import pytest

from lab.errors import BadInput
from lab.faults import FaultNotObserved, ResetLink
from lab.faults.probes import Answer
from tests.faults.conftest import MARK, Answers, FakeLab
from tests.faults.link_api import LinkApi

HALF = ResetLink(cluster="source", fraction=0.5, broker="kafka-source-1")
THROUGH, DIRECT = "127.0.0.1:19191", "127.0.0.1:19092"


@pytest.fixture
def link_api(monkeypatch: pytest.MonkeyPatch) -> LinkApi:
    return LinkApi(monkeypatch)


def test_some_connections_are_reset_until_the_toxic_is_gone(
    lab: FakeLab, link_api: LinkApi, answers: Answers
) -> None:
    answers.of[THROUGH] = [Answer.ENDED] * 9 + [Answer.SAID] * 11
    act = HALF.check(lab, MARK)
    act.inject()

    (toxic,) = link_api.toxics["kafka-source-1"]
    assert (toxic["type"], toxic["toxicity"], toxic["attributes"]) == ("reset_peer", 0.5, {"timeout": 0})
    assert act.prove() == "kafka-source-1: 9 of 20 connections reset, none past the link"
    act.inverse.undo()
    assert link_api.toxics["kafka-source-1"] == []
    assert act.what == "reset link to kafka-source-1: 50% of connections"


def test_too_few_resets_are_not_observed(lab: FakeLab, link_api: LinkApi, answers: Answers) -> None:
    answers.of[THROUGH] = [Answer.ENDED] * 2 + [Answer.SAID] * 18
    act = HALF.check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match=r'^2 of 20 connections to "kafka-source-1" were reset$'):
        act.prove()


def test_resets_past_the_link_have_another_cause(lab: FakeLab, link_api: LinkApi, answers: Answers) -> None:
    answers.of |= {THROUGH: Answer.ENDED, DIRECT: Answer.ENDED}
    act = HALF.check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match="past the link, too"):
        act.prove()


@pytest.mark.parametrize("fraction", [0.0, 0.1, 1.1])
def test_a_fraction_that_cannot_be_proved_is_refused(lab: FakeLab, fraction: float) -> None:
    with pytest.raises(BadInput, match="cannot be proved"):
        ResetLink(cluster="source", fraction=fraction).check(lab, MARK)
