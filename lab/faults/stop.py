"""Stop: a process is asked to end, as by an operator."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab import engine
from lab.faults import containers
from lab.faults.containers import Box, StartAgain
from lab.faults.fault import Ground, Mark
from lab.faults.kill import KILLED, require_ended
from lab.faults.victims import Victim

_ENDS: Final = (0, 143)  # by itself, or by SIGTERM
_ENDS_S: Final = 60  # of one, which has others to hand its work to; also on a slow machine


@dataclass(frozen=True, kw_only=True)
class Stop:
    """End services with SIGTERM, and time to end by themselves; undone by starting them again.

    Of several some may be killed when the engine's own time for it is over: the last nodes of a KRaft cluster
    find no controller any more to say goodbye to.
    """

    name: ClassVar[str] = "stop"
    images: ClassVar[tuple[str, ...]] = ()
    lasts: ClassVar[bool] = True

    victim: Victim

    def check(self, lab: Ground, mark: Mark) -> "Stopping":
        return Stopping(containers.of_victim(lab, self.victim))


@dataclass(frozen=True)
class Stopping:
    boxes: list[Box]

    @property
    def what(self) -> str:
        return f"stop {containers.names(self.boxes)}"

    @property
    def inverse(self) -> StartAgain:
        return containers.start_again(self.boxes)

    def inject(self) -> None:
        patience = ("--time", str(_ENDS_S)) if len(self.boxes) == 1 else ()
        engine.docker("stop", *patience, *(box.id for box in self.boxes))

    def prove(self) -> str:
        return require_ended(self.boxes, exit_codes=_ENDS if len(self.boxes) == 1 else (*_ENDS, KILLED))
