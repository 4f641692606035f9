"""Run a command of the host to its end. The one place of this package that starts processes and waits."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from lab.errors import HostNotReady

NOT_FOUND: Final = 127
NO_END: Final = 124
LAST_LINES: Final = 3
SYSTEM_FOLDERS: Final = "/usr/local/sbin:/usr/sbin:/sbin"  # `su` leaves them out of PATH; dpkg needs them


@dataclass(frozen=True)
class Completed:
    """How a command ended."""

    code: int
    stdout: str = ""
    stderr: str = ""

    @property
    def last_words(self) -> str:
        """The last lines of what it complained about, in one line."""
        lines = [line.strip() for line in (self.stderr.strip() or self.stdout).splitlines() if line.strip()]
        return " | ".join(lines[-LAST_LINES:]) or "no output"


class Run(Protocol):
    """What runs a command; tests put a fake here."""

    def __call__(self, command: list[str], *, timeout_s: float = 60.0) -> Completed: ...


def command_environment(env: Mapping[str, str]) -> dict[str, str]:
    """English output, because some of it is parsed, and a PATH that has the system's folders."""
    return {**env, "LC_ALL": "C", "PATH": f"{env.get('PATH', '/usr/bin:/bin')}:{SYSTEM_FOLDERS}"}


def run_command(command: list[str], *, timeout_s: float = 60.0) -> Completed:
    """Run it; a command that is not there or does not end is an exit code like any other."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=command_environment(os.environ),
            check=False,
        )
    except (FileNotFoundError, PermissionError) as error:
        return Completed(NOT_FOUND, stderr=f"{command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Completed(NO_END, stderr=f"{command[0]} had not ended after {timeout_s:g} s")
    return Completed(done.returncode, done.stdout, done.stderr)


def must(run: Run, command: list[str], *, doing: str, hint: str, timeout_s: float = 60.0) -> Completed:
    """Run it, or say what was being attempted and with which words it failed."""
    done = run(command, timeout_s=timeout_s)
    if done.code != 0:
        raise HostNotReady(f"{doing} failed (exit {done.code}): {done.last_words}", hint)
    return done
