"""Which lab has which host ports: leased before anything starts, since Kafka advertises them.

A lab's lease is `<state>/labs/<name>/lab.env`, the very file that Compose reads for it. A lock file
per lab keeps two processes from changing one lab at once; a lock over all keeps leases apart.
"""

import fcntl
import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.errors import BadInput, LabError, nearest
from lab.project import read_env_file, state_folder
from lab.topology import Port, Topology

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_FIRST_FREE: Final = 20_000  # below every common ephemeral range, above what services usually take
_LAST_FREE: Final = 29_999


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadInput(
            f'"{name}" cannot be a lab\'s name',
            "up to 40 of a-z, 0-9 and -, starting with a letter or digit",
        )
    return name


def env_file(name: str) -> Path:
    return state_folder() / "labs" / name / "lab.env"


def faults_folder(name: str) -> Path:
    """The journal of a lab's faults; there is none as long as there was no fault."""
    return env_file(name).parent / "faults"


def seen_file(name: str, between: tuple[str, str], topic: str) -> Path:
    """What the verdicts on a topic of a lab saw besides its records."""
    return env_file(name).parent / "seen" / "-".join(between) / f"{topic}.json"


def leased(name: str) -> dict[str, str] | None:
    """A lab's lease, or None when there is no such lab."""
    try:
        found = read_env_file(env_file(name))
    except FileNotFoundError:  # which it may become at any time, by another process
        return None
    return found if "LAB_TOPOLOGY" in found else None  # of a file that is cut short


def names() -> list[str]:
    return sorted(path.parent.name for path in (state_folder() / "labs").glob("*/lab.env"))


@contextmanager
def exclusive(name: str, doing: str = "changing") -> Iterator[None]:
    """Only one process at a time may do something to a lab; of different doings none waits for another."""
    path = state_folder() / "locks" / f"{name}.{doing}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise LabError(
                f'another process ({lock.read().strip() or "just started"}) is {doing} lab "{name}"',
                "wait for it to end, or give this lab another name with --name",
            ) from error
        lock.truncate(0)
        lock.write(f"pid {os.getpid()}")
        lock.flush()
        yield


def asked_ports(asked: list[str], topology: Topology, lab: str) -> dict[str, int]:
    """`--port broker=19092` as {"BROKER_PORT": 19092}; every mistake is bad input."""
    known = {port.variable for port in topology.ports}
    own = leased(lab) or {}
    others = ports_of_others(lab)
    result = {}
    for text in asked:
        name, equals, number = text.partition("=")
        if not equals or not number:
            raise BadInput(f'"{text}" is not SERVICE=PORT', "e.g. --port broker=19092")
        variable = f"{name.upper().removesuffix('_PORT')}_PORT"
        if variable not in known:
            short = sorted(v.removesuffix("_PORT").lower() for v in known)
            raise BadInput(f'topology "{topology.name}" has no port "{name}"', nearest(name.lower(), short))
        if not number.isdecimal() or not 1 <= int(number) <= 65_535:
            raise BadInput(f'"{number}" is not a port', "a number from 1 to 65535, e.g. --port broker=19092")
        if int(number) in others or (own.get(variable) != number and not port_is_free(int(number))):
            raise BadInput(f"port {number}, asked for as {name}, is taken", "choose another, or leave it out")
        result[variable] = int(number)
    if len(set(result.values())) < len(result):
        raise BadInput("one port is asked for twice", "give each its own number")
    return result


def lease(
    name: str, topology: Topology, settings: Mapping[str, str], asked: Mapping[str, int]
) -> dict[str, int]:
    """Write the lab's env file: the ports it had, the ones asked for, defaults, or the next free ones."""
    path = env_file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _all_leases():
        mine = leased(name) or {}
        others = ports_of_others(name)
        ports: dict[str, int] = {}
        for port in topology.ports:
            if port.variable in asked:
                ports[port.variable] = asked[port.variable]
            elif port.variable in mine and int(mine[port.variable]) not in asked.values():
                ports[port.variable] = int(mine[port.variable])
            else:
                ports[port.variable] = _free(port, others | set(ports.values()) | set(asked.values()))
        _write(path, {**settings, **ports})
    return ports


def put_back(name: str, topology: Topology, before: Mapping[str, str]) -> None:
    """The settings that a lab had and, unless another one leased them meanwhile, its ports."""
    others = ports_of_others(name)
    ports = ports_of(before)
    settings = {key: value for key, value in before.items() if key not in ports}
    lease(name, topology, settings, {key: port for key, port in ports.items() if port not in others})


def _write(path: Path, values: Mapping[str, str | int]) -> None:
    temporary = path.with_suffix(".new")
    with temporary.open("w") as file:
        file.write("".join(f"{key}={value}\n" for key, value in values.items()))
        file.flush()
        os.fsync(file.fileno())  # else a power cut may leave an empty one under its name
    temporary.replace(path)


def release(name: str) -> None:
    shutil.rmtree(env_file(name).parent, ignore_errors=True)


@contextmanager
def _all_leases() -> Iterator[None]:
    with (state_folder() / "leases.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ports_of(lease: Mapping[str, str]) -> dict[str, int]:
    """By variable."""
    return {key: int(value) for key, value in lease.items() if key.endswith("_PORT")}


def ports_of_others(name: str | None = None) -> set[int]:
    """Those that labs have, all or all but one."""
    return {port for lab in names() if lab != name for port in ports_of(leased(lab) or {}).values()}


def _free(port: Port, taken: set[int]) -> int:
    candidates: tuple[int, ...] = (port.default, *range(_FIRST_FREE, _LAST_FREE))
    for number in candidates:
        if number not in taken and port_is_free(number):
            return number
    raise LabError(f"no free port for {port.variable}", "end what holds them, or bring labs down")


def port_is_free(port: int) -> bool:
    """Whether the engine could publish the port on 127.0.0.1: also nothing on 0.0.0.0 holds it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
