"""A full disk: a broker can write no more, and gives up. Only a disk that is bounded, and the lab's own."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lab import engine, images
from lab.engine import EngineError
from lab.errors import BadInput
from lab.faults import containers
from lab.faults.containers import Box, StartAgain
from lab.faults.fault import FaultNotObserved, Ground, Mark
from lab.faults.inverse import Inverse
from lab.faults.sidecar import DISK, IMAGE, Sidecar
from lab.faults.victims import Victim
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

_FILE: Final = ".lab-filler"
_SIZE: Final = re.compile(r"(?:^|,)size=(\d+)m(?:,|$)")
_LARGEST_MIB: Final = 2048
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
        volume, size_mib = _bounded_disk(box)
        inverse = Free(
            project=lab.project.name,
            fault=mark.id,
            image=images.tool(IMAGE).tag,
            volume=volume,
            size_mib=size_mib,
            container=box.id,
        )
        return Filling(box, inverse, mark, _complaints(box))


@dataclass(frozen=True, kw_only=True)
class Free(Inverse):
    """Remove the one file that fills a disk, and start the broker that gave up."""

    project: str
    fault: str
    image: str
    volume: str
    size_mib: int
    container: str

    @property
    def sidecar(self) -> Sidecar:
        # What is written to a disk in memory counts as the memory of whoever writes it.
        memory = ("--memory", f"{self.size_mib + 32}m")
        return Sidecar(
            name=f"{self.project}-fault-{self.fault}",
            project=self.project,
            fault=self.fault,
            image=self.image,
            rights=(*DISK, *memory, "--volume", f"{self.volume}:/disk"),
        )

    def undo(self) -> None:
        if not _is_there(self.volume):
            return
        self.sidecar.end()
        self.sidecar.once("free", f"/disk/{_FILE}")
        self._again.undo()

    def prove(self) -> str:
        return self._again.prove()

    @property
    def _again(self) -> StartAgain:
        return StartAgain(containers=(self.container,))


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
        self.inverse.sidecar.start(["fill", f"/disk/{_FILE}", f"{self.mark.limit_s:.0f}"], says="full")

    def prove(self) -> str:
        def observe() -> str | NotYet:
            free = self._free_bytes()
            if free:
                return NotYet(f"{free} bytes are free")
            complaints = _complaints(self.box) - self.before
            now = ", ".join(map(str, containers.look((self.box.id,))))
            told = f"0 bytes free; {now}, which complained {complaints} times"
            return told if complaints else NotYet(told)

        return wait_until(
            observe, timeout_s=FAULT_SHOWS_S, what=f"{self.box.service} finds its disk full", pause_s=0.5
        )

    def _free_bytes(self) -> int:
        try:
            return int(self.inverse.sidecar.ask("df", "--output=avail", "/disk").split()[-1])
        except EngineError as error:
            raise FaultNotObserved(f"what fills the disk is gone: {error.message}") from error


def _complaints(box: Box) -> int:
    return engine.logs(box.id).count(_COMPLAINT)


def _bounded_disk(box: Box) -> tuple[str, int]:
    """A service's volume in memory, of a size that is known: never a disk of the host's."""
    (found,) = engine.inspect([box.id])
    for mount in found["Mounts"]:
        if mount.get("Type") == "volume" and mount.get("RW"):
            (volume,) = engine.inspect([mount["Name"]])
            if size := _size_mib(volume):
                return mount["Name"], size
    raise BadInput(
        f'service "{box.service}" has no disk of a bounded size',
        'in topology "resilience" kafka-target-3 has one',
    )


def _size_mib(volume: dict[str, Any]) -> int | None:
    options = volume.get("Options") or {}
    size = _SIZE.search(options.get("o", ""))
    if options.get("type") != "tmpfs" or size is None or int(size[1]) > _LARGEST_MIB:
        return None
    return int(size[1])


def _is_there(volume: str) -> bool:
    try:
        engine.inspect([volume])
    except EngineError:
        return False
    return True
