"""Load and fault, heal, recovery, final reads, verdict: one topic that goes through it; the table of many.

Records flow before, during and after a fault, and Spark judges all of them when everything is over.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from lab.connect import ConnectError
from lab.faults import Fault, Injected
from lab.harness import Lab
from lab.kafka import ClusterError, Offsets
from lab.lag import LagWatcher, Mirrored
from lab.mm2 import Connector
from lab.producing import Producing
from lab.run import Run
from lab.verify.verdict import Outcome
from lab.verify.verification import Judged
from lab.wait import RECORDS_ARRIVE_S, NotYet, TimedOut, wait_until
from lab.workload import Plan

AT_LEAST_ONCE, EXACTLY_ONCE = "at least once", "exactly once"
RATE_PER_S: Final = 500
WARM: Final = 1_000  # records on the target, before anything is broken: a fault before that hits nothing
PARTITIONS: Final = 4
HOLD_S: Final = 10.0
LONGER_THAN_A_SESSION_S: Final = 20.0  # a worker's with its group, 10 s
RECOVERS_S: Final = 240.0
LINE: Final = "line"  # the property of a test that holds its line of the table
FETCH_WAITS_S: Final = 0.5  # `fetch.max.wait.ms` of MM2's consumer
AFTER_S: Final = 3.0  # of records that follow the recovery
ABOUT_RECORDS: Final = (
    *("reading", "ledger", "loss", "catch_up", "duplicates", "order", "payload", "headers", "timestamp"),
    *("partition", "phantoms"),
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Of the table: from the fault's proof until it was undone, and from then until the target had all of it.

    What is over in a moment and costs records has no recovery. Numbers are of records.
    """

    number: str
    fault: str
    guarantee: str
    outage_s: float
    recovered_s: float | None
    sent: int
    lost: int
    duplicated: int
    reordered: int


def table(lines: Sequence[Line]) -> str:
    head = (
        f"{'':>4} {'fault':<44} {'guarantee':<14} {'outage s':>8} {'recovery s':>10} "
        f"{'sent':>7} {'lost':>6} {'twice':>6} {'order':>6}"
    )
    ordered = sorted(lines, key=lambda line: (int(line.number), line.fault, line.guarantee))
    return "\n".join([head, *map(_row, ordered)])


def _row(line: Line) -> str:
    what = f"{line.number:>4} {line.fault[:44]:<44} {line.guarantee:<14}"
    recovered = "-" if line.recovered_s is None else f"{line.recovered_s:.1f}"
    times = f"{line.outage_s:>8.1f} {recovered:>10}"
    counts = f"{line.sent:>7,} {line.lost:>6,} {line.duplicated:>6,} {line.reordered:>6,}"
    return f"{what} {times} {counts}"


