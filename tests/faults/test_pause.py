"""A pause is proved by the engine's word and by silence, where there was an answer before."""

import pytest

from lab.errors import BadInput
from lab.faults import FaultNotObserved, Pause, Service
from lab.faults.probes import Answer
from tests.faults.conftest import MARK, Answers, Engine, FakeLab

PAUSE = Pause(victim=Service("kafka-connect-1"))
AT = "127.0.0.1:8083"


def test_a_paused_service_is_silent_until_it_goes_on(
    lab: FakeLab, fake_engine: Engine, answers: Answers
) -> None:
    act = PAUSE.check(lab, MARK)
    act.inject()
    answers.of[AT] = Answer.SILENT

    assert act.prove() == "kafka-connect-1 paused; no answer of kafka-connect-1"
    act.inverse.undo()
    assert act.inverse.prove() == "kafka-connect-1 healthy"
    assert fake_engine.commands("pause", "unpause", "start") == [
        ("pause", "kafka-connect-1"),
        ("unpause", "kafka-connect-1"),
    ]


def test_a_pause_that_does_nothing_is_not_proved(lab: FakeLab, fake_engine: Engine, answers: Answers) -> None:
    fake_engine.ignores.add("pause")
    act = PAUSE.check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match=r"^not paused: kafka-connect-1 healthy$"):
        act.prove()


def test_a_paused_service_that_answers_is_not_paused(lab: FakeLab, answers: Answers) -> None:
    act = PAUSE.check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match="is paused and not silent: it said"):
        act.prove()


def test_silence_proves_nothing_of_a_service_that_was_silent_before(lab: FakeLab, answers: Answers) -> None:
    answers.of[AT] = Answer.SILENT

    with pytest.raises(BadInput, match='"kafka-connect-1" does not answer before it is paused'):
        PAUSE.check(lab, MARK)
