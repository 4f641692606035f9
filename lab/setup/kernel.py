"""Which network faults the kernel can make. Tried in a network namespace that ends with the command.

Never blocks: a scenario that needs what is missing is skipped, visibly.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lab.setup.command import NOT_FOUND
from lab.setup.finding import Finding, Status
from lab.setup.host import Host


class Ability(StrEnum):
    """What faults ask of the kernel."""

    NETEM = "netem"
    TBF = "tbf"
    IPTABLES = "iptables"


@dataclass(frozen=True, kw_only=True)
class _Probe:
    command: tuple[str, ...]
    serves: str


_PROBES: Final = {
    Ability.NETEM: _Probe(
        command=("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
        serves="delay and jitter by the kernel; without it Toxiproxy delays",
    ),
    Ability.TBF: _Probe(
        command=(
            *("tc", "qdisc", "add", "dev", "lo", "root", "tbf"),
            *("rate", "1mbit", "burst", "32kbit", "latency", "400ms"),
        ),
        serves="limits of bandwidth by the kernel; without it Toxiproxy limits",
    ),
    Ability.IPTABLES: _Probe(
        command=("iptables", "-A", "OUTPUT", "-d", "192.0.2.1", "-j", "DROP"),
        serves="partitions and loss between containers",
    ),
}


def try_ability(host: Host, ability: Ability) -> tuple[bool | None, str]:
    """Works, does not, or None where that cannot be known from here; and what was seen."""
    if not (host.is_linux and host.endpoint().is_local):
        return None, "unknown: the engine has a kernel of its own"
    if not host.is_root:
        return None, "unknown: only root can try"
    command = _PROBES[ability].command
    if host.which(command[0]) is None or host.which("unshare") is None:
        return None, f"unknown: no {command[0]} on this host to try it with"
    done = host.run(["unshare", "--net", *command], timeout_s=5)
    if done.code == 0:
        return True, "works"
    if done.code == NOT_FOUND or "unshare failed" in done.stderr:
        return None, f"unknown: {done.last_words}"
    return False, f"does not work: {done.last_words}"


def check_ability(host: Host, ability: Ability) -> Finding:
    works, seen = try_ability(host, ability)
    status = Status.OK if works else Status.NOTE
    return Finding(name=ability.value, status=status, found=seen, needed=_PROBES[ability].serves)
