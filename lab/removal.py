"""Whatever carries the lab's label goes: containers, networks, volumes, of one lab or of all."""

from dataclasses import dataclass
from typing import Final

from lab.engine import EngineError, docker, filters
from lab.words import counted

_ROUNDS: Final = 5  # of looking for what is to be removed
_TAKEN: Final = "has active endpoints"
# Engines lose count when many containers of a network end at once, and count anew when they start.
_MISCOUNTED: Final = 'where "docker network inspect" shows no container in it, restart the Docker engine'


@dataclass(frozen=True, kw_only=True)
class Removed:
    """What was found and removed, by kind."""

    containers: int = 0
    networks: int = 0
    volumes: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(
            containers=self.containers + other.containers,
            networks=self.networks + other.networks,
            volumes=self.volumes + other.volumes,
        )

    def __bool__(self) -> bool:
        return bool(self.containers or self.networks or self.volumes)

    def __str__(self) -> str:
        kinds = {"container": self.containers, "network": self.networks, "volume": self.volumes}
        return ", ".join(counted(number, kind) for kind, number in kinds.items() if number) or "nothing"


def remove(project: str | None = None) -> Removed:
    """Remove what carries the lab's label, of one project or of all: containers, networks, volumes.

    By label and not by Compose file: the file may have been edited since, and a half-made lab may
    hold containers that never started. Until nothing is found: where `lab up` was killed, its Compose
    lives on for a moment, and the engine makes what it was asked for.
    """
    removed = Removed()
    for left in reversed(range(_ROUNDS)):
        try:
            found = _remove_what_is_there(project)
        except EngineError:
            if left:
                continue
            raise
        if not found:
            return removed
        removed += found
    raise EngineError(f"in {_ROUNDS} rounds {removed} were removed, and more came", "what makes them goes on")


def holds_anything(project: str) -> bool:
    """Whether a lab has containers, or volumes, in which its records outlive them."""
    kinds = (("ps", "--all"), ("volume", "ls"))
    return any(docker(*kind, "--quiet", *filters(project)).strip() for kind in kinds)


def _remove_what_is_there(project: str | None) -> Removed:
    labelled = filters(project)
    boxes = docker("ps", "--all", "--quiet", *labelled).split()
    if boxes:
        _unless_gone("rm", "--force", "--volumes", *boxes)
    networks = docker("network", "ls", "--quiet", *labelled).split()
    if networks:
        _unless_gone("network", "rm", *networks)
    volumes = docker("volume", "ls", "--quiet", *labelled).split()
    if volumes:
        _unless_gone("volume", "rm", "--force", *volumes)
    return Removed(containers=len(boxes), networks=len(networks), volumes=len(volumes))


def _unless_gone(*args: str) -> None:
    """Two clean-ups may meet; what the other one removed first is not an error."""
    try:
        docker(*args)
    except EngineError as error:
        if _TAKEN in error.message:
            raise EngineError(error.message, _MISCOUNTED) from error
        if not any(text in error.message.lower() for text in ("no such", "not found", "already in progress")):
            raise
