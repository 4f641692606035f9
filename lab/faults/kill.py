"""Kill: a process ends at once, as by kill -9 or a power cut."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab import engine
from lab.faults import containers
from lab.faults.containers import Box, StartAgain
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.victims import Victim

KILLED: Final = 137


@dataclass(frozen=True, kw_only=True)
class Kill:
    """End services with SIGKILL; undone by starting them again."""

    name: ClassVar[str] = "kill"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    victim: Victim

    def check(self, lab: Ground, mark: Mark) -> "Killing":
        return Killing(containers.of_victim(lab, self.victim))


@dataclass(frozen=True)
class Killing:
    boxes: list[Box]

    @property
    def what(self) -> str:
        return f"kill {containers.names(self.boxes)}"

    @property
    def inverse(self) -> StartAgain:
        return containers.start_again(self.boxes)

    def inject(self) -> None:
        engine.docker("kill", "--signal", "KILL", *(box.id for box in self.boxes))

    def prove(self) -> str:
        return require_ended(self.boxes, exit_codes=(KILLED,))


def require_ended(before: list[Box], *, exit_codes: tuple[int, ...]) -> str:
    """All of them have ended, in that way, and were not started again since."""
    now = {box.id: box for box in containers.look(tuple(box.id for box in before))}
    for box in before:
        seen = now.get(box.id)
        if seen is None:
            raise FaultNotObserved(f'the container of service "{box.service}" is gone', "who removed it?")
        if seen.running or seen.started_at != box.started_at:
            raise FaultNotObserved(f'service "{box.service}" runs: {seen}', "who started it again?")
        if seen.exit_code not in exit_codes:
            raise FaultNotObserved(
                f'service "{box.service}" ended by itself, with {seen.exit_code}',
                f'"lab logs {box.service}" tells why',
            )
    return ", ".join(str(now[box.id]) for box in before)
