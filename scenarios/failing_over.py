"""Applications that fail over from a cluster to another, and the table of what that meant for each of them.

Their topics have the same names on both.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.consuming import Consuming, Subscription
from lab.kafka import Cluster, GroupOffset, Offsets, Place
from lab.ledger import ACKED
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.checkpoints import Checkpoints

Sent = tuple[int, str, int]  # partition, run and sequence: one record of a workload


def acked(ledgers: Iterable[tuple[Path, str]]) -> set[Sent]:
    """The records that the source has acknowledged, by the ledgers and runs of its producers."""
    found: set[Sent] = set()
    for path, run in ledgers:
        rows = pq.read_table(path, filters=pc.field("outcome") == ACKED)
        partitions, sequences = rows["partition"].to_pylist(), rows["sequence"].to_pylist()
        found |= {(p, run, s) for p, s in zip(partitions, sequences, strict=True)}
    return found


def sent(path: Path) -> int:
    """How many records a producer may have sent."""
    return int(pq.read_metadata(path).num_rows)


def processed(path: Path) -> set[Sent]:
    """The records that an application has processed, each once, by its account."""
    columns = ("partition", "run", "sequence")
    rows = pq.read_table(path, columns=list(columns))
    return set(zip(*(rows[column].to_pylist() for column in columns), strict=True))


@dataclass
class Application:
    """A consumer group of one member: on the source until it is stopped or killed, then on the target."""

    group: str
    topic: str
    folder: Path
    read_here: set[Sent] = field(default_factory=set)
    read_there: set[Sent] = field(default_factory=set)
    starts: Mapping[int, int] = field(default_factory=dict)  # partition → where it goes on on the target

    def on(self, cluster: Cluster) -> Consuming:
        asked = Subscription(group=self.group, topics=(self.topic,), commit_every_s=0.5)
        return Consuming(cluster, asked, self.folder / cluster.alias)

    def begin(self, source: Cluster, stack: ExitStack) -> None:
        self.here = stack.enter_context(self.on(source))

    def stop(self) -> None:
        """It has committed what it has processed."""
        self.read_here = processed(self.here.stop().path)

    def kill(self) -> None:
        self.read_here = processed(self.here.kill().path)

    def fail_over(self, target: Cluster, stack: ExitStack) -> None:
        committed = target.group_offsets(self.group)
        self.starts = {p: o.offset for (topic, p), o in committed.items() if topic == self.topic}
        self.there = stack.enter_context(self.on(target))

    def wait_until_at_end(self, ends: Mapping[int, Offsets]) -> None:
        """Until it has read the target's partitions up to there."""

        def observe() -> bool | NotYet:
            positions = self.there.standing.positions
            left = {
                p: end.end - at
                for p, end in ends.items()
                if (at := positions.get((self.topic, p), self.starts.get(p, end.start))) < end.end
            }
            return not left or NotYet(f"offsets left: {left}")

        what = f'group "{self.group}" at the end of "{self.topic}" on the target'
        wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=what)

    def end(self) -> None:
        self.read_there = processed(self.there.stop().path)


# -- what it meant -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Row:
    """One partition of one group that failed over. Numbers are of records."""

    failover: int
    group: str
    partition: int
    at_rest: bool  # nothing was written to the topic any more when its source was killed
    behind: int  # from what it had committed to the head of the source
    past_checkpoint: int | None  # from its checkpoint to what it had committed; None without a checkpoint
    again: int  # read on both clusters
    skipped: int  # acknowledged, and read on neither


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What a failover would lose if the source never came back: its recovery point."""

    failover: int
    acked: int
    unknown: int
    not_mirrored: int  # of the acked
    seconds: float  # from the oldest of these to the kill


def rows(
    failover: int,
    application: Application,
    owed: set[Sent],
    *,
    at_rest: bool,
    ends: Mapping[int, Offsets],
    committed: Mapping[Place, GroupOffset],
    told: Checkpoints,
) -> list[Row]:
    again = application.read_here & application.read_there
    skipped = owed - application.read_here - application.read_there
    made = []
    for partition, offsets in sorted(ends.items()):
        place = (application.topic, partition)
        at = committed[place].offset if place in committed else offsets.start
        checkpointed = told.get((application.group, application.topic, partition))
        made.append(
            Row(
                failover=failover,
                group=application.group,
                partition=partition,
                at_rest=at_rest,
                behind=offsets.end - at,
                past_checkpoint=None if checkpointed is None else at - checkpointed.upstream,
                again=sum(p == partition for p, *_ in again),
                skipped=sum(p == partition for p, *_ in skipped),
            )
        )
    return made


_DISTANCES = {
    "at the head": (0, 0),
    "1 to 99": (1, 99),
    "100 to 999": (100, 999),
    "1,000 or more": (1_000, 10**9),
}


def table(found: Sequence[Row], losses: Sequence[Loss]) -> str:
    """For people: re-reads against the distance from the head, then the recovery points."""
    skipped = sum(row.skipped for row in found)
    lines = [
        f"{len(losses)} failovers, {len(found)} partitions of groups, {skipped} records skipped",
        "",
        "                                           read again",
        "behind the head  topic    partitions  least  median    most",
    ]
    for words, (least, most) in _DISTANCES.items():
        for kind, at_rest in (("at rest", True), ("in use", False)):
            of = [row.again for row in found if row.at_rest is at_rest and least <= row.behind <= most]
            if of:
                told = f"{min(of):>5,}  {median(of):>6,.0f}  {max(of):>6,}"
                lines.append(f"{words:<15}  {kind:<7}  {len(of):>10,}  {told}")
    lines += ["", "failover   acked  unknown  not mirrored  the oldest of these, s before the kill"]
    lines += [
        f"{e.failover:>8}  {e.acked:>6,}  {e.unknown:>7,}  {e.not_mirrored:>12,}  {e.seconds:.1f}"
        for e in losses
    ]
    return "\n".join(lines) + "\n"


def data(found: Sequence[Row], losses: Sequence[Loss], **facts: object) -> dict[str, object]:
    return {**facts, "losses": [asdict(loss) for loss in losses], "rows": [asdict(row) for row in found]}
