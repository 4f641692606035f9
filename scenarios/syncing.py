"""`lab sync-offsets` at work beside a scenario's steps, with a tutorial's options and no lab's name."""

import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.kafka import Cluster
from scenarios.commands import COMMAND

ENDS_S = 60.0


class Syncing:
    """Told where the destination is by a file of client properties; the block's end kills what still runs."""

    def __init__(self, destination: Cluster, options: tuple[str, ...], folder: Path) -> None:
        self._destination, self._options, self._folder = destination, options, folder

    def __enter__(self) -> Self:
        properties = self._folder / "consumer.properties_sync_dest"
        properties.write_text(f"bootstrap.servers={self._destination.bootstrap}\n")
        with (self._folder / "sync-offsets.log").open("x") as log:
            self._process = subprocess.Popen(
                [*COMMAND, "sync-offsets", "-pfp", str(properties), *self._options],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C in the terminal is for pytest
            )
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def interrupt(self) -> int:
        """Ctrl-C, and the exit code that it ends with."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(ENDS_S)
