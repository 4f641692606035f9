"""Collects parts again and again, each on a thread of its own: one that hangs holds up nobody else."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from lab.errors import LabError

STALE_S: Final = 30.0  # as long as Kafka's requests of one collection may take when a cluster hangs
_LOG: Final = logging.getLogger("lab.exporter")


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a collection gave; None when it failed."""

    value: Any | None
    at: float
    took_s: float


class Rounds:
    """The last results, by the part's name. What is older than `stale_s` counts as failed."""

    def __init__(
        self,
        *,
        stale_s: float = STALE_S,
        clock: Callable[[], float] = time.monotonic,
        pool: Executor | None = None,
    ) -> None:
        self._stale_s, self._clock = stale_s, clock
        self._pool = pool or ThreadPoolExecutor(max_workers=64, thread_name_prefix="collect")
        self._lock = threading.Condition()
        self._since: dict[str, float] = {}
        self._running: dict[str, Future[Any]] = {}
        self._results: dict[str, Result] = {}
        self._troubles: dict[str, str] = {}

    def begin(self, name: str, collect: Callable[[], object]) -> None:
        """Collect a part anew, unless its last collection has not ended yet."""
        began = self._clock()
        with self._lock:
            if name in self._running:
                return
            self._since.setdefault(name, began)
            self._running[name] = future = self._pool.submit(collect)
        future.add_done_callback(partial(self._ended, name, began))

    def drop(self, name: str, close: Callable[[], None]) -> None:
        """Forget a part; it is closed once nothing collects it any more."""
        with self._lock:
            self._since.pop(name, None)
            self._results.pop(name, None)
            self._troubles.pop(name, None)
            running = self._running.pop(name, None)
        if running is None:
            self._pool.submit(close)
        else:
            running.add_done_callback(lambda _: close())

    def knows(self, name: str) -> bool:
        """Whether there is something to say about a part: before its first collection there is not."""
        with self._lock:
            since = self._since.get(name)
            return name in self._results or (since is not None and self._clock() - since > self._stale_s)

    def value(self, name: str) -> Any | None:
        """What the last collection gave; None when it failed, is too old, or there was none."""
        with self._lock:
            result = self._results.get(name)
        return result.value if result and self._clock() - result.at <= self._stale_s else None

    def slowest_s(self) -> float | None:
        """How long the slowest of the last collections took."""
        with self._lock:
            return max((result.took_s for result in self._results.values()), default=None)

    def wait(self, timeout_s: float) -> bool:
        """Wait for what is being collected; whether all of it ended."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._running, timeout_s)

    def _ended(self, name: str, began: float, future: Future[Any]) -> None:
        now, error = self._clock(), future.exception()
        with self._lock:
            if self._running.get(name) is not future:
                return  # dropped meanwhile
            del self._running[name]
            value = None if error else future.result()
            self._results[name] = Result(value=value, at=now, took_s=now - began)
            self._tell(name, error)
            self._lock.notify_all()

    def _tell(self, name: str, error: BaseException | None) -> None:
        """What is new: a cluster that stays down is told once."""
        before = self._troubles.pop(name, None)
        if error:
            self._troubles[name] = str(error)
            if str(error) != before:
                # What the lab's own clients say is enough; anything else is a bug, and wants its traceback.
                trace = None if isinstance(error, LabError) else error
                _LOG.warning("%s: %s", name, error, exc_info=trace)
        elif before is not None:
            _LOG.info("%s: fine again", name)
