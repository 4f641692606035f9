"""A run: the directory of evidence that one `up`, one scenario or one benchmark leaves behind.

    runs/<UTC time>-<what>/run.json      argv, commit, versions, host; rewritten with the outcome
                           steps.jsonl   one line per step, written when it ends
                           …             whatever the steps save: logs, configs, verdicts

What is saved is on disk when `save` returns: a crash in a later step never costs the evidence.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from lab.project import ROOT, runs_folder, versions


class Watcher(Protocol):
    """Whoever shows steps while they happen: a terminal, a test report, nobody."""

    def started(self, step: str) -> None: ...
    def said(self, step: str, text: str) -> None: ...
    def ended(self, step: str, seconds: float, *, failed: bool, note: str) -> None: ...


class Unwatched:
    """Steps that nobody looks at."""

    def started(self, step: str) -> None:
        """Nobody looks."""

    def said(self, step: str, text: str) -> None:
        """Nobody looks."""

    def ended(self, step: str, seconds: float, *, failed: bool, note: str) -> None:
        """Nobody looks."""


@dataclass
class Step:
    """One named, timed unit of work."""

    name: str
    watcher: Watcher
    note: str = ""

    def say(self, text: str) -> None:
        """What is being waited for right now, e.g. "4 of 6 healthy"."""
        self.watcher.said(self.name, text)


@dataclass
class Run:
    path: Path
    watcher: Watcher
    started: float = field(default_factory=time.monotonic)
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, what: str, watcher: Watcher | None = None, **facts: Any) -> "Run":
        now = datetime.now(UTC)
        system = os.uname()  # not platform.platform(), which starts a process
        path = _new_folder(f"{now:%Y%m%dT%H%M%SZ}-{what}")
        run = cls(path, watcher or Unwatched())
        run.facts = {
            "what": what,
            "started": now.isoformat(timespec="milliseconds"),
            "argv": sys.argv,
            "commit": _commit(),
            "versions": versions(),
            "host": {
                "system": f"{system.sysname} {system.release} {system.machine}",
                "cores": os.cpu_count(),
                "python": platform.python_version(),
            },
            **facts,
        }
        run._write_facts()
        return run

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Time a block, show it, and write its line even when it fails."""
        step = Step(name, self.watcher)
        self.watcher.started(name)
        begin = time.monotonic()
        error: BaseException | None = None
        try:
            yield step
        except BaseException as caught:
            error = caught
            raise
        finally:
            seconds = time.monotonic() - begin
            self.watcher.ended(name, seconds, failed=error is not None, note=step.note)
            line = {
                "step": name,
                "at_s": round(begin - self.started, 3),
                "seconds": round(seconds, 3),
                "outcome": "ok" if error is None else f"{type(error).__name__}: {error}",
                "note": step.note,
            }
            try:
                with (self.path / "steps.jsonl").open("a") as steps:
                    steps.write(json.dumps(line) + "\n")
            except OSError:  # a full disk must not hide why the step failed, which it may be itself
                if error is None:
                    raise

    def save(self, name: str, content: str | bytes | dict[str, Any] | list[Any]) -> Path:
        """Write one piece of evidence; mappings and lists as indented JSON."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n")
        return path

    def save_another(self, name: str, content: str | dict[str, Any]) -> Path:
        """As `save`, but beside what has the name already: verdict.json, verdict-2.json and so on."""
        wanted = Path(name)
        for number in count(1):
            path = self.path / (name if number == 1 else f"{wanted.stem}-{number}{wanted.suffix}")
            with suppress(FileExistsError):
                path.touch(exist_ok=False)
                break
        return self.save(path.name, content)

    def close(self, outcome: str, **facts: Any) -> None:
        self.facts |= {"outcome": outcome, "seconds": round(time.monotonic() - self.started, 3), **facts}
        self._write_facts()

    def forget(self) -> None:
        """What was refused before anything was done leaves nothing."""
        shutil.rmtree(self.path)

    def _write_facts(self) -> None:
        self.save("run.json", self.facts)


def _new_folder(name: str) -> Path:
    """Two runs may start within a second; the later one gets a number."""
    for number in range(1, 1000):
        path = runs_folder() / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(name)


def _commit() -> str:
    """The checkout's commit, marked when files differ from it; a lab outside git has none."""
    try:
        described = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return described.stdout.strip() or "unknown"
