"""When a target counts as caught up: by the place of its last record, by their number where it has none."""

from typing import cast

import pytest

from lab.kafka import Cluster, Offsets, Place
from lab.lag import LagWatcher, Sample
from lab.mm2 import SOURCE, Connector
from lab.verify import catching_up
from lab.verify.catching_up import wait_for_target
from lab.verify.flow import Flow, Origin

OWED = {0: Offsets(start=0, end=10), 1: Offsets(start=0, end=0)}


class Target:
    """Its one topic has as many records as it is told."""

    alias = "target"

    def __init__(self, count: int) -> None:
        self._count = count

    def offsets_of(self, topics: list[str]) -> dict[Place, Offsets]:
        return {(topic, 0): Offsets(start=0, end=self._count) for topic in topics}


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


def seen(count: int, watched: Watched, *, merged: bool = False, timeout_s: float = 5.0) -> int:
    """How often it looked before it went on."""
    target = cast(Cluster, Target(count))
    flow = Flow(
        topic="orders",
        connector=Connector(name="mirror", config={"connector.class": SOURCE}),
        source=target,
        target=target,
        others=(Origin(topic="orders", source=target),) if merged else (),
        bootstraps={},
    )
    samples = wait_for_target(
        flow, OWED, timeout_s=timeout_s, say=lambda _: None, watcher=cast(type[LagWatcher], watched)
    )
    assert {sample.target for sample in samples} == {count}
    return len(samples)


def test_repeated_records_do_not_hide_others_that_are_still_to_come() -> None:
    assert seen(25, Watched(4, 7, 10)) == 3


def test_deleted_records_need_no_counterpart_when_the_last_one_is_there() -> None:
    assert seen(3, Watched(10)) == 1


def test_the_number_of_records_tells_where_the_last_one_is_not_found() -> None:
    assert seen(10, Watched(None)) == 1
    watched = Watched(4)
    assert seen(10, watched, merged=True) == 1
    assert watched.asked == 0


@pytest.mark.parametrize("answer", [4, None])
def test_a_target_that_does_not_grow_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, answer: int | None
) -> None:
    monkeypatch.setattr(catching_up, "QUIET_S", 0.3)

    assert seen(5, Watched(answer), timeout_s=30.0) > 1
