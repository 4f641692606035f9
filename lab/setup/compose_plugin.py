"""Install the Compose v2 plugin on Debian: from the host's own suite, else from the first that has it."""

import shutil
import tempfile
from pathlib import Path
from typing import Final

from lab.errors import HostNotReady
from lab.setup import apt
from lab.setup.compose import PLUGIN, SYSTEM_PLUGIN_FOLDERS, compose_version, new_enough
from lab.setup.host import Host

FIRST_SUITE: Final = "trixie"  # Debian 12 and earlier call Compose 1.29 "docker-compose"
PACKAGES: Final = ("docker-compose-plugin", "docker-compose")  # Docker's own name, Debian's name
PATH_IN_PACKAGE: Final = "usr/libexec/docker/cli-plugins/docker-compose"


def _package_of_this_suite(host: Host) -> str | None:
    for package in PACKAGES:
        version = apt.candidate(host, package)
        if version and new_enough(version.split(":")[-1]):
            return package
    return None


def plugin_folder(host: Host) -> Path:
    """The user's own; under sudo the one that every user's client looks into."""
    if host.env.get("SUDO_USER"):
        return host.root / SYSTEM_PLUGIN_FOLDERS[0]
    return host.docker_config / "cli-plugins"


def _place(file: Path, folder: Path) -> None:
    """Put the plugin there in one move: a client may be looking for it right now."""
    folder.mkdir(parents=True, exist_ok=True)
    incoming = folder / f".{PLUGIN}.new"
    shutil.copyfile(file, incoming)
    incoming.chmod(0o755)
    incoming.replace(folder / PLUGIN)


def install_compose_plugin(host: Host) -> None:
    """Install it and see that it runs."""
    if apt.candidate(host, "docker-compose") is None:
        apt.update(host)  # no lists yet: they decide which way to go
    package = _package_of_this_suite(host)
    if package:
        apt.install(host, [package])
    else:
        with tempfile.TemporaryDirectory(prefix="lab-compose-") as folder:
            tree = apt.unpack_from_suite(host, "docker-compose", FIRST_SUITE, Path(folder))
            _place(tree / PATH_IN_PACKAGE, plugin_folder(host))
    if not new_enough(compose_version(host)):
        raise HostNotReady(
            "docker Compose plugin was installed and does not run",
            'see what it says: run "docker compose version"',
        )
