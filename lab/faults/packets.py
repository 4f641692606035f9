"""Packets dropped between containers: at which doors that shows, and what lets them through again."""

from collections.abc import Iterable
from dataclasses import dataclass

from lab.engine import EngineError
from lab.errors import LabError
from lab.faults import containers
from lab.faults.containers import Box
from lab.faults.fault import FaultNotObserved, FaultNotPossible, Ground, Mark
from lab.faults.inverse import Inverse
from lab.faults.sidecar import NETWORK, Sidecar
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

Door = tuple[str, str]  # an address in the lab's network, and a port at which something listens


def door_of(lab: Ground, box: Box) -> Door | None:
    ports = lab.topology.services[box.service].ports
    return (box.addresses[0], str(ports[0].container)) if ports and box.addresses else None


@dataclass(frozen=True, kw_only=True)
class Rejoin(Inverse):
    """Remove the rules of one fault, through its sidecars or, where those are gone, without them."""

    project: str
    fault: str
    image: str
    containers: tuple[str, ...]  # of the side that has the rules
    others: tuple[str, ...]  # of the other side
    doors: tuple[Door, ...]  # of each of those

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
        told = [self._let_through(sidecar) for container, sidecar in there if _runs(container)]
        return "; ".join(told) or "the containers that had rules have ended"

    def _let_through(self, sidecar: Sidecar) -> str:
        """No rule is left; and from where they were whoever is still at its place is reached."""
        if left := sidecar.once("rules", self.fault).strip():
            raise LabError(f"packets are still dropped: {left}", '"lab fault heal" again')
        places = dict(zip(self.others, self.doors, strict=True))
        now = containers.look(tuple(places))
        doors = [places[box.id] for box in now if box.running and places[box.id][0] in box.addresses]
        return f"no rule is left, {reached(doors, sidecar) or 'the other side has gone'}"


def reached(doors: Iterable[Door], sidecar: Sidecar) -> str:
    def observe() -> str | NotYet:
        for address, port in doors:
            try:
                sidecar.once("reach", address, port)
            except EngineError:
                return NotYet(f"no connection to {address}:{port}")
        return ", ".join(f"{address}:{port} reached" for address, port in doors)

    return wait_until(observe, timeout_s=FAULT_SHOWS_S, what="the other side is reached again")


def require_possible(lab: Ground, mark: Mark, image: str) -> None:
    """Tried in a network of its own, which ends with it."""
    rights = ("--network", "none", *NETWORK)
    trial = Sidecar(name="", project=lab.project.name, fault=mark.id, image=image, rights=rights)
    if (told := trial.once("try").strip()) != "possible":
        raise FaultNotPossible(
            f"this machine's kernel cannot drop packets of one container: {told}", 'see "lab doctor"'
        )


def asked(sidecar: Sidecar, *argv: str) -> str:
    try:
        return sidecar.ask(*argv).strip()
    except EngineError as error:
        raise FaultNotObserved(f'sidecar "{sidecar.name}" is gone: {error.message}') from error


def _runs(container: str) -> bool:
    return any(box.running for box in containers.look((container,)))
