"""Partition: packets between two sides vanish. Connections hang until somebody's patience ends."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

from lab import images
from lab.engine import EngineError
from lab.errors import BadInput
from lab.faults import containers
from lab.faults.containers import Box
from lab.faults.fault import FaultNotObserved, FaultNotPossible, Ground, Mark
from lab.faults.inverse import Inverse
from lab.faults.sidecar import IMAGE, NETWORK, Sidecar
from lab.faults.victims import Victim
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

Door = tuple[str, str]  # an address in the lab's network, and a port at which something listens


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Drop all packets between two sides; with `one_way` only what `side` sends to `other`."""

    name: ClassVar[str] = "partition"
    images: ClassVar[tuple[str, ...]] = (IMAGE,)
    lasts: ClassVar[bool] = True

    side: Victim
    other: Victim
    one_way: bool = False

    def check(self, lab: Ground, mark: Mark) -> "Partitioning":
        side, other = (containers.of_victim(lab, victim) for victim in (self.side, self.other))
        both = {box.service for box in side} & {box.service for box in other}
        if both:
            raise BadInput(f'service "{min(both)}" is on both sides', "a partition has two sides")
        doors = {box.service: _door(lab, box) for box in other}
        if closed := [service for service, door in doors.items() if door is None]:
            raise BadInput(f'service "{closed[0]}" has no port to try', "put it on the other side")
        image = images.tool(IMAGE).tag
        _require_possible(lab, mark, image)
        inverse = Rejoin(
            project=lab.project.name,
            fault=mark.id,
            image=image,
            containers=tuple(box.id for box in side),
            doors=tuple(door for door in doors.values() if door is not None),
        )
        return Partitioning(side, other, self.one_way, mark, inverse, _controls(lab, side + other))


@dataclass(frozen=True, kw_only=True)
class Rejoin(Inverse):
    """Remove the rules of one fault, through its sidecars or, where those are gone, without them."""

    project: str
    fault: str
    image: str
    containers: tuple[str, ...]  # of the side that has the rules
    doors: tuple[Door, ...]  # of the other

    def sidecars(self) -> list[Sidecar]:
        return [
            Sidecar(
                name=f"{self.project}-fault-{self.fault}-{number}",
                project=self.project,
                fault=self.fault,
                image=self.image,
                rights=("--network", f"container:{container}", *NETWORK),
            )
            for number, container in enumerate(self.containers)
        ]

    def undo(self) -> None:
        for container, sidecar in zip(self.containers, self.sidecars(), strict=True):
            sidecar.end()
            if _runs(container):  # the rules of one that ended have ended with it
                sidecar.once("heal", self.fault)

    def prove(self) -> str:
        there = zip(self.containers, self.sidecars(), strict=True)
        told = [_reached(self.doors, sidecar) for container, sidecar in there if _runs(container)]
        return "; ".join(told) or "the containers that had rules have ended"


@dataclass(frozen=True)
class Partitioning:
    side: list[Box]
    other: list[Box]
    one_way: bool
    mark: Mark
    inverse: Rejoin
    controls: tuple[tuple[str, Door], ...]  # services on neither side

    @property
    def what(self) -> str:
        way = "→" if self.one_way else "↔"
        return f"partition {containers.names(self.side)} {way} {containers.names(self.other)}"

    def inject(self) -> None:
        addresses = [address for box in self.other for address in box.addresses]
        ways = ("-d",) if self.one_way else ("-d", "-s")
        rules = [f"{way} {address}" for address in addresses for way in ways]
        for sidecar in self.inverse.sidecars():
            sidecar.start(["drop", self.mark.id, f"{self.mark.limit_s:.0f}", *rules], says="dropping")

    def prove(self) -> str:
        self._require_unmoved()
        with ThreadPoolExecutor(len(self.side)) as pool:
            told = list(pool.map(self._prove_one, self.side, self.inverse.sidecars()))
        return "; ".join(told)

    def _require_unmoved(self) -> None:
        """Rules are of one network namespace and of addresses: what was restarted has others."""
        before = [*self.side, *self.other]
        now = {box.id: box for box in containers.look(tuple(box.id for box in before))}
        for box in before:
            if (seen := now.get(box.id)) is None or (seen.started_at, seen.addresses) != (
                box.started_at,
                box.addresses,
            ):
                raise FaultNotObserved(
                    f'service "{box.service}" was started again, outside of the partition',
                    "partition what stays up",
                )

    def _prove_one(self, box: Box, sidecar: Sidecar) -> str:
        for address, port in self.inverse.doors:
            if sidecar.agrees("netfault", "reach", address, port):
                raise FaultNotObserved(f'service "{box.service}" still reaches {address}:{port}')
        reached = (service for service, door in self.controls if sidecar.agrees("netfault", "reach", *door))
        if (control := next(reached, None)) is None:
            raise FaultNotObserved(
                f'service "{box.service}" reaches nobody on neither side', "what else is broken?"
            )
        dropped = _asked(sidecar, "netfault", "dropped", self.mark.id)
        if not int(dropped):
            raise FaultNotObserved(f'no packet of service "{box.service}" was dropped')
        return f"{box.service}: {dropped} packets dropped, {control} reached"


def _asked(sidecar: Sidecar, *argv: str) -> str:
    try:
        return sidecar.ask(*argv).strip()
    except EngineError as error:
        raise FaultNotObserved(f'sidecar "{sidecar.name}" is gone: {error.message}') from error


def _door(lab: Ground, box: Box) -> Door | None:
    ports = lab.topology.services[box.service].ports
    return (box.addresses[0], str(ports[0].container)) if ports and box.addresses else None


def _controls(lab: Ground, hit: list[Box]) -> tuple[tuple[str, Door], ...]:
    """Of these one must stay within reach, or the network as a whole could be what is broken."""
    services = {box.service for box in hit}
    others = tuple(
        c.id for c in lab.containers() if c.service not in services and c.service in lab.topology.services
    )
    healthy = [box for box in containers.look(others) if box.ready and box.health]
    found = tuple((box.service, door) for box in healthy if (door := _door(lab, box)) is not None)
    if not found:
        raise BadInput(
            "no healthy service is on neither side", "leave one out, which shows that the network is there"
        )
    return found


def _require_possible(lab: Ground, mark: Mark, image: str) -> None:
    """In a network of its own, which ends with it."""
    trial = Sidecar(
        name="", project=lab.project.name, fault=mark.id, image=image, rights=("--network", "none", *NETWORK)
    )
    try:
        trial.once("try")
    except EngineError as error:
        raise FaultNotPossible(
            f"this machine's kernel cannot drop packets of one container: {error.message}", 'see "lab doctor"'
        ) from error


def _runs(container: str) -> bool:
    return any(box.running for box in containers.look((container,)))


def _reached(doors: tuple[Door, ...], sidecar: Sidecar) -> str:
    """From where the rules were to what they forbade."""

    def observe() -> str | NotYet:
        for address, port in doors:
            try:
                sidecar.once("reach", address, port)
            except EngineError:
                return NotYet(f"no connection to {address}:{port}")
        return ", ".join(f"{address}:{port} reached" for address, port in doors)

    return wait_until(observe, timeout_s=FAULT_SHOWS_S, what="the other side is reached again")
