"""Containers of the lab's own beside a service's: in its network or at its disk, with few rights, for a time.

A sidecar reverts what it did when it is told to end and when its time is up, so it needs nobody who lives on.
It carries the labels of the lab, and goes with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lab import engine
from lab.engine import EngineError
from lab.faults.fault import FaultNotObserved
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until

IMAGE: Final = "netfault"
FAULT_LABEL: Final = "io.mirror-lab.fault"
_ENDS_S: Final = 5
# Rules in the network namespace of a container, and nothing of the host: not its network, files or engine.
NETWORK: Final = ("--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--cap-add", "NET_RAW")
DISK: Final = ("--cap-drop", "ALL", "--network", "none")


@dataclass(frozen=True, kw_only=True)
class Sidecar:
    """Where it stands, and as what; it may not be there."""

    name: str
    project: str
    fault: str
    image: str
    rights: tuple[str, ...]

    def start(self, argv: Sequence[str], *, says: str) -> None:
        """Until it says that it has done what it was started for."""
        engine.docker("run", "--detach", "--name", self.name, *self._options, *argv)

        def observe() -> bool | NotYet:
            try:
                told = engine.logs(self.name).strip()
            except EngineError as error:
                raise FaultNotObserved(f'sidecar "{self.name}" is gone: {error.message}') from error
            if says in told:
                return True
            if not self.running:
                raise FaultNotObserved(f'sidecar "{self.name}" ended: {told or "it said nothing"}')
            return NotYet(told or "nothing said")

        wait_until(observe, timeout_s=FAULT_SHOWS_S, what=f'sidecar "{self.name}" says "{says}"')

    def ask(self, *argv: str) -> str:
        return engine.docker("exec", self.name, *argv)

    def agrees(self, *argv: str) -> bool:
        """Whether a command in it ends with 0."""
        try:
            self.ask(*argv)
        except EngineError:
            return False
        return True

    @property
    def running(self) -> bool:
        try:
            (found,) = engine.inspect([self.name])
        except EngineError:
            return False
        return bool(found["State"]["Running"])

    def end(self) -> None:
        """Told to end, it reverts; killed by somebody it could not, and `once` must do that for it."""
        try:
            engine.docker("stop", "--time", str(_ENDS_S), self.name)
            engine.docker("rm", "--force", self.name)
        except EngineError as error:
            if "no such" not in error.message.lower():
                raise

    def once(self, *argv: str) -> str:
        """The same command in a container that ends with it."""
        return engine.docker("run", "--rm", *self._options, *argv)

    @property
    def _options(self) -> list[str]:
        labels = {engine.LABEL: "true", engine.PROJECT_LABEL: self.project, FAULT_LABEL: self.fault}
        pairs = [part for label, value in labels.items() for part in ("--label", f"{label}={value}")]
        limits = ("--security-opt", "no-new-privileges", "--pids-limit", "32")
        return [*pairs, *limits, *self.rights, self.image]
