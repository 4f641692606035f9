"""Partition: packets between two sides vanish. Connections hang until somebody's patience ends."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

from lab import images
from lab.errors import BadInput
from lab.faults import containers, packets
from lab.faults.containers import Box
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.packets import Door, Rejoin, door_of
from lab.faults.sidecar import IMAGE, Sidecar
from lab.faults.victims import Victim


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
        doors = {box.service: door_of(lab, box) for box in other}
        if closed := [service for service, door in doors.items() if door is None]:
            raise BadInput(f'service "{closed[0]}" has no port to try', "put it on the other side")
        image = images.tool(IMAGE).tag
        packets.require_possible(lab, mark, image)
        inverse = Rejoin(
            project=lab.project.name,
            fault=mark.id,
            image=image,
            containers=tuple(box.id for box in side),
            others=tuple(box.id for box in other),
            doors=tuple(door for door in doors.values() if door is not None),
        )
        return Partitioning(side, other, self.one_way, mark, inverse, _controls(lab, side + other))


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
        dropped = packets.asked(sidecar, "netfault", "dropped", self.mark.id)
        if not int(dropped):
            raise FaultNotObserved(f'no packet of service "{box.service}" was dropped')
        return f"{box.service}: {dropped} packets dropped, {control} reached"


def _controls(lab: Ground, hit: list[Box]) -> tuple[tuple[str, Door], ...]:
    """Of these one must stay within reach, or the network as a whole could be what is broken."""
    services = {box.service for box in hit}
    others = tuple(
        c.id for c in lab.containers() if c.service not in services and c.service in lab.topology.services
    )
    healthy = [box for box in containers.look(others) if box.ready and box.health]
    found = tuple((box.service, door) for box in healthy if (door := door_of(lab, box)) is not None)
    if not found:
        raise BadInput(
            "no healthy service is on neither side", "leave one out, which shows that the network is there"
        )
    return found
