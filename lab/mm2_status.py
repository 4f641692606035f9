"""What a Connect worker says of a connector and its tasks. Never evidence that a record arrived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Task:
    id: int
    state: str
    worker: str
    trace: str = ""


@dataclass(frozen=True, kw_only=True)
class Status:
    """A connector's state and its tasks', with the first lines that a program needs of its config."""

    name: str
    connector_class: str
    state: str
    worker: str
    tasks: tuple[Task, ...]
    trace: str = ""
    topics: str = ""

    @classmethod
    def read(cls, body: Mapping[str, Any], config: Mapping[str, str]) -> Self:
        """From a worker's answer."""
        connector = body["connector"]
        return cls(
            name=body["name"],
            connector_class=config.get("connector.class", "").rpartition(".")[2],
            state=connector["state"],
            worker=connector["worker_id"],
            trace=connector.get("trace", ""),
            topics=config.get("topics", ""),
            tasks=tuple(
                Task(id=t["id"], state=t["state"], worker=t["worker_id"], trace=t.get("trace", ""))
                for t in body["tasks"]
            ),
        )

    @property
    def running(self) -> bool:
        return bool(self.tasks) and self.all("RUNNING")

    @property
    def at_rest(self) -> bool:
        """Whether somebody had it rest."""
        return self.state in ("PAUSED", "STOPPED")

    def all(self, state: str) -> bool:
        """Whether the connector and each task that it has are in this state."""
        return self.state == state and all(task.state == state for task in self.tasks)

    @property
    def failed(self) -> tuple[int | None, ...]:
        """The tasks that failed, by number; None for the connector itself."""
        itself: tuple[int | None, ...] = (None,) if self.state == "FAILED" else ()
        return itself + tuple(task.id for task in self.tasks if task.state == "FAILED")

    @property
    def failure(self) -> str | None:
        """The first failed part's own error, in one line."""
        for trace in (self.trace, *(task.trace for task in self.tasks)):
            if trace:
                causes = [line.strip() for line in trace.splitlines() if line.startswith("Caused by: ")]
                return causes[-1].removeprefix("Caused by: ") if causes else trace.splitlines()[0]
        return None

    def __str__(self) -> str:
        tasks = ", ".join(f"task {task.id} {task.state}" for task in self.tasks) or "no tasks"
        return f"connector {self.state}, {tasks}" + (f" ({self.failure})" if self.failure else "")


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """A connector as it is on the workers; just created, it has no status yet."""

    config: Mapping[str, str] = field(default_factory=dict)
    status: Status | None = None
