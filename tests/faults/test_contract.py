"""Every fault goes through the same steps, in their order, and is undone whatever happens."""

import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from lab.errors import BadInput, LabError
from lab.faults import FaultNotObserved, Mark, contract, entries, open_entries
from lab.faults.inverse import Inverse
from lab.faults.journal import Entry
from lab.wait import TimedOut
from tests.faults.conftest import FakeLab

STEPS: list[str] = []


@dataclass(frozen=True, kw_only=True)
class Written(Inverse):
    word: str

    def undo(self) -> None:
        STEPS.append(f"undo {self.word}")

    def prove(self) -> str:
        STEPS.append("prove undone")
        return "undone"


@dataclass
class Doing:
    """Fails where it is told to."""

    fails: str = ""
    what: str = "test"

    @property
    def inverse(self) -> Written:
        return Written(word="it")

    def _step(self, name: str, error: Exception) -> None:
        opened = "open" if open_entries("a") else "not open"
        STEPS.append(f"{name}, journal {opened}")
        if self.fails == name:
            raise error

    def inject(self) -> None:
        self._step("inject", LabError("the engine is gone"))

    def prove(self) -> str:
        self._step("prove", FaultNotObserved("nothing was seen"))
        return "seen"


@dataclass(frozen=True, kw_only=True)
class Trial:
    name: ClassVar[str] = "trial"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    doing: Doing

    def check(self, lab: Any, mark: Mark) -> Doing:
        STEPS.append("check")
        if self.doing.fails == "check":
            raise BadInput("no such victim")
        return self.doing


class Cluster:
    """All replicas are in sync."""

    def wait_until_answers(self, brokers: int) -> None:
        STEPS.append(f"{brokers} brokers answer")

    def under_replicated(self) -> list[Any]:
        return []


