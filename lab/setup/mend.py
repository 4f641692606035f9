"""Mend what a host lacks, in order, and only what it lacks."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from lab.setup import apt
from lab.setup.advice import Advice, Problem
from lab.setup.compose import compose_problem, compose_version
from lab.setup.compose_plugin import install_compose_plugin
from lab.setup.daemon import Daemon
from lab.setup.engine import engine_problem
from lab.setup.finding import DEFAULTS, Status, Wanted
from lab.setup.host import Host
from lab.setup.reach import Reach, reach_engine
from lab.setup.registry import check_base_image
from lab.setup.start import start_engine

Report = Callable[[str], AbstractContextManager[object]]
MENDABLE: Final = (Reach.ANSWERS, Reach.NO_CLIENT, Reach.NO_ENGINE, Reach.STOPPED)


@dataclass(frozen=True, kw_only=True)
class _Mend:
    name: str
    needed: Callable[[], bool]
    do: Callable[[], None]


def _engine_packages(host: Host) -> list[str]:
    if apt.candidate(host, "docker.io") is None:
        apt.update(host)
    packages = ["docker.io", "iptables", "iproute2", "debootstrap"]
    if (host.root / "sys/module/apparmor").is_dir():
        packages.append("apparmor")  # its parser; without it no container starts on such a kernel
    return packages + _client_packages(host)


def _client_packages(host: Host) -> list[str]:
    """Debian 13 split the client off; before, it came with the engine."""
    return ["docker-cli"] if apt.candidate(host, "docker-cli") else ["docker.io"]


def _mends(host: Host, wanted: Wanted, daemon: Daemon | None) -> list[_Mend]:
    """What can be mended, in order. Whether it is needed is asked when its turn comes."""

    def engine_lacks_packages() -> bool:
        reach = reach_engine(host).reach
        return reach is Reach.NO_ENGINE or (reach is Reach.STOPPED and host.which("iptables") is None)

    def base_image_has_no_source() -> bool:
        if host.which("debootstrap"):
            return False
        findings = check_base_image(host, reach_engine(host), wanted.base_image)
        return any(finding.status is Status.MISSING for finding in findings)

    return [
        _Mend(
            name="install the docker engine",
            needed=engine_lacks_packages,
            do=lambda: apt.install(host, list(dict.fromkeys(_engine_packages(host)))),
        ),
        _Mend(
            name="start the docker engine",
            needed=lambda: reach_engine(host).reach is Reach.STOPPED,
            do=lambda: start_engine(host, daemon),
        ),
        _Mend(
            name="install the docker client",
            needed=lambda: reach_engine(host).reach is Reach.NO_CLIENT,
            do=lambda: apt.install(host, _client_packages(host)),
        ),
        _Mend(
            name="install the Compose plugin",
            needed=lambda: compose_problem(host, compose_version(host)) is not None,
            do=lambda: install_compose_plugin(host),
        ),
        _Mend(
            name="install debootstrap",
            needed=base_image_has_no_source,
            do=lambda: apt.install(host, ["debootstrap"]),
        ),
    ]


def _first_problem(host: Host, wanted: Wanted) -> Problem | None:
    """For hosts on which nothing is installed: what to tell the user first."""
    reached = reach_engine(host)
    problem = engine_problem(host, reached) or compose_problem(host, compose_version(host))
    if problem:
        return problem
    for finding in check_base_image(host, reached, wanted.base_image):
        if finding.status is Status.MISSING:
            return Problem(f"{finding.name}: {finding.found}", Advice(words=finding.remedy or ""))
    return None


def mend(
    report: Report, wanted: Wanted = DEFAULTS, *, host: Host | None = None, daemon: Daemon | None = None
) -> list[str]:
    """Do what is needed and name it; nothing needed, nothing done. Installs on Debian as root only."""
    host = host or Host()
    reached = reach_engine(host)
    if not (host.is_debian and host.is_root):
        problem = _first_problem(host, wanted)
        if problem:
            raise problem.error()
        return []
    changed = []
    if reached.reach in MENDABLE:
        for step in _mends(host, wanted, daemon):
            if step.needed():
                with report(step.name):
                    step.do()
                changed.append(step.name)
    left = engine_problem(host, reach_engine(host))
    if left:
        raise left.error()
    return changed
