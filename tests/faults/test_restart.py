"""A restart is proved by a new start."""

import pytest

from lab.faults import FaultNotObserved, Restart, Service
from tests.faults.conftest import MARK, Engine, FakeLab


@pytest.mark.parametrize(("hard", "ends"), [(False, "stop"), (True, "kill")])
def test_a_restarted_service_has_ended_and_started(
    lab: FakeLab, fake_engine: Engine, hard: bool, ends: str
) -> None:
    act = Restart(victim=Service("kafka-connect-1"), hard=hard).check(lab, MARK)
    act.inject()

    began = next(b.started_at for b in fake_engine.boxes.values() if b.service == "kafka-connect-1")
    assert act.prove() == f"kafka-connect-1 started at {began}"
    assert act.inverse.prove() == "kafka-connect-1 healthy"
    assert [args[0] for args in fake_engine.said] == [ends, "start"]
    assert act.what == f"restart kafka-connect-1{' hard' if hard else ''}"


def test_a_service_that_only_goes_on_was_not_restarted(lab: FakeLab, fake_engine: Engine) -> None:
    fake_engine.ignores |= {"stop", "start"}
    act = Restart(victim=Service("kafka-connect-1")).check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match=r'^service "kafka-connect-1" was not restarted$'):
        act.prove()


def test_a_service_that_started_and_ended_again_was_not_restarted(lab: FakeLab, fake_engine: Engine) -> None:
    act = Restart(victim=Service("kafka-connect-1")).check(lab, MARK)
    act.inject()
    box = next(box for box in fake_engine.boxes.values() if box.service == "kafka-connect-1")
    box.state, box.exit_code = "exited", 1

    with pytest.raises(
        FaultNotObserved,
        match=r'^service "kafka-connect-1" was started again, and ended: kafka-connect-1 ended with 1$',
    ):
        act.prove()
