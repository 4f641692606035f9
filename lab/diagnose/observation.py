"""What a diagnosis looks at: what runs, what it logged, what is deployed, what the clusters hold.

Gathered from a running lab, or read from a saved run. Whatever could not be had is empty, and no rule takes
that for evidence.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from lab.diagnose.log import Entry
from lab.mm2 import SOURCE, Connector
from lab.mm2_status import Status

MM2: Final = ("connect", "mirror-maker")  # the kinds of services in which MM2 runs
# Clients that cannot connect say so every second or so; what was not said for a while is over.
RECENT: Final = timedelta(seconds=30)


@dataclass(frozen=True, kw_only=True)
class Service:
    """A container, with what it logged since it last started."""

    name: str
    kind: str  # the role that its image was started in: broker, connect, mirror-maker …
    state: str = "running"
    exit_code: int = 0
    oom_killed: bool = False
    memory_bytes: int = 0
    until: datetime | None = None  # when it was looked at, or ended
    entries: tuple[Entry, ...] = ()

    @property
    def runs(self) -> bool:
        return self.state == "running"

    def is_recent(self, entry: Entry, within: timedelta = RECENT) -> bool:
        """Said shortly before it was looked at, or before it ended; without times nothing is too old."""
        return entry.at is None or self.until is None or self.until - entry.at <= within


@dataclass(frozen=True, kw_only=True)
class Said:
    """A log's entry that a rule looked for."""

    service: Service
    entry: Entry
    match: re.Match[str]

    def __str__(self) -> str:
        return f"{self.service.name}: {self.entry.shown}"


@dataclass(frozen=True, kw_only=True)
class Topic:
    partitions: int
    replicas: int
    leaderless: int = 0  # partitions that nobody leads


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster as it answers on this host."""

    alias: str
    brokers: int = 0  # that it has, whether each is up or not
    topics: Mapping[str, Topic] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)  # states, in lower case
    error: str = ""  # why it could not be asked


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """A connector, with what its worker says of it."""

    connector: Connector
    status: Status | None = None
    # Of its worker, where it gives none itself; None of a worker that nobody here started.
    setting: Mapping[str, str] | None = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.connector.name

    def effective(self, key: str) -> str | None:
        return self.connector.config.get(key, (self.setting or {}).get(key))

    @property
    def traces(self) -> Iterator[tuple[str, str]]:
        """What failed of it, and why: "connector" or "task 0"."""
        if self.status is not None:
            yield from ((part, trace) for part, trace in _traces(self.status) if trace)


def _traces(status: Status) -> Iterator[tuple[str, str]]:
    yield "connector", status.trace
    for task in status.tasks:
        yield f"task {task.id}", task.trace


@dataclass(frozen=True, kw_only=True)
class Observation:
    up: str = "lab up TOPOLOGY"  # the command that brings this lab into shape
    variables: frozenset[str] = frozenset()  # that `lab up --set` takes
    services: tuple[Service, ...] = ()
    deployed: tuple[Deployed, ...] = ()
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)  # of a dedicated MM2

    @property
    def anything(self) -> bool:
        """Whether there is something of MM2 to look at."""
        return bool(self.deployed or self.properties) or any(s.kind in MM2 for s in self.services)

    @property
    def sources(self) -> Iterator[Deployed]:
        return (one for one in self.deployed if one.connector.connector_class == SOURCE)

    def service(self, name: str) -> Service | None:
        return next((service for service in self.services if service.name == name), None)

    def said(
        self,
        pattern: re.Pattern[str],
        *,
        by: tuple[str, ...] = MM2,
        within: timedelta | None = RECENT,
    ) -> list[Said]:
        """The newest first. Without `within` it counts however long ago it was said."""
        return [
            Said(service=service, entry=entry, match=match)
            for service in self.services
            if service.kind in by
            for entry in reversed(service.entries)
            if (within is None or service.is_recent(entry, within)) and (match := pattern.search(entry.whole))
        ]

    def failed(self, pattern: re.Pattern[str]) -> Iterator[tuple[Deployed, str, re.Match[str]]]:
        """Connectors and tasks that FAILED of it at this moment."""
        for one in self.deployed:
            for part, trace in one.traces:
                if match := pattern.search(trace):
                    yield one, part, match
