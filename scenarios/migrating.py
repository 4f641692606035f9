"""A migration as tutorials walk it: what its steps do, and a table of what each of them took.

A group and its producers move from the source to the target. Each step is one method, timed, with how many
records were acknowledged and processed meanwhile; the two pauses are what people have to get approved.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lab import consumption
from lab.consuming import Consuming, Subscription, Summary, summary
from lab.consumption import Consumption
from lab.harness import Lab
from lab.kafka import Cluster, ClusterError, Place
from lab.lag import LagWatcher, Mirrored
from lab.mm2_records import Checkpoint
from lab.producing import Producing
from lab.records import Plan
from lab.run import Run
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios import console_consumer
from scenarios.checkpoints import checkpoints
from scenarios.commands import lab_command
from scenarios.syncing import Syncing

T = TypeVar("T")

PARTITIONS = 3
RATE_PER_S = 200.0


@dataclass
class Migration:
    """One group's. `topics` are the source's; a stream is named by the topic where it began."""

    lab: Lab
    run: Run
    group: str
    topics: tuple[str, ...]
    connectors: tuple[str, str, str]  # source, checkpoint and heartbeat connector, by their files
    pattern: str = ".*ExampleTopic"
    table: list[dict[str, Any]] = field(default_factory=list)
    streams: dict[str, list[list[Path]]] = field(default_factory=dict)
    accounts: list[Path] = field(default_factory=list)
    sessions: list[Summary] = field(default_factory=list)
    said_again: int | None = None  # how many records were said to be read again
    write_pause_s: float | None = None
    producing: dict[str, Producing] = field(default_factory=dict)
    application: Consuming | None = None
    left: ExitStack = field(default_factory=ExitStack)
    _sending: ExitStack = field(default_factory=ExitStack)
    _syncing: Syncing | None = None
    _stopped_at: float | None = None

    @property
    def folder(self) -> Path:
        return self.run.path / self.group

    # -- the table ---------------------------------------------------------------------------------------

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        sent, read, begin = self.acked, self._processed(), time.monotonic()
        yield
        self.table.append(
            {
                "step": name,
                "seconds": round(time.monotonic() - begin, 1),
                "acked": self.acked - sent,
                "processed": self._processed() - read,
            }
        )

    @property
    def acked(self) -> int:
        return sum(producing.ledger.acked for producing in self.producing.values())

    def _processed(self) -> int:
        now = 0 if self.application is None else self.application.standing.processed
        return now + sum(said.standing.processed for said in self.sessions)

    @property
    def read_pause_s(self) -> float:
        """Between the last record that was processed on the source and the first one on the target."""
        before = [s.standing.last_ms for s in self.sessions if s.heading.cluster == self.lab.source.alias]
        after = [s.standing.first_ms for s in self.sessions if s.heading.cluster == self.lab.target.alias]
        return (min(filter(None, after)) - max(filter(None, before))) / 1000

    def _save(self, judged: Consumption) -> None:
        """The table and the verdict, into the run's folder."""
        pauses = {"read_pause_s": round(self.read_pause_s, 1), "write_pause_s": self.write_pause_s}
        self.run.save(
            f"migration-{self.group}.json", {"steps": self.table, **pauses, "judged": asdict(judged)}
        )
        rows = [f"{r['step']:<58} {r['seconds']:>8} {r['acked']:>8} {r['processed']:>9}" for r in self.table]
        head = f"{'step':<58} {'seconds':>8} {'acked':>8} {'processed':>9}"
        told = [f"{v.check}: {v.outcome}, {v.meaning}" for v in judged.verdicts]
        pause = [f"{name} {seconds}" for name, seconds in pauses.items() if seconds is not None]
        self.run.save(f"migration-{self.group}.txt", "\n".join([head, *rows, "", *pause, "", *told, ""]))

    # -- producers and applications --------------------------------------------------------------------

    def start_producers(self, cluster: Cluster, to: Mapping[str, str] | None = None) -> None:
        """One for each stream, into its topic or the one that `to` names, until they are stopped."""
        with self.step(f"producers start on {cluster.alias}"):
            for topic in self.topics:
                ledgers = self.streams.setdefault(topic, [])
                name = f"{topic}{len(ledgers)}"
                plan = Plan(run=f"{name}x{self.run.path.name[9:15]}", rate_per_s=RATE_PER_S, keys=100)
                into = (to or {}).get(topic, topic)
                producing = Producing(cluster, into, plan, self.folder / name)
                self._sending.enter_context(producing)
                ledgers.append([producing.path])
                self.producing[name] = producing
                producing.wait_for_acked(1)
            if self._stopped_at is not None and self.write_pause_s is None:
                self.write_pause_s = round(time.monotonic() - self._stopped_at, 1)

    def stop_producers(self) -> None:
        with self.step("producers stop"):
            self._stopped_at = self._stopped_at or time.monotonic()
            self._sending.close()

    def wait_for_acked(self, more: int) -> None:
        """By each of the producers that are at work now."""
        for producing in list(self.producing.values())[-len(self.topics) :]:
            producing.wait_for_acked(producing.ledger.acked + more)

    def start_application(self, cluster: Cluster, **settings: Any) -> Consuming:
        with self.step(f"application starts on {cluster.alias}"):
            subscription = Subscription(
                group=self.group, pattern=self.pattern, **{"commit_every_s": 1.0, **settings}
            )
            folder = self.folder / f"application-{len(self.accounts)}"
            self.application = self.left.enter_context(Consuming(cluster, subscription, folder))
            self.application.wait_for_processed(1)
        return self.application

    def stop_application(self, *, cleanly: bool = True) -> Summary:
        assert self.application is not None
        with self.step("application stops" if cleanly else "application is killed"):
            said = self.application.stop() if cleanly else self.application.kill()
            self.application = None
            self._have(said)
        return said

    def _have(self, said: Summary) -> None:
        self.sessions.append(said)
        self.accounts.append(said.path)

    def resume_with_kafkas_own(self, cluster: Cluster, count: int) -> Summary:
        """So many records are read by Kafka's console consumer, as a member of the same group."""
        with self.step(f"Kafka's console consumer goes on, on {cluster.alias}"):
            folder = self.folder / f"application-{len(self.accounts)}"
            path = console_consumer.read(self.lab, cluster, self.group, self.topics[0], count, folder)
            said = summary(path)
            self._have(said)
        return said

    # -- MM2 and offsets ----------------------------------------------------------------------------------

    def start_mm2(self) -> None:
        with self.step("MM2 starts, and has mirrored all so far"):
            for name in self.connectors:
                self.lab.deploy(self.lab.connector(name))
            self.wait_until_mirrored()

    def stop_mm2(self) -> None:
        with self.step("MM2 stops"):
            for name in self.connectors:
                self.lab.connect.stop(self.lab.connector(name).name)

    def remote(self, topic: str) -> str:
        return self.lab.connector(self.connectors[0]).remote_topic(topic)

    def start_sync(self, *more: str) -> None:
        """`lab sync-offsets` with the options of the tutorial's program, and its file for the destination."""
        with self.step("offset sync starts"):
            self.lab.target.wait_for_topic(self._checkpoints_topic)
            options = ("-cgi", self.group, "-src", self.lab.source.alias, "-int", "1", *more)
            self._syncing = self.left.enter_context(Syncing(self.lab.target, options, self.folder))

    def stop_sync(self) -> int:
        """Ctrl-C; its exit code says that it was interrupted."""
        assert self._syncing is not None
        with self.step("offset sync stops"):
            return self._syncing.interrupt()

    def wait_until_synced(self) -> dict[Place, Checkpoint]:
        """Until the group's offsets on the target are those of its last checkpoints, in every partition.

        A checkpoint is written only when its offset on the target moves forward. So one may never say all
        that the group has committed: then it is the last one when several intervals have brought no other.
        """
        config = self.lab.connector(self.connectors[1]).config
        settled_s = 3 * float(config["emit.checkpoints.interval.seconds"])
        before: dict[Place, Checkpoint] = {}
        since = time.monotonic()

        def observe() -> dict[Place, Checkpoint] | NotYet:
            nonlocal before, since
            found = checkpoints(self.lab.target, self._checkpoints_topic)
            told = {(topic, p): c for (group, topic, p), c in found.items() if group == self.group}
            committed = self.committed(self.lab.source)
            wanted = {(self.remote(topic), p): offset for (topic, p), offset in committed.items()}
            upstream = {place: c.upstream for place, c in told.items()}
            if told != before:
                before, since = told, time.monotonic()
            last = upstream == wanted or time.monotonic() - since > settled_s
            if upstream.keys() != wanted.keys() or not last:
                return NotYet(f"checkpoints of {upstream}, committed is {wanted}")
            there = self.committed(self.lab.target)
            synced = {place: c.downstream for place, c in told.items()}
            return told if synced.items() <= there.items() else NotYet(f"{there}, not {synced}")

        with self.step("the last committed offsets are synced"):
            return self._wait(observe, f'offsets of group "{self.group}" on the target')

    def committed(self, cluster: Cluster) -> dict[Place, int]:
        return {place: at.offset for place, at in cluster.group_offsets(self.group).items()}

    @property
    def _checkpoints_topic(self) -> str:
        return self.lab.connector(self.connectors[1]).checkpoints_topic

    def compare(self) -> tuple[int, int, bool]:
        """What `lab groups --compare` says: read again, skipped, and whether that is exact."""
        options = ("--compare", "--group", self.group, "--json", "--name", self.lab.name)
        told = [row["switch"] for row in lab_command("groups", *options).json["groups"]]
        again, skipped = (sum(row[count] or 0 for row in told) for count in ("again", "skipped"))
        self.said_again = again
        return again, skipped, bool(told) and all(row["exact"] for row in told)

    # -- what is waited for -------------------------------------------------------------------------------

    def wait_until_mirrored(self) -> None:
        """MM2's lag is 0, or is no more than what is under way at any time while producers are at work."""
        allowed = 0 if self._stopped_at is not None else RATE_PER_S
        mirrored = [Mirrored(topic=topic, remote=self.remote(topic)) for topic in self.topics]

        def observe() -> bool | NotYet:
            lags = [sample.lag for sample in watcher.sample()]
            here = len(lags) == PARTITIONS * len(self.topics)
            fine = here and all(lag is not None and lag <= allowed for lag in lags)
            return fine or NotYet(f"lags {lags}")

        with LagWatcher(self.lab.source, self.lab.target, mirrored) as watcher:
            self._wait(observe, "MM2 has caught up")

    def wait_until_pipeline_is_empty(self) -> None:
        """All is mirrored, and the group has committed all of that on the target."""
        with self.step("the pipeline is empty"):
            self.wait_until_mirrored()
            remotes = [self.remote(topic) for topic in self.topics]

            def observe() -> bool | NotYet:
                ends = {place: o.end for place, o in self.lab.target.offsets_of(remotes).items()}
                there = self.committed(self.lab.target)
                behind = {place: end - there.get(place, 0) for place, end in ends.items()}
                return not any(behind.values()) or NotYet(f"the group is behind by {behind}")

            self._wait(observe, f'group "{self.group}" has read all of it')

    def wait_until_all_is_processed(self) -> None:
        """Whatever the group's topics on the target hold, once nobody writes there any more."""
        names = [t for t in self.lab.target.topic_names() if re.fullmatch(self.pattern, t)]

        def observe() -> bool | NotYet:
            ends = {place: o.end for place, o in self.lab.target.offsets_of(names).items() if o.end}
            there = self.committed(self.lab.target)
            behind = {place: end - there.get(place, 0) for place, end in ends.items()}
            return not any(behind.values()) or NotYet(f"the group is behind by {behind}")

        with self.step("the group has read all there is"):
            self._wait(observe, f'group "{self.group}" has read all')

    def _wait(self, observe: Callable[[], T | NotYet], what: str) -> T:
        return wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=what, transient=(ClusterError,))

    def conclude(self, *, allowed_again: int | None = None) -> Consumption:
        """Once nobody writes any more: Spark's verdict over all that the group processed on both clusters."""
        self.wait_until_all_is_processed()
        self.stop_application()
        judged = consumption.judge(
            self.lab.spark, streams=self.streams, accounts=self.accounts, allowed_again=allowed_again
        )
        self._save(judged)
        return judged

    def close(self) -> None:
        self._sending.close()
        self.left.close()
