"""An application beside a scenario's steps: started in a process of its own, stopped cleanly or killed."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from lab.consuming.account import JOURNAL, Standing, Summary, recover, summary
from lab.consuming.subscription import Subscription
from lab.interruption import uninterruptible
from lab.journal import LedgerError, whole_frames
from lab.kafka import Cluster, ClusterError
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until

LOG: Final = "consuming.log"
STOPS_S: Final = 60.0


class Consuming:
    """One application; the end of the block stops it, cleanly unless it was killed before.

    Where it stands is read from its journal, so it is known of one that was killed too.
    """

    def __init__(self, cluster: Cluster, subscription: Subscription, folder: Path) -> None:
        self._cluster, self._subscription, self._folder = cluster, subscription, folder
        self._what = f'group "{subscription.group}" on cluster "{cluster.alias}"'
        self._standing = Standing()
        self._journal: BinaryIO | None = None
        self._ended = False

    def __enter__(self) -> Self:
        self._cluster.consumer  # noqa: B018 - one that may only be read refuses it; the process could not
        said = {
            "alias": self._cluster.alias,
            "bootstrap": self._cluster.bootstrap,
            "properties": self._cluster.properties,  # passwords too: on stdin nobody else sees them
            "subscription": asdict(self._subscription),
            "folder": str(self._folder.resolve()),
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        if any((self._folder / name).exists() for name in (LOG, JOURNAL)):
            raise LedgerError(f'"{self._folder}" is the folder of another application', "give each its own")
        with (self._folder / LOG).open("x") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "lab.consuming"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,  # a Ctrl-C is for us, who stop it
            )
        if (stdin := self._process.stdin) is not None:
            stdin.write(json.dumps(said) + "\n")
            stdin.flush()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if error is None:
            self.stop()
            return
        with uninterruptible():  # its journal stays as it is: the error that ends the block is told
            self._die()

    @property
    def pid(self) -> int:
        return self._process.pid

    # -- how it ends -------------------------------------------------------------------------------

    def stop(self) -> Summary:
        """It processes what it has, commits that synchronously, and leaves the group."""
        with uninterruptible():
            try:
                self._process.communicate(timeout=STOPS_S)
            except subprocess.TimeoutExpired:
                self._die()
                raise ClusterError(f"{self._what} did not stop in {STOPS_S:g} s", self._log_hint()) from None
            self._over()
            if self._process.returncode:
                raise self._failure()
            return self._told()

    def kill(self) -> Summary:
        """SIGKILL: nothing more is committed, and the group keeps its member until the session times out."""
        with uninterruptible():
            self._die()
            return self._told()

    def _die(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._over()

    def _over(self) -> None:
        self._ended = True
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _told(self) -> Summary:
        said = summary(recover(self._folder))
        self._standing = said.standing
        return said

    # -- where it stands -----------------------------------------------------------------------------

    @property
    def standing(self) -> Standing:
        if self._journal is None and not self._ended:
            try:
                self._journal = (self._folder / JOURNAL).open("rb")
            except FileNotFoundError:
                return self._standing
        if self._journal is not None:
            for kind, payload in whole_frames(self._journal):
                self._standing.take(kind, payload)
        return self._standing

    def wait_until_assigned(self, at_least: int = 1, *, timeout_s: float = RECORDS_ARRIVE_S) -> Standing:
        """Wait until the group has given it so many partitions."""

        def seen(standing: Standing) -> int:
            return len(standing.assigned or ())

        return self._wait(seen, at_least, "partitions assigned", timeout_s)

    def wait_for_processed(self, at_least: int, *, timeout_s: float = RECORDS_ARRIVE_S) -> Standing:
        return self._wait(lambda standing: standing.processed, at_least, "records processed", timeout_s)

    def _wait(self, count: Callable[[Standing], int], at_least: int, what: str, timeout_s: float) -> Standing:
        def observe() -> Standing | NotYet:
            ended = self._ended or self._process.poll() is not None
            standing = self.standing
            seen = count(standing)
            if seen < at_least and ended:
                raise self._failure()
            return standing if seen >= at_least else NotYet(f"{seen} {what}")

        return wait_until(observe, timeout_s=timeout_s, what=f"{at_least} {what} by {self._what}")

    def _failure(self) -> ClusterError:
        told = (self._folder / LOG).read_text().strip().splitlines()
        said = next((line for line in told if line.startswith("error: ")), told[-1] if told else "it ended")
        return ClusterError(f"{self._what}: {said.removeprefix('error: ')}", self._log_hint())

    def _log_hint(self) -> str:
        return f"see {self._folder / LOG}"
