"""The machine as the checks see it: its files, its user, its commands, its engine.

Everything that a check or a mend touches comes through one `Host`, so that tests hand in a folder
and fakes instead of a machine.
"""

import json
import os
import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.setup.command import SYSTEM_FOLDERS, Run, run_command
from lab.setup.engine_api import DEFAULT_SOCKET, Ask, Endpoint, ask_engine


def _find_program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_FOLDERS}")


def _json_file(path: Path) -> dict[str, Any]:
    try:
        parsed = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


@dataclass(frozen=True, kw_only=True)
class Host:
    """One machine and the user on it."""

    root: Path = Path("/")
    home: Path = field(default_factory=Path.home)
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    uid: int = field(default_factory=os.getuid)
    system: str = field(default_factory=platform.system)
    run: Run = run_command
    which: Callable[[str], str | None] = _find_program
    ask: Ask = ask_engine

    def os_release(self) -> dict[str, str]:
        for name in ("etc/os-release", "usr/lib/os-release"):
            path = self.root / name
            if path.is_file():
                pairs = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
                return {key.strip(): value.strip().strip("\"'") for key, value in pairs}
        return {}

    @property
    def is_root(self) -> bool:
        return self.uid == 0

    @property
    def is_linux(self) -> bool:
        return self.system == "Linux"

    @property
    def is_debian(self) -> bool:
        return self.is_linux and self.os_release().get("ID") == "debian"

    @property
    def has_systemd(self) -> bool:
        return (self.root / "run/systemd/system").is_dir()

    @property
    def docker_config(self) -> Path:
        named = self.env.get("DOCKER_CONFIG")
        return Path(named) if named else self.home / ".docker"

    @property
    def docker_settings(self) -> dict[str, Any]:
        return _json_file(self.docker_config / "config.json")

    @property
    def state_dir(self) -> Path:
        named = self.env.get("XDG_STATE_HOME")
        return (Path(named) if named else self.home / ".local/state") / "mirror-lab"

    def endpoint(self) -> Endpoint:
        """The engine that the docker client would talk to, by the client's own order of choice."""
        context = self.env.get("DOCKER_CONTEXT", "")
        address = self.env.get("DOCKER_HOST", "")
        if address and context in ("", "default"):
            return Endpoint(address, "DOCKER_HOST", tls=bool(self.env.get("DOCKER_TLS_VERIFY")))
        context = context or str(self.docker_settings.get("currentContext", ""))
        if context in ("", "default"):
            return Endpoint(f"unix://{DEFAULT_SOCKET}")
        done = self.run(
            ["docker", "context", "inspect", context, "--format", "{{.Endpoints.docker.Host}}"], timeout_s=5
        )
        url = done.stdout.strip() if done.code == 0 else "unresolved"
        # A context may hold certificates that only the client knows, so its TCP is left to the client.
        return Endpoint(url, f'docker context "{context}"', tls=True)
