"""The process dockerd: how it is started where no init system does it, and the traces it leaves.

A killed engine leaves pid files behind. dockerd refuses to start when the pid in its file exists,
even if that is another process by now, or a zombie, which is what becomes of it where PID 1 reaps
nothing. So a pid counts only while a process of the right name lives under it.
"""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from lab.setup.command import command_environment
from lab.setup.host import Host
from lab.wait import ENGINE_START_S

LAST_LINES: Final = 2
TIME_STAMP: Final = re.compile(r'^time="[^"]*" ')
CHATTER: Final = re.compile(r"\blevel=(debug|info|warning)\b")
# Containers inherit the engine's limit of open files; a shell's usual 1024 stops a Kafka broker.
WITH_OPEN_FILES: Final = 'ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -Hn)"; exec "$@"'
_started: list[subprocess.Popen[bytes]] = []  # kept, because a dropped Popen warns about its child


class Process(Protocol):
    """As much of a Popen as is used here."""

    def poll(self) -> int | None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


def spawn_detached(command: list[str], log: Path, host: Host) -> Process:
    """Start it in a session of its own, so that Ctrl-C and the end of this process leave it alone."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            ["sh", "-c", WITH_OPEN_FILES, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=command_environment(host.env),
            start_new_session=True,
        )
    _started.append(process)
    return process


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """How dockerd is started and where it leaves its traces."""

    log: Path
    command: tuple[str, ...] = ("dockerd",)
    run_folder: Path = Path("/var/run")
    proc: Path = Path("/proc")
    spawn: Callable[[list[str], Path, Host], Process] = spawn_detached
    start_s: float = ENGINE_START_S

    @property
    def pid_file(self) -> Path:
        return self.run_folder / "docker.pid"

    @property
    def containerd_pid_file(self) -> Path:
        return self.run_folder / "docker/containerd/containerd.pid"

    def living(self, pid_file: Path, name: str) -> int | None:
        """The pid in the file, if a process of that name lives under it."""
        try:
            pid = int(pid_file.read_text())
            before, _, after = (self.proc / str(pid) / "stat").read_text().rpartition(")")
        except (OSError, ValueError):
            return None
        return pid if before.partition("(")[2] == name and after.strip()[:1] != "Z" else None

    def clear_stale(self) -> None:
        """Remove pid files under which nothing of theirs lives."""
        for pid_file, name in ((self.pid_file, "dockerd"), (self.containerd_pid_file, "containerd")):
            if self.living(pid_file, name) is None:
                pid_file.unlink(missing_ok=True)

    def log_bytes(self) -> int:
        """How long the log is: what a start adds begins there."""
        return self.log.stat().st_size if self.log.exists() else 0

    def last_words(self, since: int) -> str:
        """The last complaints that dockerd wrote after the log was that long; its chatter buries them."""
        text = self.log.read_bytes()[since:].decode(errors="replace") if self.log.exists() else ""
        said = (line for line in text.splitlines() if line.strip() and not CHATTER.search(line))
        lines = [TIME_STAMP.sub("", line) for line in said]
        return " | ".join(lines[-LAST_LINES:]) or "no complaint"
