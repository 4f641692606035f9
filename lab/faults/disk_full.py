"""A full disk: a broker can write no more, and gives up. Only a disk that is bounded, and the lab's own."""

from dataclasses import dataclass
from typing import ClassVar, Final

from lab import engine, images
from lab.engine import EngineError
from lab.errors import BadInput
from lab.faults import containers
from lab.faults.containers import Box
from lab.faults.disk import FILLER, Free, bounded_disk
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.sidecar import IMAGE
from lab.faults.victims import Victim
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

_COMPLAINT: Final = "No space left on device"


@dataclass(frozen=True, kw_only=True)
class DiskFull:
    """Fill the bounded disk of a broker to its last byte; undone by freeing it and starting the broker."""

    name: ClassVar[str] = "disk-full"
    images: ClassVar[tuple[str, ...]] = (IMAGE,)
    lasts: ClassVar[bool] = True

    victim: Victim

    def check(self, lab: Ground, mark: Mark) -> "Filling":
        boxes = containers.of_victim(lab, self.victim)
        if len(boxes) != 1:
            raise BadInput(
                f"{len(boxes)} services are hit: {containers.names(boxes)}", "fill one disk at a time"
            )
        box = boxes[0]
        volume, size_mib = bounded_disk(box)
        inverse = Free(
            project=lab.project.name,
            fault=mark.id,
            image=images.tool(IMAGE).tag,
            volume=volume,
            size_mib=size_mib,
            container=box.id,
        )
        return Filling(box, inverse, mark, _complaints(box))


@dataclass(frozen=True)
class Filling:
    box: Box
    inverse: Free
    mark: Mark
    before: int  # complaints of earlier times, when the disk was full, too

    @property
    def what(self) -> str:
        return f"disk full of {self.box.service}"

    def inject(self) -> None:
        self.inverse.sidecar.start(["fill", FILLER, f"{self.mark.limit_s:.0f}"], says="full")

    def prove(self) -> str:
        def observe() -> str | NotYet:
            free = self._free_bytes()
            if free:
                return NotYet(f"{free} bytes are free")
            complaints = _complaints(self.box) - self.before
            now = ", ".join(map(str, containers.look((self.box.id,))))
            told = f"0 bytes free; {now}, which complained {complaints} times"
            return told if complaints > 0 else NotYet(told)

        return wait_until(
            observe, timeout_s=FAULT_SHOWS_S, what=f"{self.box.service} finds its disk full", pause_s=0.5
        )

    def _free_bytes(self) -> int:
        try:
            return int(
                self.inverse.sidecar.ask("df", "--block-size=1", "--output=avail", "/disk").split()[-1]
            )
        except EngineError as error:
            raise FaultNotObserved(f"what fills the disk is gone: {error.message}") from error


def _complaints(box: Box) -> int:
    return engine.logs(box.id).count(_COMPLAINT)
