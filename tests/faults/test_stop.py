"""A stop is proved by the end of the process, however long it took to end."""

import pytest

from lab.faults import Brokers, FaultNotObserved, Service, Stop
from tests.faults.conftest import MARK, Engine, FakeLab

STOP = Stop(victim=Service("kafka-source-1"))


@pytest.mark.parametrize("exit_code", [0, 143])
def test_a_stopped_service_has_ended_until_it_is_started_again(
    lab: FakeLab, fake_engine: Engine, exit_code: int
) -> None:
    act = STOP.check(lab, MARK)
    act.inject()
    fake_engine.boxes["kafka-source-1"].exit_code = exit_code

    assert act.prove() == f"kafka-source-1 ended with {exit_code}"
    act.inverse.undo()
    assert act.inverse.prove() == "kafka-source-1 healthy"
    assert act.what == "stop kafka-source-1"


def test_a_stop_that_does_nothing_is_not_proved(lab: FakeLab, fake_engine: Engine) -> None:
    fake_engine.ignores.add("stop")
    act = STOP.check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match="runs"):
        act.prove()


def test_one_that_had_to_be_killed_was_not_stopped(lab: FakeLab, fake_engine: Engine) -> None:
    act = STOP.check(lab, MARK)
    act.inject()
    fake_engine.boxes["kafka-source-1"].exit_code = 137

    assert ("stop", "--time", "60", "kafka-source-1") in fake_engine.said
    with pytest.raises(FaultNotObserved, match="by itself, with 137"):
        act.prove()


def test_of_all_nodes_the_last_may_be_killed(lab: FakeLab, fake_engine: Engine) -> None:
    act = Stop(victim=Brokers("source")).check(lab, MARK)
    act.inject()
    fake_engine.boxes["kafka-source-3"].exit_code = 137

    assert act.prove().endswith("kafka-source-3 ended with 137")


def test_a_service_that_crashed_was_not_stopped(lab: FakeLab, fake_engine: Engine) -> None:
    act = STOP.check(lab, MARK)
    act.inject()
    fake_engine.boxes["kafka-source-1"].exit_code = 1

    with pytest.raises(FaultNotObserved, match="by itself, with 1"):
        act.prove()
