"""Restart: a process ends and comes back at once, as in a rolling upgrade or after a crash."""

from dataclasses import dataclass
from typing import ClassVar

from lab import engine
from lab.faults import containers
from lab.faults.containers import Box, StartAgain
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.victims import Victim


@dataclass(frozen=True, kw_only=True)
class Restart:
    """End services, with SIGKILL if `hard`, and start them again at once; over when they are healthy."""

    name: ClassVar[str] = "restart"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = False

    victim: Victim
    hard: bool = False

    def check(self, lab: Ground, mark: Mark) -> "Restarting":
        return Restarting(containers.of_victim(lab, self.victim), self.hard)


@dataclass(frozen=True)
class Restarting:
    boxes: list[Box]
    hard: bool

    @property
    def what(self) -> str:
        return f"restart {containers.names(self.boxes)}{' hard' if self.hard else ''}"

    @property
    def inverse(self) -> StartAgain:
        return containers.start_again(self.boxes)

    def inject(self) -> None:
        ids = [box.id for box in self.boxes]
        if self.hard:
            engine.docker("kill", "--signal", "KILL", *ids)
        else:
            engine.docker("stop", *ids)
        self.inverse.undo()

    def prove(self) -> str:
        now = {box.id: box for box in containers.look(tuple(box.id for box in self.boxes))}
        for box in self.boxes:
            seen = now.get(box.id)
            if seen is None or seen.started_at == box.started_at:
                raise FaultNotObserved(f'service "{box.service}" was not restarted', "who else is at work?")
            if not seen.running:
                raise FaultNotObserved(f'service "{box.service}" was started again, and ended: {seen}')
        return ", ".join(
            f"{box.service} started at {now[box.id].started_at.isoformat()}" for box in self.boxes
        )
