"""When a target counts as caught up: by the place of its last record, by their number where it has none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pytest

from lab.errors import LabError
from lab.kafka import Cluster, Offsets, Place
from lab.lag import LagWatcher, Sample
from lab.mm2 import SOURCE, Connector
from lab.verify import catching_up
from lab.verify.catching_up import Seen, wait_for_target
from lab.verify.flow import Flow, Origin

OWED = {0: Offsets(start=0, end=10), 1: Offsets(start=0, end=0)}


class Target:
    """Its one topic has as many records as it is told, one number after the other, the last for ever."""

    alias = "target"

    def __init__(self, *counts: int) -> None:
        self._counts = list(counts)

    def offsets_of(self, topics: list[str], *, isolation: str) -> dict[Place, Offsets]:
        assert isolation == "read_committed"
        count = self._counts.pop(0) if len(self._counts) > 1 else self._counts[0]
        return {(topic, 0): Offsets(start=0, end=count) for topic in topics}


class Watched:
    """Says of partition 0 up to where it is mirrored, one answer after the other, the last for ever."""

    def __init__(self, *answers: int | None) -> None:
        self.asked = 0
        self._answers = answers

    def __call__(self, *_: object, **__: object) -> "Watched":
        return self

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def sample(self, *, patience_s: float) -> list[Sample]:
        assert patience_s > 0
        to = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        lag = None if to is None else 10 - to
        return [Sample(at=0.0, topic="orders", partition=0, source_end=10, mirrored_to=to, lag=lag)]


class Position:
    """Says in which partitions MM2 is behind, or fails, one answer after the other, the last for ever."""

    def __init__(self, *answers: list[int] | LabError | None) -> None:
        self.asked = 0
        self._answers = answers

    def __call__(self, _: Flow, owed: Mapping[int, Offsets]) -> list[int] | None:
        assert owed == OWED
        answer = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        if isinstance(answer, LabError):
            raise answer
        return answer


BEHIND = Position([0])


@dataclass
class Waited:
    samples: list[Seen]
    told: list[str]

    @property
    def timed_out(self) -> bool:
        return any(text.startswith("not caught up in ") for text in self.told)


def waited(
    target: Target,
    watched: Watched,
    position: Position = BEHIND,
    *,
    merged: bool = False,
    timeout_s: float = 5.0,
) -> Waited:
    there = cast(Cluster, target)
    flow = Flow(
        topic="orders",
        connector=Connector(name="mirror", config={"connector.class": SOURCE}),
        source=there,
        target=there,
        others=(Origin(topic="orders", source=there),) if merged else (),
        bootstraps={},
    )
    told: list[str] = []
    samples = wait_for_target(
        flow,
        OWED,
        timeout_s=timeout_s,
        say=told.append,
        watcher=cast(type[LagWatcher], watched),
        behind=position,
    )
    return Waited(samples, told)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds takes none."""
    monkeypatch.setattr(catching_up, "QUIET_S", 0.2)
    monkeypatch.setattr(catching_up, "_ASKED_S", 0.01)


def test_repeated_records_do_not_hide_others_that_are_still_to_come() -> None:
    watched = Watched(4, 7, 10)

    assert not waited(Target(25), watched).timed_out
    assert watched.asked == 3


def test_deleted_records_need_no_counterpart_when_the_last_one_is_there() -> None:
    watched = Watched(10)

    assert not waited(Target(3), watched).timed_out
    assert watched.asked == 1


def test_the_number_of_records_decides_where_the_last_one_is_not_found() -> None:
    assert not waited(Target(10), Watched(None)).timed_out
    watched = Watched(4)
    assert not waited(Target(10), watched, merged=True).timed_out
    assert watched.asked == 0


@pytest.mark.usefixtures("soon")
def test_a_target_that_stands_still_is_waited_for_as_long_as_mm2_is_behind() -> None:
    """MM2 may be paused, rebalance, or not know of the topic yet."""
    standing = 6  # looks, which together take much longer than QUIET_S
    watched = Watched(*[4] * standing, 10)

    found = waited(Target(*[4] * standing, 10), watched, timeout_s=60.0)

    assert not found.timed_out
    assert [sample.target for sample in found.samples] == [4, 4, 10]
    assert found.samples[1].at - found.samples[0].at > 3 * catching_up.QUIET_S


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("answer", [4, None])
def test_a_wait_ends_early_when_mm2_has_passed_what_is_not_there(answer: int | None) -> None:
    position = Position([0], [])

    found = waited(Target(5), Watched(answer), position, timeout_s=60.0)

    assert not found.timed_out
    assert found.told[0] == (
        "5 of 10 records on the target; waiting for MM2, whose position is behind in 1 of 1 partitions"
    )
    assert found.told[-1] == "5 of 10 records on the target; MM2's position has passed the rest"
    assert found.samples[-1].at - found.samples[0].at >= catching_up.QUIET_S - 0.01


@pytest.mark.usefixtures("soon")
def test_a_position_from_before_ends_no_wait_while_records_arrive() -> None:
    """That of an earlier topic of the name, which MM2 then reads from its beginning."""
    counts = range(1, 6)

    found = waited(Target(*counts), Watched(*counts, 10), Position([]), timeout_s=60.0)

    assert not found.timed_out
    assert found.samples[-1].target == 5


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("unknown", [None, LabError("the worker is away")])
def test_the_deadline_alone_ends_the_wait_where_no_position_is_known(unknown: LabError | None) -> None:
    found = waited(Target(5), Watched(4), Position(unknown), timeout_s=1.0)

    assert found.timed_out
    assert found.told[-1].startswith(
        "not caught up in 1 s, judged as it is: 5 of 10 records on the target; waiting for the rest; "
        "MM2's position is not known"
    )
    if unknown is not None:
        assert found.told[-1].endswith(": the worker is away")
