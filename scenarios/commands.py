"""Runs the command `lab` as a user does: a process of its own, judged by its output and exit code."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from lab import engine
from lab.harness import PROJECT_PREFIX

COMMAND = (sys.executable, "-m", "lab")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def lab_command(*arguments: str, timeout_s: float = 300) -> Done:
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def objects_of(name: str) -> list[str]:
    """Every container, network and volume that a lab has, in any state."""
    wanted = ["--filter", f"label={engine.PROJECT_LABEL}={PROJECT_PREFIX}{name}"]
    kinds = (("ps", "--all"), ("network", "ls"), ("volume", "ls"))
    return [line for kind in kinds for line in engine.docker(*kind, "--quiet", *wanted).split()]
