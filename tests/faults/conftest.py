"""A lab whose containers are entries of a dictionary, for faults that are made without an engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from lab import engine, images, topology
from lab.engine import Container, EngineError
from lab.faults import Mark
from lab.faults.probes import Answer
from lab.images import Image
from lab.topology import Topology

MARK = Mark(id="f0", limit_s=60.0)


@dataclass
class Box:
    """A container as the fake engine keeps it."""

    service: str
    state: str = "running"  # or paused, exited
    exit_code: int = 0
    started_at: str = "2026-01-01T00:00:01Z"
    address: str = "10.0.0.1"
    mounts: list[dict[str, Any]] = field(default_factory=list)
    log: str = ""
    rules: list[str] = field(default_factory=list)
    checked: bool = True  # by a health check

    def inspected(self, id_: str) -> dict[str, Any]:
        health = {"Health": {"Status": "healthy" if self.state == "running" else "unhealthy"}}
        return {
            "Id": id_,
            "Name": f"/{id_}",
            "Config": {"Labels": {engine.SERVICE_LABEL: self.service}},
            "State": {
                "Running": self.state in ("running", "paused"),
                "Paused": self.state == "paused",
                "ExitCode": self.exit_code,
                "StartedAt": self.started_at,
                **(health if self.checked else {}),
            },
            "NetworkSettings": {"Networks": {"default": {"IPAddress": self.address}}},
            "Mounts": self.mounts,
        }


class Engine:
    """Does to its boxes what docker would do."""

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.others: dict[str, dict[str, Any]] = {}  # volumes, as inspected
        self.said: list[tuple[str, ...]] = []
        # of exec and run, by a word of theirs
        self.answers: dict[str, Callable[[tuple[str, ...]], str]] = {"try": lambda _: "possible\n"}
        self.ignores: set[str] = set()  # commands that do nothing

    def docker(self, *args: str) -> str:
        self.said.append(args)
        for word, answer in self.answers.items():
            if word in args:
                return answer(args)
        command = args[0]
        if command in self.ignores:
            return ""
        if command == "run" and "--detach" in args:
            self.boxes[args[args.index("--name") + 1]] = Box(service="sidecar", log="dropping full")
            return ""
        known = [arg for arg in args[1:] if arg in self.boxes]
        if command in ("stop", "rm") and not known:
            raise EngineError(f"docker {command} failed: No such container: {args[-1]}")
        for id_ in known:
            self._one(command, id_)
        return ""

    def _one(self, command: str, id_: str) -> None:
        box = self.boxes[id_]
        if command == "kill":
            box.state, box.exit_code = "exited", 137
        elif command == "stop":
            box.state, box.exit_code = "exited", 143
        elif command == "start":
            box.state, box.started_at = "running", datetime.now(UTC).isoformat()
        elif command in ("pause", "unpause"):
            box.state = "paused" if command == "pause" else "running"
        elif command == "rm":
            del self.boxes[id_]

    def inspect(self, ids: list[str] | tuple[str, ...]) -> list[dict[str, Any]]:
        for id_ in ids:
            if id_ not in self.boxes and id_ not in self.others:
                raise EngineError(f"docker inspect failed: no such object: {id_}")
        return [self.others[i] if i in self.others else self.boxes[i].inspected(i) for i in ids]

    def commands(self, *kinds: str) -> list[tuple[str, ...]]:
        return [args for args in self.said if args[0] in kinds]


@pytest.fixture
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    fake = Engine()
    monkeypatch.setattr(engine, "docker", fake.docker)
    monkeypatch.setattr(engine, "inspect", fake.inspect)
    monkeypatch.setattr(engine, "logs", lambda id_: fake.boxes[id_].log)
    monkeypatch.setattr(
        images, "tool", lambda kind: Image(kind=kind, version="1", source="hash of its files")
    )
    return fake


@dataclass
class Project:
    name: str = "lab-a"
    told: str = ""
    asked: list[str] = field(default_factory=list)

    def run_in(self, service: str, argv: list[str]) -> str:
        self.asked.append(service)
        return self.told


@cache
def _resilience() -> Topology:
    return topology.load("resilience")


class FakeLab:
    """Every service of topology `resilience` is at work, in a container that is called as the service is."""

    def __init__(self, fake: Engine) -> None:
        self.name = "a"
        self.topology = _resilience()
        self.ports: Mapping[str, int] = {port.variable: port.default for port in self.topology.ports}
        self.project: Any = Project()
        self.connect: Any = None
        self.clusters: dict[str, Any] = {}
        self._engine = fake
        for number, service in enumerate(self.topology.services):
            fake.boxes[service] = Box(service=service, address=f"10.0.0.{number + 1}")

    def containers(self) -> list[Container]:
        return [
            Container(id=i, project="lab-a", service=box.service, state=box.state, health="healthy")
            for i, box in self._engine.boxes.items()
        ]

    def require_service(self, service: str) -> None:
        assert service in self.topology.services

    def address(self, service: str) -> str:
        return f"127.0.0.1:{self.ports[self.topology.services[service].ports[0].variable]}"

    def cluster(self, alias: str) -> Any:
        return self.clusters[alias]


@pytest.fixture
def lab(fake_engine: Engine) -> FakeLab:
    return FakeLab(fake_engine)


class Answers:
    """What probes are told, by address; what is not set answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from lab.faults import probes

        self.of: dict[str, Answer | list[Answer]] = {}
        monkeypatch.setattr(probes, "ask", self.ask)
        monkeypatch.setattr(probes, "ask_all", lambda addresses, question, **_: self.all(addresses))

    def ask(self, address: str, question: bytes, *, timeout_s: float = 2.0) -> Answer:
        answer = self.of.get(address, Answer.SAID)
        return answer.pop(0) if isinstance(answer, list) else answer

    def all(self, addresses: list[str]) -> list[Answer]:
        return [self.ask(address, b"") for address in addresses]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch)
