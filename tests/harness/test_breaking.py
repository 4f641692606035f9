"""A fault is a block: proved at its end, undone in any case; while one is open, other things wait."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from lab import faults, images, topology
from lab.errors import BadInput, LabError
from lab.faults import Entry, FaultNotObserved
from lab.faults.inverse import Nothing
from lab.faults.journal import new_id
from lab.harness import Lab, Wish, breaking
from lab.run import Run
from tests.harness.conftest import Engine

SAID: list[str] = []


@dataclass(frozen=True, kw_only=True)
class Trial:
    name: ClassVar[str] = "trial"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    def check(self, *_: Any) -> Any:
        raise AssertionError


class Broken:
    """A fault in force, as the block sees it."""

    what, id, proof = "kill one", "f0", "seen"

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.unproved = self.unhealed = False

    def prove(self) -> str:
        SAID.append("prove")
        if self.unproved:
            raise FaultNotObserved("it runs")
        return "seen"

    def heal(self, who: str) -> str:
        SAID.append("heal")
        if self.unhealed:
            raise LabError("the engine is gone")
        return self.entry.heal(who) or ""


def open_fault(lab: str = "a") -> Entry:
    entry = Entry.open(lab, new_id(), what="kill one", settings={}, inverse=Nothing(why="a test"), limit_s=9)
    entry.write("proved", by="seen")
    return entry


@pytest.fixture
def lab(fake: Engine) -> Lab:
    return Lab.up(Wish(topology="basic-mirror", name="a"))


@pytest.fixture
def run() -> Run:
    return Run.open("test")


@pytest.fixture
def broken(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Broken:
    SAID.clear()
    found = Broken(open_fault())
    monkeypatch.setattr(faults, "inject", lambda *_, **__: found)
    return found


def outcomes(run: Run) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in (run.path / "steps.jsonl").read_text().splitlines()]
    return [(line["step"], line["note"]) for line in lines]


def test_a_fault_is_proved_at_the_end_of_its_block_and_then_undone(
    lab: Lab, run: Run, broken: Broken
) -> None:
    with breaking.injected(lab, Trial(), limit_s=9, run=run):
        SAID.append("held")

    assert SAID == ["held", "prove", "heal"]
    assert outcomes(run) == [
        ("inject trial", "seen"),
        ("still in force: kill one", "seen"),
        ("heal kill one", "nothing to undo: a test"),
    ]
    assert (run.path / "faults/f0.jsonl").read_text() == broken.entry.path.read_text()


def test_a_fault_that_did_not_last_is_undone_and_told(lab: Lab, run: Run, broken: Broken) -> None:
    broken.unproved = True

    with pytest.raises(FaultNotObserved), breaking.injected(lab, Trial(), limit_s=9, run=run):
        pass

    assert SAID == ["prove", "heal"]


@pytest.mark.parametrize("error", [AssertionError("a claim"), KeyboardInterrupt()])
def test_whatever_ends_the_block_the_fault_is_undone(
    lab: Lab, run: Run, broken: Broken, error: BaseException
) -> None:
    with pytest.raises(type(error)) as caught, breaking.injected(lab, Trial(), limit_s=9, run=run):
        raise error

    assert caught.value is error
    assert SAID == ["heal"]


def test_healing_that_fails_does_not_hide_what_ended_the_block(lab: Lab, run: Run, broken: Broken) -> None:
    broken.unhealed = True

    with pytest.raises(AssertionError) as caught, breaking.injected(lab, Trial(), limit_s=9, run=run):
        raise AssertionError("a claim")

    assert caught.value.__notes__ == ['fault "kill one" is not undone: the engine is gone']


def test_what_a_fault_runs_in_is_built_first(
    lab: Lab, run: Run, broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    tool = images.Image(kind="netfault", version="1", source="x")
    monkeypatch.setattr(images, "tool", lambda kind: tool)
    monkeypatch.setattr(images.Image, "is_current", lambda _: False)
    monkeypatch.setattr(images, "build", lambda image, say: built.append(image.tag))
    monkeypatch.setattr(Trial, "images", ("netfault",))

    with breaking.injected(lab, Trial(), limit_s=9, run=run):
        pass

    assert built == ["mirror-lab/netfault:1"]


def test_verifying_waits_until_nothing_is_in_force(lab: Lab) -> None:
    open_fault()

    with pytest.raises(BadInput) as caught:
        lab.verify("orders")

    assert caught.value.message == ('verifying "orders" while a fault may be in force in lab "a": kill one')
    assert caught.value.hint == '"lab fault heal --name a" undoes it'


@pytest.fixture
def in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    for home in ("lab.faults", "lab.faults.contract"):
        monkeypatch.setattr(f"{home}.wait_until_in_sync", lambda _: None)


@dataclass(frozen=True, kw_only=True)
class Told(Nothing):
    """Tells when it is undone, and when that is proved."""

    def undo(self) -> None:
        SAID.append("undo")

    def prove(self) -> str:
        SAID.append("prove")
        return "seen"


@pytest.mark.usefixtures("in_sync")
def test_up_undoes_before_it_starts_anything_and_proves_it_when_all_is_up(
    lab: Lab, fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    SAID.clear()
    entry = Entry.open("a", new_id(), what="kill one", settings={}, inverse=Told(why="a test"), limit_s=9)
    monkeypatch.setattr(fake, "starting", lambda: SAID.append("start"))

    Lab.up(Wish(topology="basic-mirror", name="a"))

    assert SAID == ["undo", "start", "undo", "prove"]
    assert entry.events()[-1]["who"] == "lab up"


@dataclass(frozen=True, kw_only=True)
class OnceItRuns(Nothing):
    """Undone only by services that are up, as a link's toxics are."""

    up: ClassVar[bool] = False

    def undo(self) -> None:
        if not self.up:
            raise LabError("the link does not answer")


@pytest.mark.usefixtures("in_sync")
def test_up_heals_what_only_a_running_lab_lets_heal(
    lab: Lab, fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    inverse = OnceItRuns(why="a test")
    entry = Entry.open("a", new_id(), what="slow link", settings={}, inverse=inverse, limit_s=9)
    monkeypatch.setattr(fake, "starting", lambda: monkeypatch.setattr(OnceItRuns, "up", True))

    Lab.up(Wish(topology="basic-mirror", name="a"))

    assert not entry.is_open
    assert fake.removed == []


def test_down_takes_the_journal_with_it(lab: Lab) -> None:
    entry = open_fault()

    lab.down()

    assert not entry.path.exists()


def test_a_report_is_told_of_the_faults_since_its_first_record(lab: Lab) -> None:
    entry = open_fault()
    entry.heal("me")
    span = entry.span
    assert span is not None
    assert span.end is not None

    drawn = {"source": [[int(span.begin) - 5, 3]], "target": []}
    assert breaking.spans("a", drawn) == [{"name": "kill one", "from": span.begin, "to": span.end}]
    later = {"source": [[int(span.end) + 5, 3]]}
    assert breaking.spans("a", later) == []
    assert breaking.spans("a", {"source": [], "target": []}) == []


def test_clusters_that_the_lab_did_not_start_are_not_broken(run: Run, lab: Lab) -> None:
    lab.topology = topology.load("external")
    assert lab.topology.services  # Spark is the lab's own

    with pytest.raises(BadInput, match='lab "a" did not start its clusters'):
        breaking.inject(lab, Trial(), limit_s=9, run=run)
