"""When the source is killed under load, groups go on at the target: none skips a record, few are read again.

Claim: at random moments (the seed can be given: `--failovers 20 --seed 7`) the source's only broker is killed
while records are written and read. Every group starts on the target, where MM2 has synced its offsets to,
and in the end has read every record that the source had acknowledged, on one side or the other. A group at
the head of a topic at rest reads fewer than `offset.lag.max` records of a partition again; what others read
again, by their distance from the head, stands in the table that the run keeps. What was acknowledged and not
mirrored when the source went is counted: it comes once the source is back, and would be lost without that.
"""

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lab.harness import Lab
from lab.kafka import ClusterError, GroupOffset, Offsets, Place
from lab.mm2_records import decoded, offset_sync
from lab.producing import Producing
from lab.records import identity_in
from lab.run import Run
from lab.switching import Standing, Switching
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, NotYet, wait_until
from lab.workload import Plan
from scenarios import failing_over
from scenarios.checkpoints import Checkpoints, checkpoints, wait_until_checkpointed, wait_until_synced
from scenarios.failing_over import Application, Loss, Row, acked, rows
from scenarios.telling import tell

pytestmark = pytest.mark.topology("migration")

LAG_MAX = 100  # offset.lag.max: MM2's default
PARTITIONS, RATE_PER_S = 3, 400
REST_S, GIVE_UP_S = 4.0, 3.0
QUICK = {f"{what}.interval.seconds": "1" for what in ("refresh.topics", "sync.topic.configs")}
QUICK_GROUPS = {
    f"{what}.interval.seconds": "1" for what in ("refresh.groups", "emit.checkpoints", "sync.group.offsets")
}
JUDGED = ("reading", "ledger", "loss", "catch_up", "duplicates", "order", "translation", "tightness")
FINE = (Outcome.PASS, Outcome.NOT_APPLICABLE)


@dataclass
class Results:
    found: list[Row] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)


@dataclass
class Failover:
    """One of them: its own topics and groups, and what became of them."""

    lab: Lab
    number: int
    folder: Path
    dice: random.Random
    ledgers: dict[str, list[tuple[Path, str]]] = field(default_factory=dict)
    applications: list[Application] = field(default_factory=list)

    @property
    def at_rest(self) -> str:
        return f"failover-{self.number}-rest"

    @property
    def in_use(self) -> str:
        return f"failover-{self.number}-use"

    def plan(self, topic: str, **given: float) -> tuple[Plan, Path]:
        """Of one more workload of a topic, with a ledger of its own."""
        its = self.ledgers.setdefault(topic, [])
        run = f"{topic.rpartition('-')[2]}{self.number}part{len(its)}at{self.folder.parent.name[9:15]}"
        folder = self.folder / run
        its.append((folder / "ledger.parquet", run))
        plan = Plan(run=run, rate_per_s=given["rate_per_s"])
        return replace(plan, records=int(given["records"])) if "records" in given else plan, folder

    def application(self, topic: str, what: str, stack: ExitStack) -> Application:
        group = f"{topic}-{what}"
        application = Application(group=group, topic=topic, folder=self.folder / group)
        application.begin(self.lab.source, stack)
        self.applications.append(application)
        return application


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, run: Run) -> Iterator[Results]:
    """Kept after each failover and shown after the last."""
    results = Results()
    yield results
    if results.losses:
        told = failing_over.table(results.found, results.losses)
        tell(request.config, f"{told}kept in {run.path}: failovers.json, failovers.txt")


@pytest.fixture(scope="module", autouse=True)
def connectors(lab: Lab) -> None:
    lab.source.create_topic("failover-0-none")  # a connector that finds no topic has no task to wait for
    lab.deploy(lab.connector("mm2-msc", topics="failover-.*", **QUICK))
    lab.deploy(lab.connector("mm2-cpc-sync", groups="failover-.*", **QUICK_GROUPS))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "number" in metafunc.fixturenames:
        metafunc.parametrize("number", range(1, metafunc.config.getoption("--failovers") + 1))


