"""Install Debian packages, and take one apart that comes from a newer Debian. Run as root."""

import re
from pathlib import Path
from typing import Final

from lab.errors import HostNotReady
from lab.setup.command import must
from lab.setup.host import Host
from lab.setup.sources import write_sources

UPDATE_S: Final = 180.0
INSTALL_S: Final = 540.0
APT_GET: Final = (
    *("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"),
    *("-o", "DPkg::Lock::Timeout=120"),
)
SOURCES_HINT: Final = 'look into it with "apt-get update", mend the sources of apt or the network, then again'


def candidate(host: Host, package: str) -> str | None:
    """The version that apt would install, from the lists that it has; None if it knows no such package."""
    done = host.run(["apt-cache", "policy", package], timeout_s=30)
    match = re.search(r"^\s*Candidate: (\S+)", done.stdout, re.MULTILINE)
    return match[1] if match and match[1] != "(none)" else None


def update(host: Host) -> None:
    """Fetch the package lists."""
    must(
        host.run, [*APT_GET, "update"], doing="fetching package lists", hint=SOURCES_HINT, timeout_s=UPDATE_S
    )


def install(host: Host, packages: list[str]) -> None:
    """Install them; lists that are missing or too old to lead to a file are fetched, once."""
    command = [*APT_GET, "install", "--no-install-recommends", *packages]
    if all(candidate(host, package) for package in packages) and (
        host.run(command, timeout_s=INSTALL_S).code == 0
    ):
        return
    update(host)
    doing = f"installing {', '.join(packages)}"
    must(host.run, command, doing=doing, hint=SOURCES_HINT, timeout_s=INSTALL_S)


def unpack_from_suite(host: Host, package: str, suite: str, folder: Path) -> Path:
    """Download a package from another suite of the host's own mirrors and unpack it, installing nothing."""
    parts, lists, cache, tree = (folder / name for name in ("parts", "lists", "cache", "tree"))
    for path in (parts, lists / "partial", cache / "archives/partial", tree):
        path.mkdir(parents=True)
    codename = host.os_release().get("VERSION_CODENAME", "")
    if not write_sources(host.root, parts, codename, suite):
        where = host.root / "etc/apt"
        raise HostNotReady(
            f'no source of Debian packages for "{codename}" in "{where}"',
            f'add one of "{codename}" with the component "main", then run "lab doctor --fix"',
        )
    options = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": str(parts),
        "Dir::Etc::Preferences": "/dev/null",  # a pin on this host's suite would hide the package
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": str(lists),
        "Dir::Cache": str(cache),
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",  # _apt cannot write into a folder of root's, and warns
    }
    given = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    doing = f'fetching package "{package}" from Debian {suite}'
    apt = ["env", f"--chdir={cache}", *APT_GET[1:], *given]
    must(host.run, [*apt, "update"], doing=doing, hint=SOURCES_HINT, timeout_s=UPDATE_S)
    must(host.run, [*apt, "download", package], doing=doing, hint=SOURCES_HINT, timeout_s=UPDATE_S)
    files = sorted(cache.glob(f"{package}_*.deb"))
    if not files:
        raise HostNotReady(f"{doing} left no file", SOURCES_HINT)
    must(
        host.run,
        ["dpkg-deb", "-x", str(files[-1]), str(tree)],
        doing=f'unpacking "{files[-1].name}"',
        hint=SOURCES_HINT,
    )
    return tree
