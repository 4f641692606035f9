"""A fault's time limit: a process of its own that undoes the fault when the time is up, whoever was killed.

It is started before the fault is made, in a session of its own, and reads nothing but the fault's file in the
journal. It ends by itself when that says "healed", and when the file is gone with its lab.
"""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from lab.errors import LabError
from lab.faults.journal import Entry
from lab.wait import every

_LOOKS_EVERY_S: Final = 0.5
_TRIES_EVERY_S: Final = 15.0
READY: Final = "watching"
WHO: Final = "time limit"


class Limit:
    """The process, as long as the one that started it knows it."""

    def __init__(self, entry: Entry, limit_s: float) -> None:
        log = entry.path.with_suffix(".log")
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "lab.faults", str(entry.path.absolute()), str(limit_s)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # what ends us must not end it
                cwd=Path(__file__).resolve().parents[2],
            )
        # It has imported all that it needs: from here on nothing but a SIGKILL of its own stops it.
        said = self._process.stdout.readline() if self._process.stdout else ""
        if said.strip() != READY:
            self.end()
            raise LabError("a fault's time limit could not be started", f"see {log}")

    def end(self) -> None:
        """Nothing is left to undo. It may have inherited that it ignores SIGTERM."""
        self._process.kill()
        self._process.wait()
        self.leave()

    def leave(self) -> None:
        """It goes on without us."""
        if self._process.stdout is not None:
            self._process.stdout.close()


def keep(entry: Entry, limit_s: float) -> str | None:
    """Look until the fault is healed or gone, or heal it when the time is up; what proved it then.

    An engine that is gone for hours may come back, and the fault with it: there is no last try. Nor does
    any other error end this, as of a host that is short of memory, or whose disk is full.
    """
    for _ in every(_LOOKS_EVERY_S, for_s=limit_s):
        with suppress(OSError):
            if not entry.is_open:
                return None
    told = ""
    for _ in every(_TRIES_EVERY_S):
        try:
            return entry.heal(WHO)
        except Exception as error:  # noqa: BLE001 - whatever it is, the fault is still in force
            why = error.message if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
            if why != told:
                with suppress(OSError):
                    entry.write("not healed", why=why, who=WHO)
            told = why
    return None
