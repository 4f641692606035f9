"""The question on the hot path of every command: can the engine be used right now?"""

import os

from lab.errors import HostNotReady
from lab.setup.capacity import check_memory
from lab.setup.compose import compose_problem, compose_version
from lab.setup.daemon import Daemon
from lab.setup.engine import engine_problem
from lab.setup.finding import GIB, Status, Wanted
from lab.setup.host import Host
from lab.setup.reach import Reach, Reached, reach_engine
from lab.setup.start import start_engine

AUTOSTART = "LAB_ENGINE_AUTOSTART"


def _may_start(host: Host, reached: Reached) -> bool:
    """Only where nobody else is there to do it: Debian as root, without systemd, unless it is forbidden."""
    return (
        reached.reach is Reach.STOPPED
        and host.is_debian
        and host.is_root
        and not host.has_systemd
        and host.env.get(AUTOSTART, "1") != "0"
    )


def engine_address(*, host: Host | None = None) -> str | None:
    """Of the engine that commands use now, by DOCKER_HOST or a context of the client's, if that is known."""
    endpoint = (host or Host()).endpoint()
    if endpoint.is_local:
        return f"unix://{os.path.realpath(endpoint.socket_path)}"
    return endpoint.url if "://" in endpoint.url else None


def require_memory(memory_bytes: int, *, host: Host | None = None) -> None:
    """Raise HostNotReady unless this host has a fair share of that to spare."""
    finding = check_memory(host or Host(), {}, Wanted(memory_bytes=memory_bytes))
    if finding.status is Status.MISSING:
        raise HostNotReady(
            f"not enough memory: {finding.found}, services may take {memory_bytes / GIB:.1f} GiB",
            'end other programs or other labs ("lab list"), or choose a smaller topology',
        )


def require_engine(*, host: Host | None = None, daemon: Daemon | None = None) -> None:
    """Raise HostNotReady unless the engine answers and has its Compose plugin; start one that is stopped."""
    host = host or Host()
    reached = reach_engine(host)
    if _may_start(host, reached):
        start_engine(host, daemon)
        reached = reach_engine(host)
    problem = engine_problem(host, reached) or compose_problem(host, compose_version(host))
    if problem:
        raise problem.error()
