"""Memory and disk: how much is available where the engine runs, against how much the lab wants."""

import shutil
from pathlib import Path
from typing import Any, Final

from lab.setup.finding import GIB, Finding, Status, Wanted
from lab.setup.host import Host

DEFAULT_DATA_FOLDER: Final = "/var/lib/docker"
_SHARE_IN_USE: Final = 0.4


def _gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB"


def _available_here(host: Host) -> int | None:
    path = host.root / "proc/meminfo"
    if not path.is_file():
        return None
    for line in path.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def check_memory(host: Host, info: dict[str, Any], wanted: Wanted) -> Finding:
    """What this host has to spare, and never more than the engine's own machine has."""
    total = int(info.get("MemTotal", 0)) or None
    engine_is_here = host.is_linux and host.endpoint().is_local
    available = _available_here(host) if engine_is_here else None
    needed = f"{_gib(wanted.memory_bytes)} available"
    known = [count for count in (available, total) if count is not None]
    if not known:
        return Finding(name="memory", status=Status.NOTE, found="not to be seen from here", needed=needed)
    least = min(known)
    found = f"{_gib(least)} available" if available is not None else f"{_gib(least)} in the engine's machine"
    if least >= wanted.memory_bytes:
        return Finding(name="memory", status=Status.OK, found=found, needed=needed)
    # What is wanted are the limits of all services, which they reach under load only.
    status = Status.NOTE if least >= wanted.memory_bytes * _SHARE_IN_USE else Status.MISSING
    remedy = "lab down" if engine_is_here else "give the engine's machine more memory in its settings"
    return Finding(name="memory", status=status, found=found, needed=needed, remedy=remedy)


def _nearest_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def check_disk(host: Host, info: dict[str, Any], wanted: Wanted) -> Finding:
    """What is free where the engine stores images and volumes, as far as this host can see that place."""
    needed = f"{_gib(wanted.disk_bytes)} free"
    folder = str(info.get("DockerRootDir") or DEFAULT_DATA_FOLDER)
    place = host.root / folder.lstrip("/")
    if not (host.is_linux and host.endpoint().is_local) or (info and not place.exists()):
        found = f'not to be seen from here ("{folder}" in the engine\'s machine)'
        return Finding(name="disk", status=Status.NOTE, found=found, needed=needed)
    free = shutil.disk_usage(_nearest_existing(place)).free
    found = f'{_gib(free)} free for "{folder}"'
    if free >= wanted.disk_bytes:
        return Finding(name="disk", status=Status.OK, found=found, needed=needed)
    remedy = "docker builder prune"
    return Finding(name="disk", status=Status.MISSING, found=found, needed=needed, remedy=remedy)
