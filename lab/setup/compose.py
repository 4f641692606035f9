"""Is the Compose v2 plugin there and new enough? Found as a file first, since starting docker is slow."""

import json
import re
from pathlib import Path
from typing import Final

from lab.setup.advice import Problem, how_to_install
from lab.setup.finding import Finding, Status
from lab.setup.host import Host

OLDEST: Final = (2, 20)
NEEDED: Final = "Compose plugin 2.20 or later (docker compose)"
PLUGIN: Final = "docker-compose"
SYSTEM_PLUGIN_FOLDERS: Final = (
    "usr/local/lib/docker/cli-plugins",
    "usr/local/libexec/docker/cli-plugins",
    "usr/lib/docker/cli-plugins",
    "usr/libexec/docker/cli-plugins",
)


def find_plugin(host: Host) -> Path | None:
    """The plugin's file in the folders that the docker client looks into, in the client's order."""
    extra = host.docker_settings.get("cliPluginsExtraDirs")
    folders = [Path(str(folder)) for folder in extra] if isinstance(extra, list) else []
    folders += [host.docker_config / "cli-plugins", *(host.root / name for name in SYSTEM_PLUGIN_FOLDERS)]
    return next((folder / PLUGIN for folder in folders if (folder / PLUGIN).is_file()), None)


def _version_by_plugin(host: Host, plugin: Path) -> str:
    done = host.run([str(plugin), "docker-cli-plugin-metadata"], timeout_s=5)
    try:
        return str(json.loads(done.stdout)["Version"]) if done.code == 0 else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _version_by_client(host: Host) -> str:
    """For plugins in places that only the client knows."""
    done = host.run(["docker", "compose", "version", "--short"], timeout_s=5)
    return done.stdout.strip() if done.code == 0 else ""


def compose_version(host: Host) -> str:
    """The plugin's version as it states it; empty when there is no plugin that runs."""
    plugin = find_plugin(host)
    return (_version_by_plugin(host, plugin) if plugin else "") or _version_by_client(host)


def new_enough(version: str) -> bool:
    """Whether a version such as "v2.26.1-4" is one that the lab can use."""
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers is None:
        return bool(version)  # a build from source, "dev": the benefit of the doubt
    return (int(numbers[1]), int(numbers[2])) >= OLDEST


def compose_problem(host: Host, version: str) -> Problem | None:
    """What is wrong and what helps; None when the plugin is good."""
    if not version:
        return Problem('docker has no Compose plugin ("docker compose" is no command)', how_to_install(host))
    if not new_enough(version):
        return Problem(f'docker Compose plugin "{version}" is older than 2.20', how_to_install(host))
    return None


def check_compose(host: Host) -> Finding:
    version = compose_version(host)
    problem = compose_problem(host, version)
    if problem:
        return problem.finding("compose", NEEDED)
    return Finding(name="compose", status=Status.OK, found=f"plugin {version}", needed=NEEDED)
