"""What the doctor looks for and what it says about it."""

from dataclasses import dataclass
from enum import StrEnum

GIB = 1024**3


class Status(StrEnum):
    """OK: nothing to do. NOTE: good to know, blocks nothing. MISSING: no lab starts like this."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at, and the command that mends it where something is wrong."""

    name: str
    status: Status
    found: str
    needed: str
    remedy: str | None = None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the lab that is to be started asks of the host.

    The defaults fit the smallest topology with its images still to be built.
    """

    memory_bytes: int = 4 * GIB
    disk_bytes: int = 10 * GIB
    ports: tuple[int, ...] = ()
    ports_fixed: bool = False  # the user named them, so the lab cannot lease others instead
    base_image: str = "debian:trixie-slim"


DEFAULTS = Wanted()
