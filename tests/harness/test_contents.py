"""What a scenario added goes, also what comes back once."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lab.errors import LabError
from lab.harness import contents
from lab.harness.contents import Contents, restore
from lab.wait import TimedOut

BEFORE = Contents(connectors=frozenset({"kept"}), topics={"a": frozenset({"kept"}), "b": frozenset()})


class FakeCluster:
    def __init__(self, *names: str, comes_back: int = 0) -> None:
        self.alias = "a"
        self.names, self.comes_back = set(names), comes_back

    def topic_names(self) -> list[str]:
        return sorted(self.names)

    def delete_topics(self, *topics: str) -> None:
        if topics and self.comes_back:
            self.comes_back -= 1
            raise TimedOut(f"{topics[0]} is still there")
        self.names -= set(topics)


def lab_with(forget: Callable[[str], None] = lambda _: None, **clusters: FakeCluster) -> Any:
    return SimpleNamespace(
        connect=SimpleNamespace(names=lambda: ["kept", "added"], forget=forget),
        topology=SimpleNamespace(
            has_connect=True, mirror_makers=(), roles=SimpleNamespace(clusters=tuple(clusters))
        ),
        kafka_version="3.9.1",
        cluster=clusters.__getitem__,
    )


def test_what_was_added_goes_and_what_was_there_stays() -> None:
    forgotten: list[str] = []
    a, b = FakeCluster("kept", "added", "__consumer_offsets"), FakeCluster("more")
    said: list[str] = []

    restore(lab_with(forgotten.append, a=a, b=b), BEFORE, say=said.append)

    assert forgotten == ["added"]
    assert (a.names, b.names, said) == ({"kept", "__consumer_offsets"}, set(), [])


def test_what_comes_back_is_told_and_removed_again() -> None:
    a = FakeCluster("kept", "added", comes_back=1)
    said: list[str] = []

    restore(lab_with(a=a, b=FakeCluster()), BEFORE, say=said.append)

    assert a.names == {"kept"}
    assert said == ["added is still there"]


def test_what_comes_back_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "FORGOTTEN_S", 0.2)
    b = FakeCluster("more")

    with pytest.raises(TimedOut, match='cluster "a" has the topics it had; last seen: added is still there'):
        restore(lab_with(a=FakeCluster("added", comes_back=999), b=b), BEFORE, say=lambda _: None)

    assert b.names == set()


def test_a_connector_that_cannot_be_forgotten_does_not_keep_the_topics() -> None:
    def refuse(_: str) -> None:
        raise LabError("Connect is gone")

    a = FakeCluster("added")

    with pytest.raises(LabError, match="Connect is gone"):
        restore(lab_with(refuse, a=a, b=FakeCluster()), BEFORE, say=lambda _: None)

    assert a.names == set()
