"""A full disk is proved by no byte left and by the broker's complaint, on a disk of a bounded size only."""

import pytest

from lab.errors import BadInput
from lab.faults import DiskFull, Service, disk_full
from lab.wait import TimedOut
from tests.faults.conftest import MARK, Engine, FakeLab

FULL = DiskFull(victim=Service("kafka-target-3"))
COMPLAINT = "java.io.IOException: No space left on device\n"


@pytest.fixture(autouse=True)
def bounded(lab: FakeLab, fake_engine: Engine) -> None:
    fake_engine.boxes["kafka-target-3"].mounts = [{"Type": "volume", "Name": "disk", "RW": True}]
    fake_engine.boxes["kafka-target-3"].log = COMPLAINT  # of an earlier time
    fake_engine.others["disk"] = {"Options": {"type": "tmpfs", "o": "size=192m,mode=0777"}}


def test_it_is_full_when_nothing_is_free_and_the_broker_says_so(lab: FakeLab, fake_engine: Engine) -> None:
    act = FULL.check(lab, MARK)
    act.inject()
    fake_engine.answers["df"] = lambda _: "Avail\n    0\n"
    fake_engine.boxes["kafka-target-3"].log += COMPLAINT

    assert act.prove() == "0 bytes free; kafka-target-3 healthy, which complained 1 times"
    (run,) = fake_engine.commands("run")
    assert run[-3:] == ("fill", "/disk/.lab-filler", "60")
    assert run[run.index("--volume") + 1] == "disk:/disk"
    assert run[run.index("--memory") + 1] == "224m"  # what is written counts as its memory
    assert act.what == "disk full of kafka-target-3"


@pytest.mark.parametrize(("free", "log"), [("7", COMPLAINT * 2), ("0", COMPLAINT), ("0", "a new log")])
def test_bytes_left_or_an_earlier_complaint_prove_nothing(
    lab: FakeLab, fake_engine: Engine, monkeypatch: pytest.MonkeyPatch, free: str, log: str
) -> None:
    monkeypatch.setattr(disk_full, "FAULT_SHOWS_S", 0.01)
    act = FULL.check(lab, MARK)
    act.inject()
    fake_engine.answers["df"] = lambda _: f"Avail\n{free}\n"
    fake_engine.boxes["kafka-target-3"].log = log

    with pytest.raises(TimedOut, match="finds its disk full"):
        act.prove()


def test_it_is_freed_before_the_broker_is_started(lab: FakeLab, fake_engine: Engine) -> None:
    act = FULL.check(lab, MARK)
    act.inject()
    fake_engine.boxes["kafka-target-3"].state = "exited"

    act.inverse.undo()

    assert [args[0] for args in fake_engine.said[1:]] == ["stop", "rm", "run", "start"]
    assert fake_engine.said[-2][-2:] == ("free", "/disk/.lab-filler")
    assert act.inverse.prove() == "kafka-target-3 healthy"


@pytest.mark.parametrize(
    "options", [{}, {"type": "tmpfs"}, {"type": "tmpfs", "o": "size=9000m"}, {"type": "ext4", "o": "size=9m"}]
)
def test_a_disk_without_a_bound_is_never_filled(
    lab: FakeLab, fake_engine: Engine, options: dict[str, str]
) -> None:
    fake_engine.others["disk"] = {"Options": options}

    with pytest.raises(BadInput, match='"kafka-target-3" has no disk of a bounded size'):
        FULL.check(lab, MARK)


def test_a_service_without_a_disk_of_its_own_is_refused(lab: FakeLab) -> None:
    with pytest.raises(BadInput, match="no disk of a bounded size"):
        DiskFull(victim=Service("kafka-target-1")).check(lab, MARK)
