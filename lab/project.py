"""Where the project's files are, where the user's state goes, and which versions are pinned."""

import os
from pathlib import Path
from typing import Final

from lab.errors import BadInput, nearest

ROOT: Final = Path(__file__).resolve().parent.parent
COMPOSE: Final = ROOT / "compose"
VERSIONS: Final = COMPOSE / "versions.env"
SPARK_REMOTE: Final = "LAB_SPARK_REMOTE"
REGISTRY: Final = "LAB_REGISTRY"


def state_folder() -> Path:
    """What the lab must remember between commands: port leases and the engine's log.

    Per user, not per checkout: labs of two checkouts share one engine and one set of ports.
    """
    if chosen := os.environ.get("LAB_STATE"):
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local/state") / "mirror-lab"


def runs_folder() -> Path:
    return Path(os.environ.get("LAB_RUNS") or ROOT / "runs")


def existing_spark() -> str | None:
    """The Spark Connect server that the user named instead of the lab's own."""
    return os.environ.get(SPARK_REMOTE) or None


def registry() -> str:
    """What stands before images' names, e.g. "registry.example:5000/"; with its slash, however given."""
    given = os.environ.get(REGISTRY, "").rstrip("/")
    return f"{given}/" if given else ""


def read_env_file(path: Path) -> dict[str, str]:
    """NAME=VALUE lines, as Compose reads them; comments and blank lines are skipped."""
    lines = (line.strip() for line in path.read_text().splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def versions() -> dict[str, str]:
    return read_env_file(VERSIONS)


def kafka_version(wanted: str | None = None, *, of: str = "") -> str:
    """The wanted Kafka version if the images can be built for it, else the default one.

    What is suggested instead is among those `of` a specifier such as ">=3.3,<4".
    """
    pinned = versions()
    known = pinned["KAFKA_VERSIONS"].split()
    if wanted is None:
        wanted = os.environ.get("LAB_KAFKA_VERSION") or pinned["KAFKA_VERSION"]
    if wanted not in known:
        from packaging.specifiers import SpecifierSet  # most commands need no versions

        fit = [version for version in known if version in SpecifierSet(of)]
        near = nearest(wanted, fit)  # all of them when none is near
        every = "" if near.startswith("known: ") else f" all: {' '.join(fit)}"
        raise BadInput(f'no Kafka version "{wanted}"', near + every)
    return wanted