def test_the_source_is_killed_under_load(
    lab: Lab, run: Run, results: Results, request: pytest.FixtureRequest, number: int
) -> None:
    dice = random.Random(f"{request.config.getoption('--seed')}-{number}")  # noqa: S311 - moments, not secrets
    failover = Failover(lab, number, run.path / f"failover-{number}", dice)
    for topic in (failover.at_rest, failover.in_use):
        lab.source.create_topic(topic, partitions=PARTITIONS)
    with ExitStack() as stack:
        read_at_distances(failover, stack)
        try:
            killed_ms = kill_under_load(failover, stack)
            ends = wait_until_target_rests(failover)
            for application in failover.applications:
                application.fail_over(lab.target, stack)
            for application in failover.applications:
                application.wait_until_at_end(ends[application.topic])
            there = sent_in(failover, failover.in_use)
            told = checkpoints(lab.target, lab.connector("mm2-cpc").checkpoints_topic)
        finally:
            lab.project.start("msksource", timeout_s=SERVICES_HEALTHY_S)
            lab.source.wait_until_answers(1)
        lost = lost_records(failover, there, killed_ms)
        found = outcome(failover, told)

    results.losses.append(lost)
    results.found += found
    seed = request.config.getoption("--seed")
    run.save("failovers.json", failing_over.data(results.found, results.losses, seed=seed))
    run.save("failovers.txt", failing_over.table(results.found, results.losses))
    assert [row for row in found if row.skipped] == []
    at_head = [row for row in found if row.at_rest and not row.behind]
    assert len(at_head) == PARTITIONS
    assert [row for row in at_head if row.again >= LAG_MAX] == []
    assert_counted_alike(failover, found)
    for topic in (failover.at_rest, failover.in_use):
        judged = lab.verify(topic, only=JUDGED)
        assert {v.check: v.meaning for v in judged.verdicts if v.outcome not in FINE} == {}


def read_at_distances(failover: Failover, stack: ExitStack) -> None:
    """Groups stop one by one while a topic grows, the last at its head; then the target has all of that."""
    lab, dice, topic = failover.lab, failover.dice, failover.at_rest
    parts = [dice.randint(*range_) for range_ in ((1_000, 2_000), (1_500, 6_000), (300, 2_500), (15, 250))]
    whats = ("far", "farther-on", "near", "head")
    applications = [failover.application(topic, what, stack) for what in whats]
    written = 0
    for records, application in zip(parts, applications, strict=True):
        plan, folder = failover.plan(topic, records=records, rate_per_s=2_000)
        with Producing(lab.source, topic, plan, folder) as producing:
            producing.wait()
        written += records
        application.here.wait_for_processed(written)
        application.stop()
    lab.target.wait_for_records(topic, at_least=written, timeout_s=RECORDS_ARRIVE_S)
    # by this group MM2 shows that it has looked since: a commit need not make it write a checkpoint
    marker = f"{topic}-marker"
    ends = lab.source.offsets(topic)
    lab.source.commit(marker, {(topic, p): GroupOffset(offset=end.end) for p, end in ends.items()})
    held = lab.connector("mm2-cpc").checkpoints_topic
    wait_until_checkpointed(lab.source, lab.target, held, marker)
    wait_until_synced(lab.target, held, [application.group for application in applications])


def kill_under_load(failover: Failover, stack: ExitStack) -> int:
    """One group stops early and one reads on to the end; when that was, in ms."""
    lab, topic = failover.lab, failover.in_use
    records = failover.dice.randint(1_000, 5_000)
    early = failover.dice.randint(300, records - 300)
    plan, folder = failover.plan(topic, rate_per_s=RATE_PER_S)
    stopping, reading = (failover.application(topic, what, stack) for what in ("stopped", "reading"))
    with Producing(lab.source, topic, plan, folder) as producing:
        producing.patience_s = GIVE_UP_S
        producing.wait_for_acked(early)
        stopping.here.wait_for_processed(1)
        stopping.stop()
        producing.wait_for_acked(records)
        reading.here.wait_for_processed(1)
        lab.target.wait_for_records(topic, at_least=1, timeout_s=RECORDS_ARRIVE_S)
        lab.project.kill("msksource")
        killed_ms = time.time_ns() // 1_000_000
    reading.kill()  # it could not commit any more
    return killed_ms


