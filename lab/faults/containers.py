"""The containers of services as faults see them: what state they are in, and how they are started again."""

from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Final

from lab import engine
from lab.engine import EngineError
from lab.errors import BadInput, LabError
from lab.faults.fault import Ground
from lab.faults.inverse import Inverse
from lab.faults.victims import Victim
from lab.wait import SERVICES_HEALTHY_S, NotYet, wait_until

_TELLS: Final = '"lab logs SERVICE" tells why'
_STAYS_S: Final = 3.0  # a program that cannot start has ended by then


@dataclass(frozen=True, kw_only=True)
class Box:
    """A container at one moment."""

    id: str
    service: str
    running: bool  # also when paused
    paused: bool
    exit_code: int
    started_at: datetime
    health: str  # "" when nothing checks it
    addresses: tuple[str, ...]  # in the lab's networks

    @property
    def ran_s(self) -> float:
        """Since its last start, at the moment when it is asked for."""
        return (datetime.now(UTC) - self.started_at).total_seconds()

    @property
    def ready(self) -> bool:
        """Where nothing checks a service, that it runs says little before it has run for a while."""
        well = self.health == "healthy" or (self.health == "" and self.ran_s >= _STAYS_S)
        return self.running and not self.paused and well

    def __str__(self) -> str:
        if not self.running:
            return f"{self.service} ended with {self.exit_code}"
        if self.paused:
            return f"{self.service} paused"
        return f"{self.service} {self.health or f'running for {self.ran_s:.0f} s'}"


def look(ids: tuple[str, ...]) -> list[Box]:
    """Those of them that are there still, in their order."""
    try:
        return [_box(found) for found in engine.inspect(ids)]
    except EngineError:  # one is not there: each for itself
        return [_box(found) for one in ids for found in _inspected(one)]


def _inspected(one: str) -> list[dict[str, Any]]:
    try:
        return engine.inspect([one])
    except EngineError as error:
        if "no such" not in error.message.lower():
            raise
        return []


def _box(found: dict[str, Any]) -> Box:
    state = found["State"]
    networks = (found.get("NetworkSettings") or {}).get("Networks") or {}
    return Box(
        id=found["Id"],
        service=found["Config"]["Labels"].get(engine.SERVICE_LABEL, found["Name"]),
        running=state["Running"],
        paused=state["Paused"],
        exit_code=state["ExitCode"],
        started_at=engine.started_at(found),
        health=(state.get("Health") or {}).get("Status", ""),
        addresses=tuple(n["IPAddress"] for n in networks.values() if n.get("IPAddress")),
    )


def of(lab: Ground, services: tuple[str, ...]) -> list[Box]:
    """Of services that must be at work: what is down already cannot be broken."""
    there = {box.service: box.id for box in lab.containers()}
    if missing := [service for service in services if service not in there]:
        raise BadInput(
            f'service "{missing[0]}" has no container in lab "{lab.name}"', '"lab up" starts it again'
        )
    boxes = look(tuple(there[service] for service in services))
    if idle := [box for box in boxes if not box.running or box.paused]:
        raise BadInput(f'service "{idle[0].service}" is not at work: {idle[0]}', 'see "lab status"')
    return boxes


def of_victim(lab: Ground, victim: Victim) -> list[Box]:
    return of(lab, victim.services(lab))


def names(boxes: list[Box]) -> str:
    return ", ".join(box.service for box in boxes)


def start_again(boxes: list[Box]) -> "StartAgain":
    """In the order of their addresses, so that each gets its own back: the lowest that is free is given out.

    Where brokers swap theirs, a client that knows the old ones asks one for what another leads, for minutes.
    """
    placed = sorted(boxes, key=lambda box: [ip_address(address) for address in box.addresses])
    return StartAgain(containers=tuple(box.id for box in placed))


@dataclass(frozen=True, kw_only=True)
class StartAgain(Inverse):
    """Start containers that have ended, and wake up those that are paused."""

    containers: tuple[str, ...]

    def undo(self) -> None:
        boxes = look(self.containers)
        if paused := [box.id for box in boxes if box.paused]:
            engine.docker("unpause", *paused)
        if ended := [box.id for box in boxes if not box.running]:
            engine.docker("start", *ended)

    def clear(self) -> None:
        """A service that is started before those it needs ends again; where they run, its order counts."""
        boxes = engine.containers()
        projects = {box.project for box in boxes if box.id in self.containers}
        others = [b for b in boxes if b.project in projects and b.id not in self.containers]
        if all(box.state in ("running", "paused") for box in others):
            self.undo()
        elif paused := [box.id for box in look(self.containers) if box.paused]:
            engine.docker("unpause", *paused)

    def prove(self) -> str:
        def observe() -> str | NotYet:
            boxes = look(self.containers)
            if ended := [box for box in boxes if not box.running]:  # nothing starts it once more
                raise LabError(f"{', '.join(map(str, ended))} once it was started again", _TELLS)
            told = ", ".join(map(str, boxes)) or "the containers are gone"
            return told if all(box.ready for box in boxes) else NotYet(told)

        return wait_until(
            observe,
            timeout_s=SERVICES_HEALTHY_S,
            what="the services that were hit are healthy again",
            hint=_TELLS,
            pause_s=0.2,
        )
