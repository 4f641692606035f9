"""A cut link is proved by a broker that answers past it only."""

import pytest

from lab.errors import BadInput
from lab.faults import CutLink, FaultNotObserved
from lab.faults.probes import Answer
from tests.faults.conftest import MARK, Answers, FakeLab
from tests.faults.link_api import LinkApi

CUT = CutLink(cluster="target", broker="kafka-target-2")
THROUGH, DIRECT = "127.0.0.1:29192", "127.0.0.1:29093"


@pytest.fixture
def link_api(monkeypatch: pytest.MonkeyPatch) -> LinkApi:
    return LinkApi(monkeypatch)


def test_a_cut_link_does_not_answer_until_it_is_on_again(
    lab: FakeLab, link_api: LinkApi, answers: Answers
) -> None:
    act = CUT.check(lab, MARK)
    act.inject()
    answers.of[THROUGH] = Answer.ENDED

    assert [broker for broker, on in link_api.enabled.items() if not on] == ["kafka-target-2"]
    assert act.prove() == "kafka-target-2: no answer through the link, one past it"
    act.inverse.undo()
    assert all(link_api.enabled.values())
    assert act.inverse.prove() == "1 proxies are on"
    assert act.what == "cut link to kafka-target-2"


def test_a_link_that_answers_is_not_cut(lab: FakeLab, link_api: LinkApi, answers: Answers) -> None:
    act = CUT.check(lab, MARK)

    with pytest.raises(FaultNotObserved, match=r'^broker "kafka-target-2" answers through the link$'):
        act.prove()


def test_a_broker_that_does_not_answer_at_all_proves_nothing(
    lab: FakeLab, link_api: LinkApi, answers: Answers
) -> None:
    answers.of |= {THROUGH: Answer.ENDED, DIRECT: Answer.ENDED}
    act = CUT.check(lab, MARK)

    with pytest.raises(FaultNotObserved, match="does not answer past the link either"):
        act.prove()


def test_a_link_that_is_cut_already_is_not_cut_again(lab: FakeLab, link_api: LinkApi) -> None:
    link_api.enabled["kafka-target-2"] = False

    with pytest.raises(BadInput, match='the link to "kafka-target-2" is cut already'):
        CUT.check(lab, MARK)


def test_a_broker_of_another_cluster_is_refused(lab: FakeLab, link_api: LinkApi) -> None:
    with pytest.raises(BadInput) as caught:
        CutLink(cluster="source", broker="kafka-target-2").check(lab, MARK)

    assert caught.value.message == 'the link does not lead to broker "kafka-target-2" of cluster "source"'
