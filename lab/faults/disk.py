"""A disk that a fault may fill: bounded, and the lab's own; and how it is freed."""

import re
from dataclasses import dataclass
from typing import Any, Final

from lab import engine
from lab.engine import EngineError
from lab.errors import BadInput
from lab.faults.containers import Box, StartAgain
from lab.faults.inverse import Inverse
from lab.faults.sidecar import DISK, Sidecar

FILLER: Final = "/disk/.lab-filler"
_SIZE: Final = re.compile(r"(?:^|,)size=(\d+)m(?:,|$)")
_LARGEST_MIB: Final = 2048


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
        self.clear()
        self._again.undo()

    def clear(self) -> None:
        if _is_there(self.volume):
            self.sidecar.end()
            self.sidecar.once("free", FILLER)

    def prove(self) -> str:
        return self._again.prove()

    @property
    def _again(self) -> StartAgain:
        return StartAgain(containers=(self.container,))


def bounded_disk(box: Box) -> tuple[str, int]:
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
    except EngineError as error:
        if "no such" not in error.message.lower():
            raise
        return False
    return True
