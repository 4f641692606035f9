"""What is wrong with a host in words, and what its user has to do about it."""

from dataclasses import dataclass
from typing import Final

from lab.errors import HostNotReady
from lab.setup.finding import Finding, Status
from lab.setup.host import Host


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Either a command to type, or words where no command does it."""

    command: str = ""
    words: str = ""

    @property
    def remedy(self) -> str:
        return self.command or self.words

    @property
    def hint(self) -> str:
        return f'run "{self.command}"' if self.command else self.words


@dataclass(frozen=True)
class Problem:
    """A fact that stops the lab, and the advice that goes with it."""

    fact: str
    advice: Advice

    def error(self) -> HostNotReady:
        return HostNotReady(self.fact, self.advice.hint)

    def finding(self, name: str, needed: str) -> Finding:
        remedy = self.advice.remedy
        return Finding(name=name, status=Status.MISSING, found=self.fact, needed=needed, remedy=remedy)


FIX: Final = "lab doctor --fix"
FIX_BY_SUDO: Final = 'sudo env "PATH=$PATH" lab doctor --fix'

# What a Linux that is not Debian installs, by the ID of its os-release.
_INSTALL: Final = {
    "ubuntu": "sudo apt-get install docker.io docker-compose-v2",
    "fedora": "sudo dnf install moby-engine docker-compose && sudo systemctl enable --now docker",
    "arch": "sudo pacman -S docker docker-compose && sudo systemctl enable --now docker",
    "alpine": "apk add docker docker-cli-compose && rc-update add docker && service docker start",
}


def how_to_install(host: Host) -> Advice:
    """How the user of this host gets an engine with its client and Compose plugin."""
    if host.system == "Darwin":
        return Advice(words="install and start Docker Desktop (or Colima with docker and docker-compose)")
    if host.is_debian:
        return Advice(command=FIX if host.is_root else FIX_BY_SUDO)
    distribution = host.os_release().get("ID", "")
    if distribution in _INSTALL:
        return Advice(command=_INSTALL[distribution])
    return Advice(
        words="install Docker Engine 20.10 or later with its Compose plugin: docs.docker.com/engine/install"
    )