def wait_until_target_rests(failover: Failover) -> dict[str, dict[int, Offsets]]:
    """Until neither records nor group offsets have come for a while: the ends of both topics."""
    topics, groups = (failover.at_rest, failover.in_use), [each.group for each in failover.applications]
    target, since, before = failover.lab.target, time.monotonic(), None

    def observe() -> bool | NotYet:
        nonlocal since, before
        now = (target.offsets_of(topics), [target.group_offsets(group) for group in groups])
        if now != before:
            since, before = time.monotonic(), now
        return time.monotonic() - since > REST_S or NotYet("something came")

    wait_until(
        observe,
        timeout_s=RECORDS_ARRIVE_S,
        what="nothing more comes to the target",
        transient=(ClusterError,),
    )
    return {topic: target.offsets(topic) for topic in topics}


def sent_in(failover: Failover, topic: str) -> set[failing_over.Sent]:
    """The records of a topic on the target."""
    found = ((r.partition, identity_in(r.value, None)) for r in failover.lab.target.snapshot(topic))
    return {(partition, identity[0], identity[2]) for partition, identity in found if identity}


def lost_records(failover: Failover, there: set[failing_over.Sent], killed_ms: int) -> Loss:
    """What the source has acknowledged and the target had not when all had failed over."""
    (ledger,) = failover.ledgers[failover.in_use]
    owed = acked([ledger])
    lost = owed - there
    times = {
        (r.partition, identity[0], identity[2]): r.timestamp_ms or 0
        for r in failover.lab.source.snapshot(failover.in_use)
        if (identity := identity_in(r.value, None))
    }
    sent = failing_over.sent(ledger[0])
    return Loss(
        failover=failover.number,
        acked=len(owed),
        unknown=sent - len(owed),
        not_mirrored=len(lost),
        seconds=max(0.0, (killed_ms - min(times[each] for each in lost)) / 1000) if lost else 0.0,
    )


def outcome(failover: Failover, told: Checkpoints) -> list[Row]:
    """Once the source is back and everything has come, also to the applications on the target."""
    lab, found = failover.lab, []
    for topic in (failover.at_rest, failover.in_use):
        count = sum(offsets.count for offsets in lab.source.offsets(topic).values())
        lab.target.wait_for_records(topic, at_least=count, timeout_s=RECORDS_ARRIVE_S)
    for application in failover.applications:
        topic = application.topic
        application.wait_until_at_end(lab.target.offsets(topic))
        application.end()
        found += rows(
            failover.number,
            application,
            acked(failover.ledgers[topic]),
            at_rest=topic == failover.at_rest,
            ends=lab.source.offsets(topic),
            committed=committed_on_source(lab, application.group),
            told=told,
        )
    return found


def committed_on_source(lab: Lab, group: str) -> Mapping[Place, GroupOffset]:
    """A broker that has just started may not have read what groups have committed yet."""
    return wait_until(
        lambda: lab.source.group_offsets(group) or NotYet("nothing"),
        timeout_s=RECORDS_ARRIVE_S,
        what=f'offsets of group "{group}" on the source',
        transient=(ClusterError,),
    )


def assert_counted_alike(failover: Failover, found: list[Row]) -> None:
    """`lab groups --compare` would have said the same, of those that stopped in order."""
    lab = failover.lab
    syncs = decoded(offset_sync, lab.source.snapshot(lab.connector("mm2-msc").offset_syncs_topic))
    again = {(row.group, row.partition): row.again for row in found}
    with closing(Switching(lab.source, lab.target, syncs)) as switching:
        for application in failover.applications:
            committed = committed_on_source(lab, application.group)
            standings = [
                Standing(
                    topic=application.topic,
                    remote=application.topic,
                    partition=partition,
                    committed=committed[application.topic, partition].offset,
                    starts_at=start,
                )
                for partition, start in sorted(application.starts.items())
                if not application.group.endswith("-reading")
            ]
            for standing, switch in zip(standings, switching.judge(standings), strict=True):
                assert switch.skipped == 0
                assert not switch.exact or switch.again == again[application.group, standing.partition]
