"""With `-n`: whoever started the workers tells them of an interruption, and waits until their labs are gone.

Left to xdist they would hear of it after five seconds and be killed after ten, and their labs would stay.
"""

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from lab.wait import NotYet, TimedOut, wait_until

# Mostly seconds; a fault is undone first, and a worker that was just forgetting a connector may take minutes.
LABS_GO_S: Final = 360.0
_FOLDER: Final = "running"  # in a worker's input: where each has a file of its process's number


class Workers:
    """Those of one pytest: in its own process all of them, in a worker's process that worker."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._folder: TemporaryDirectory[str] | None = None  # once there are workers
        self._own = Path(told[_FOLDER]) / str(os.getpid()) if _FOLDER in told else None
        if self._own is not None:
            self._own.touch()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        self._folder = self._folder or TemporaryDirectory(prefix="lab-workers-")
        node.workerinput[_FOLDER] = self._folder.name

    def pytest_keyboard_interrupt(self) -> None:
        if self._folder is None:
            return
        folder = Path(self._folder.name)
        for file in folder.iterdir():
            with suppress(ProcessLookupError):
                os.kill(int(file.name), signal.SIGTERM)

        def gone() -> bool | NotYet:
            left = [file.name for file in folder.iterdir()]
            return not left or NotYet(f"processes {', '.join(left)}")

        sys.stderr.write("\ninterrupted: the labs go first; once more Ctrl-C leaves them\n")
        with suppress(TimedOut):  # xdist ends them
            wait_until(gone, timeout_s=LABS_GO_S, what="the workers have brought their labs down")

    def close(self) -> None:
        if self._own is not None:
            self._own.unlink(missing_ok=True)
        if self._folder is not None:
            self._folder.cleanup()