class UnderLoad:
    """One topic that is mirrored while something breaks."""

    def __init__(self, lab: Lab, run: Run, topic: str, guarantee: str) -> None:
        self.lab, self.run, self.topic, self.guarantee = lab, run, topic, guarantee
        self.outage_s = 0.0
        self.recovered_s: float | None = None
        self.judged: Judged | None = None
        self._faults: list[Injected] = []
        self._healed_at: float | None = None
        self.sent = 0
        lab.source.create_topic(topic, partitions=PARTITIONS, replicas=3)

    def forget(self) -> None:
        """Workers of few megabytes share them with the next one's tasks otherwise."""
        self.lab.connect.forget(self.topic)
        self.lab.target.delete_topics(self.remote)
        self.lab.source.delete_topics(self.topic)

    @property
    def remote(self) -> str:
        return self.connector().remote_topic(self.topic)

    def connector(self, **overrides: str | None) -> Connector:
        """The source connector under a name of its own: another topic's offsets must not be its."""
        once = {
            "exactly.once.support": "required",
            "source.consumer.isolation.level": "read_committed",
        }
        chosen = once if self.guarantee == EXACTLY_ONCE else {}
        return replace(
            self.lab.connector("mm2-msc-source", topics=self.topic, **{**chosen, **overrides}),
            name=self.topic,
        )

    @contextmanager
    def load(self, **overrides: str | None) -> Iterator[Producing]:
        """Records flow for as long as the block, and have reached the target before it begins."""
        self._deploy(self.connector(**overrides))
        plan = Plan(run=f"load{self.run.path.name[9:15]}{len(self.topic)}", rate_per_s=RATE_PER_S)
        with Producing(self.lab.source, self.topic, plan, self.run.path / self.topic) as producing:
            self.lab.target.wait_for_records(self.remote, at_least=WARM, timeout_s=RECORDS_ARRIVE_S)
            yield producing
        self.sent = producing.tally.sent

    def _deploy(self, connector: Connector) -> None:
        """After a broker of theirs was away, workers may need minutes until they read their configs again."""

        def deployed() -> bool:
            self.lab.deploy(connector)
            return True

        wait_until(
            deployed,
            timeout_s=RECOVERS_S,
            what=f'Connect takes connector "{connector.name}"',
            transient=(ConnectError, TimedOut),
            pause_s=1.0,
        )

    def come_to_rest(self) -> None:
        """Records were sent, and all of them are mirrored."""
        with self.load():
            pass
        self.recover()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """For as long as the block MM2 reads nothing.

        A fetch that waits at a broker when the task stands still is answered, and mirrored later.
        """
        connect = self.lab.connect
        connect.pause(self.topic)
        connect.wait_until_state(self.topic, "PAUSED")
        hold(4 * FETCH_WAITS_S)
        yield
        connect.resume(self.topic)
        connect.wait_until_state(self.topic, "RUNNING")

    def under(self, *faults: Fault, hold_s: float = HOLD_S, then: Callable[[], None] = lambda: None) -> None:
        """One or more faults at once, held under load; then heal, and recover."""
        with self.load():
            self.broken(*faults, hold_s=hold_s, then=then)
            self.recover()

    def broken(self, *faults: Fault, hold_s: float = HOLD_S, then: Callable[[], None] = lambda: None) -> None:
        self.recovered_s = None  # of what came before
        with self._in_force(faults):
            hold(hold_s)
            then()
        self._healed_at = time.time()
        if spans := [span for injected in self._faults if (span := injected.entry.span)]:
            begin = min(span.begin for span in spans)
            self._healed_at = max(span.end or begin for span in spans)
            self.outage_s = self._healed_at - begin

    @contextmanager
    def _in_force(self, faults: Sequence[Fault]) -> Iterator[None]:
        if not faults:
            yield
            return
        with self.lab.inject(faults[0], limit_s=600) as injected:
            self._faults.append(injected)
            with self._in_force(faults[1:]):
                yield

    def recover(self) -> None:
        """Until the target has what the source had when all was healed, and a while longer."""
        owed = self.lab.source.offsets(self.topic)
        mirrored = [Mirrored(topic=self.topic, remote=self.remote)]
        isolation = self.connector().isolation
        with LagWatcher(self.lab.source, self.lab.target, mirrored, isolation=isolation) as watcher:

            def observe() -> bool | NotYet:
                self._mend()
                return _reached(watcher, owed)

            wait_until(
                observe,
                timeout_s=RECOVERS_S,
                what=f'"{self.remote}" has all that "{self.topic}" had when the fault was healed',
                transient=(ClusterError, ConnectError, TimedOut),
                pause_s=0.2,
            )
        if self._healed_at is not None:
            self.recovered_s = time.time() - self._healed_at
        hold(AFTER_S)

    def _mend(self) -> None:
        """A task that has failed stays so, until somebody restarts it, as an operator would."""
        for task in self.lab.connect.status(self.topic).tasks:
            if task.state == "FAILED":
                self.lab.connect.restart(self.topic, task.id)

    def judge(self) -> Judged:
        """Spark's verdict on every record, which stays with the run under the topic's name."""
        repeats = self.guarantee == AT_LEAST_ONCE
        self.judged = judged = self.lab.verify(self.topic, only=ABOUT_RECORDS, allow_duplicates=repeats)
        assert judged.saved is not None
        for kind in (".json", ".html"):
            saved = judged.saved.with_suffix(kind)
            saved.rename(saved.with_stem(f"verdict-{self.topic}"))
        return judged

    def line(self, test: str) -> Line | None:
        """For the table, once it was judged; the test's name begins with the fault's number."""
        if self.judged is None:
            return None
        number, _, fault = test.removeprefix("test_").partition("_")
        counts = {verdict.check: verdict.counts for verdict in self.judged.verdicts}
        return Line(
            number=number.lstrip("0"),
            fault=fault.replace("_", " "),
            guarantee=self.guarantee,
            outage_s=round(self.outage_s, 1),
            recovered_s=None if self.recovered_s is None else round(self.recovered_s, 1),
            sent=self.sent,
            lost=counts["loss"]["lost"],
            duplicated=counts["duplicates"]["extra"],
            reordered=counts["order"]["inverted"],
        )


def nothing_is_lost(mirror: UnderLoad, *, in_order: bool = True) -> Judged:
    judged = mirror.judge()
    objections = {v.check for v in judged.verdicts if v.outcome in (Outcome.FAIL, Outcome.UNKNOWN)}
    assert objections <= (set() if in_order else {"order"}), wrong(judged)
    return judged


def hold(seconds: float) -> None:
    """The time is what is wanted here, not a condition."""
    begin = time.monotonic()
    wait_until(
        lambda: time.monotonic() - begin >= seconds or NotYet(f"{time.monotonic() - begin:.1f} s"),
        timeout_s=2 * seconds + 10,
        what=f"{seconds:g} s of it",
        pause_s=0.2,
    )


def wrong(judged: Judged) -> list[str]:
    return [
        f"{v.check}: {v.meaning}" for v in judged.verdicts if v.outcome in (Outcome.FAIL, Outcome.UNKNOWN)
    ]


def _reached(watcher: LagWatcher, owed: dict[int, Offsets]) -> bool | NotYet:
    to = {sample.partition: sample.mirrored_to for sample in watcher.sample()}
    left = {p: f"{to.get(p)} of {o.end}" for p, o in owed.items() if o.count and (to.get(p) or 0) < o.end}
    return not left or NotYet(f"mirrored to, by partition: {left}")
