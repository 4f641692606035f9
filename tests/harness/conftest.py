"""An engine where nothing is there, for labs that come up and go away without containers."""

from typing import Any

import pytest

from lab import engine, images, monitoring, removal
from lab.engine import Project
from lab.harness import coming, ending, lab
from lab.kafka import connection
from lab.removal import Removed


class Engine:
    """Stands for the engine: nothing is there, and starting services ends as it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails: BaseException | None = None
        self.holds = False  # containers or volumes of the lab that is asked for
        self.clean_up_fails: BaseException | None = None
        self.removed: list[str | None] = []
        for module in (lab, ending):
            monkeypatch.setattr(module, "require_engine", lambda: None)
        monkeypatch.setattr(lab, "require_memory", lambda _: None)
        monkeypatch.setattr(images, "missing", lambda *_: [])
        monkeypatch.setattr(engine, "containers", lambda _: [])
        self.registry = False  # whether an image registry has Grafana and Kafka UI
        monkeypatch.setattr(monitoring, "docker", lambda *_: "")
        monkeypatch.setattr(monitoring, "registry_answers", lambda _: self.registry)
        monkeypatch.setattr(removal, "remove", self.remove)
        monkeypatch.setattr(removal, "holds_anything", lambda _: self.holds)
        monkeypatch.setattr(Project, "rendered", lambda _: "services: {}\n")
        monkeypatch.setattr(Project, "up", self.up)
        monkeypatch.setattr(coming, "wait_until_answers", lambda *_: None)
        monkeypatch.setattr(connection, "_METADATA_S", 0.05)  # no cluster answers either

    def starting(self) -> None:
        """What happens while the services start."""

    def up(self, **_: Any) -> None:
        self.starting()
        if self.fails is not None:
            raise self.fails

    def remove(self, project: str | None = None) -> Removed:
        self.removed.append(project)
        if self.clean_up_fails is not None:
            raise self.clean_up_fails
        return Removed(containers=6)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Engine:
    return Engine(monkeypatch)
