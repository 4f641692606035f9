"""A workload beside the steps of a scenario, or of a command."""

from collections.abc import Callable
from concurrent import futures
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from lab.interruption import uninterruptible
from lab.kafka import Cluster, ClusterError
from lab.ledger import NAME, Heading, Ledger
from lab.records import Plan, Tally
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import Workload

_INTERRUPTED_FLUSH_S: Final = 10.0  # whoever pressed Ctrl-C waits for it


class Producing:
    """A workload in a thread of its own, with its ledger; the end of the block stops and flushes it.

    Only the main thread is interrupted, so Ctrl-C never falls between a record and its line in the ledger.
    """

    def __init__(self, cluster: Cluster, topic: str, plan: Plan, folder: Path) -> None:
        self.path = folder / NAME
        self.tally = Tally()
        self.patience_s = RECORDS_ARRIVE_S  # at the block's end; what has no answer by then is unknown
        self._cluster, self._topic, self._plan, self._folder = cluster, topic, plan, folder
        self._on_progress: Callable[[Tally], None] = lambda _: None

    def __enter__(self) -> Self:
        heading = Heading(
            run=self._plan.run,
            topic=self._topic,
            cluster=self._cluster.alias,
            seed=self._plan.seed,
            size_bytes=self._plan.size_bytes,
            plan=asdict(self._plan),
            topic_id=self._cluster.topic_id(self._topic),
        )
        self.ledger = Ledger(self._folder, heading)
        self._workload = Workload(self._cluster, self._topic, self._plan, self.ledger)
        self.tally = self._workload.tally
        self._thread = futures.ThreadPoolExecutor(1, thread_name_prefix="producing")
        self._work = self._thread.submit(self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        self._workload.patience_s = _INTERRUPTED_FLUSH_S if interrupted else self.patience_s
        self._workload.stopped = True
        with uninterruptible():
            self._thread.shutdown()
        if error is None:
            self._work.result()

    def wait_for_acked(self, at_least: int, *, timeout_s: float = RECORDS_ARRIVE_S) -> int:
        """Wait until the cluster has acknowledged so many records."""

        def observe() -> int | NotYet:
            acked = self.ledger.acked
            if acked < at_least and self._work.done():
                raise self._work.exception() or ClusterError(
                    f"the workload ended with {acked} records acked, {at_least} are awaited",
                    self.tally.first_error or "plan more records, or none, which goes on until stopped",
                )
            return acked if acked >= at_least else NotYet(f"{acked} acked, {self.tally.failed} failed")

        what = f'{at_least} records acked in topic "{self._topic}" of cluster "{self._cluster.alias}"'
        return wait_until(observe, timeout_s=timeout_s, what=what, pause_s=0.01)

    def wait(self, on_progress: Callable[[Tally], None] = lambda _: None) -> Tally:
        """Wait until the plan has come to its end; the block's end tells what went wrong."""
        self._on_progress = on_progress
        futures.wait([self._work])
        return self.tally

    def _run(self) -> None:
        try:
            self._workload.run(lambda tally: self._on_progress(tally))
        finally:
            self.ledger.close(self.tally.sent)