@pytest.fixture(autouse=True)
def faked(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    STEPS.clear()
    lab.clusters = {"source": Cluster(), "target": Cluster()}

    class Limit:
        def __init__(self, entry: Entry, limit_s: float) -> None:
            STEPS.append(f"limit of {limit_s:g} s")

        def end(self) -> None:
            STEPS.append("limit ended")

    monkeypatch.setattr(contract, "Limit", Limit)


BEGUN = ["check", "limit of 60 s", "inject, journal open", "prove, journal open"]
UNDONE = ["undo it", "prove undone", "limit ended", "3 brokers answer", "3 brokers answer"]


def test_the_steps_are_taken_in_their_order(lab: FakeLab) -> None:
    injected = contract.inject(lab, Trial(doing=Doing()), limit_s=60)
    assert STEPS == BEGUN
    assert injected.proof == "seen"

    injected.prove()
    assert injected.heal("me") == "undone"

    assert [*BEGUN, "prove, journal open", *UNDONE] == STEPS
    assert [event["event"] for event in injected.entry.events()] == ["opened", "proved", "proved", "healed"]
    assert open_entries("a") == []


def test_who_cannot_look_has_not_seen_it(lab: FakeLab) -> None:
    doing = Doing()
    injected = contract.inject(lab, Trial(doing=doing), limit_s=60)

    def fail() -> str:
        raise TimedOut("not reached in 30 s: the disk is full", "look again")

    doing.prove = fail  # type: ignore[method-assign]

    with pytest.raises(FaultNotObserved) as caught:
        injected.prove()
    assert caught.value.message == "test: not reached in 30 s: the disk is full"
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(("fails", "error"), [("inject", LabError), ("prove", FaultNotObserved)])
def test_what_does_not_come_to_be_is_undone(lab: FakeLab, fails: str, error: type[LabError]) -> None:
    with pytest.raises(error):
        contract.inject(lab, Trial(doing=Doing(fails)), limit_s=60)

    assert STEPS[-5:] == UNDONE
    assert open_entries("a") == []


def test_what_is_refused_leaves_no_trace(lab: FakeLab) -> None:
    with pytest.raises(BadInput):
        contract.inject(lab, Trial(doing=Doing("check")), limit_s=60)

    assert STEPS == ["check"]
    assert entries("a") == []


def test_without_a_time_limit_nothing_is_done(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LabError("a fault's time limit could not be started")

    monkeypatch.setattr(contract, "Limit", fail)

    with pytest.raises(LabError, match="could not be started"):
        contract.inject(lab, Trial(doing=Doing()), limit_s=60)

    assert STEPS == ["check"]
    assert entries("a") == []


def healed_by_the_limit(entry: Entry) -> None:
    entry.heal("time limit")


def gone(entry: Entry) -> None:
    entry.path.unlink()


@pytest.mark.parametrize("before", [healed_by_the_limit, gone])
def test_a_fault_that_was_undone_meanwhile_is_not_observed(
    lab: FakeLab, before: Callable[[Entry], None]
) -> None:
    injected = contract.inject(lab, Trial(doing=Doing()), limit_s=60)
    before(injected.entry)

    with pytest.raises(FaultNotObserved, match="or after its time limit of 60 s"):
        injected.prove()


def test_open_faults_are_healed_the_last_one_first(lab: FakeLab) -> None:
    first = contract.inject(lab, Trial(doing=Doing(what="first")), limit_s=60)
    second = contract.inject(lab, Trial(doing=Doing(what="second")), limit_s=60)

    healed = contract.heal(lab, "by hand")

    assert [(entry.id, by) for entry, by in healed] == [(second.id, "undone"), (first.id, "undone")]
    assert contract.heal(lab, "by hand") == []


def test_one_that_cannot_be_healed_does_not_keep_the_others_from_it(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = contract.inject(lab, Trial(doing=Doing(what="first")), limit_s=60)
    second = contract.inject(lab, Trial(doing=Doing(what="second")), limit_s=60)
    heal = Entry.heal

    def unless_second(self: Entry, who: str) -> str | None:
        if self == second.entry:
            raise LabError("the link does not answer", "start it")
        return heal(self, who)

    monkeypatch.setattr(Entry, "heal", unless_second)

    with pytest.raises(LabError, match=r"^second is not undone: the link does not answer$"):
        contract.heal(lab, "by hand")
    assert open_entries("a") == [second.entry]
    assert not first.entry.is_open


def test_while_another_fault_is_in_force_nobody_waits_for_replicas(lab: FakeLab) -> None:
    first = contract.inject(lab, Trial(doing=Doing()), limit_s=60)
    second = contract.inject(lab, Trial(doing=Doing()), limit_s=60)

    STEPS.clear()
    second.heal("me")
    assert UNDONE[:3] == STEPS
    first.heal("me")
    assert STEPS[3:] == UNDONE


def test_what_was_healed_before_it_was_made_is_not_made(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limit was short, or somebody healed all that was open."""

    class AtOnce:
        def __init__(self, entry: Entry, limit_s: float) -> None:
            entry.heal("time limit")

        def end(self) -> None: ...

    monkeypatch.setattr(contract, "Limit", AtOnce)

    with pytest.raises(FaultNotObserved, match="was undone by somebody else"):
        contract.inject(lab, Trial(doing=Doing()), limit_s=60)
    assert not any(step.startswith("inject") for step in STEPS)


def test_nobody_heals_while_it_is_made(lab: FakeLab) -> None:
    doing, healer = Doing(), ThreadPoolExecutor(1)
    healed: list[Future[str | None]] = []

    def inject() -> None:
        (entry,) = open_entries("a")
        healed.append(healer.submit(entry.heal, "somebody"))
        with pytest.raises(TimeoutError):
            healed[0].result(0.2)
        STEPS.append("made")

    doing.inject = inject  # type: ignore[method-assign]

    with suppress(FaultNotObserved):  # it may be gone before it is looked at
        contract.inject(lab, Trial(doing=doing), limit_s=60)
    assert healed[0].result(10) == "undone"
    assert STEPS.index("made") < STEPS.index("undo it")


def test_no_interruption_ends_it_half_done(lab: FakeLab) -> None:
    doing = Doing()
    doing.inject = lambda: signal.raise_signal(signal.SIGINT)  # type: ignore[method-assign]

    assert contract.inject(lab, Trial(doing=doing), limit_s=60).proof == "seen"


def test_what_does_not_show_in_time_is_not_observed(lab: FakeLab) -> None:
    doing = Doing()

    def inject() -> None:
        raise TimedOut("not reached in 30 s: sidecar says dropping")

    doing.inject = inject  # type: ignore[method-assign]

    with pytest.raises(FaultNotObserved, match=r"^test: not reached in 30 s"):
        contract.inject(lab, Trial(doing=doing), limit_s=60)


@pytest.mark.parametrize("limit_s", [0, -1, 86_401])
def test_a_limit_that_cannot_be_is_refused(lab: FakeLab, limit_s: float) -> None:
    with pytest.raises(BadInput, match="a fault cannot last"):
        contract.inject(lab, Trial(doing=Doing()), limit_s=limit_s)
