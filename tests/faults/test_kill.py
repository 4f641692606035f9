"""A kill is proved by how the process ended, and undone by starting it again."""

from datetime import UTC, datetime, timedelta

import pytest

from lab.errors import BadInput, LabError
from lab.faults import Brokers, FaultNotObserved, Kill, Service, containers
from lab.wait import TimedOut
from tests.faults.conftest import MARK, Engine, FakeLab

KILL = Kill(victim=Service("kafka-source-1"))


def test_a_killed_service_has_ended_with_137_until_it_is_started_again(
    lab: FakeLab, fake_engine: Engine
) -> None:
    act = KILL.check(lab, MARK)
    assert act.what == "kill kafka-source-1"
    assert fake_engine.said == []  # nothing is changed by looking

    act.inject()
    assert act.prove() == "kafka-source-1 ended with 137"

    act.inverse.undo()
    assert act.inverse.prove() == "kafka-source-1 healthy"
    assert fake_engine.commands("kill", "start") == [
        ("kill", "--signal", "KILL", "kafka-source-1"),
        ("start", "kafka-source-1"),
    ]


def test_a_kill_that_does_nothing_is_not_proved(lab: FakeLab, fake_engine: Engine) -> None:
    fake_engine.ignores.add("kill")
    act = KILL.check(lab, MARK)

    act.inject()

    with pytest.raises(FaultNotObserved, match=r'^service "kafka-source-1" runs: kafka-source-1 healthy$'):
        act.prove()


def test_what_nothing_checks_is_whole_again_when_it_has_run_for_a_while(
    lab: FakeLab, fake_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "SERVICES_HEALTHY_S", 0.05)
    box = fake_engine.boxes["kafka-source-1"]
    box.checked = False
    act = KILL.check(lab, MARK)
    act.inject()
    act.inverse.undo()

    with pytest.raises(TimedOut, match="the services that were hit are healthy again"):
        act.inverse.prove()
    box.started_at = (datetime.now(UTC) - timedelta(seconds=4)).isoformat()
    assert act.inverse.prove() == "kafka-source-1 running for 4 s"


def test_what_ends_again_after_its_start_is_told_and_not_waited_for(
    lab: FakeLab, fake_engine: Engine
) -> None:
    act = KILL.check(lab, MARK)
    act.inject()
    act.inverse.undo()
    fake_engine.boxes["kafka-source-1"].state = "exited"
    fake_engine.boxes["kafka-source-1"].exit_code = 1

    with pytest.raises(LabError, match=r"^kafka-source-1 ended with 1 once it was started again$"):
        act.inverse.prove()


def test_a_service_that_was_started_again_is_not_killed_any_more(lab: FakeLab, fake_engine: Engine) -> None:
    act = KILL.check(lab, MARK)
    act.inject()
    fake_engine.docker("start", "kafka-source-1")
    fake_engine.docker("stop", "kafka-source-1")

    with pytest.raises(FaultNotObserved, match="runs"):
        act.prove()


def test_a_service_that_ended_by_itself_was_not_killed(lab: FakeLab, fake_engine: Engine) -> None:
    act = KILL.check(lab, MARK)
    act.inject()
    fake_engine.boxes["kafka-source-1"].exit_code = 1

    with pytest.raises(FaultNotObserved, match=r'"kafka-source-1" ended by itself, with 1'):
        act.prove()


def test_what_is_down_already_cannot_be_killed(lab: FakeLab, fake_engine: Engine) -> None:
    fake_engine.boxes["kafka-source-1"].state = "exited"

    with pytest.raises(BadInput) as caught:
        KILL.check(lab, MARK)

    assert caught.value.message == ('service "kafka-source-1" is not at work: kafka-source-1 ended with 0')


def test_all_brokers_of_a_cluster_are_killed_at_once(lab: FakeLab, fake_engine: Engine) -> None:
    act = Kill(victim=Brokers("target")).check(lab, MARK)

    act.inject()

    assert len(fake_engine.commands("kill")) == 1
    assert act.prove() == ", ".join(f"kafka-target-{n} ended with 137" for n in (1, 2, 3))


def test_they_are_started_in_the_order_of_their_addresses(lab: FakeLab, fake_engine: Engine) -> None:
    for number, address in ((1, "172.28.0.10"), (2, "172.28.0.9"), (3, "172.28.0.11")):
        fake_engine.boxes[f"kafka-target-{number}"].address = address
    act = Kill(victim=Brokers("target")).check(lab, MARK)
    act.inject()

    act.inverse.undo()

    assert fake_engine.commands("start") == [("start", "kafka-target-2", "kafka-target-1", "kafka-target-3")]


def test_undoing_is_fine_when_nothing_was_done(lab: FakeLab, fake_engine: Engine) -> None:
    inverse = KILL.check(lab, MARK).inverse
    inverse.undo()

    assert fake_engine.commands("start", "unpause") == []
