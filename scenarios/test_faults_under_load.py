"""What MM2 does under faults with at-least-once delivery: nothing acknowledged is lost, or Spark names it.

Claim: records flow at 500 a second before, during and after each fault. When it is healed and MM2 has
recovered, every record that the source acknowledged is on the target, in order within its partition; some
may be there twice. Where records are gone before MM2 has read them, where a topic is created again under
MM2's feet, and where the target refuses what it is told to tolerate, records are lost in silence: Spark
then names exactly those, while Connect says RUNNING. The run ends with a table: seconds of outage and until
recovery, records lost, repeated and out of order. The numbers of the tests are those of the table.
"""

from collections.abc import Iterator
from dataclasses import asdict

import pytest

from lab.errors import LabError
from lab.faults import (
    Brokers,
    CutLink,
    DeleteRecords,
    DiskFull,
    Kill,
    Leader,
    NarrowLink,
    Partition,
    Pause,
    RecreateTopic,
    RefuseRecords,
    ResetLink,
    Service,
    SlowLink,
    Stop,
    WorkerOf,
    Workers,
)
from lab.harness import Lab
from lab.run import Run
from lab.verdict import Outcome
from lab.verification import Judged
from lab.wait import CONNECTOR_RUNS_S, RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import Plan, Producing
from scenarios.under_load import (
    AT_LEAST_ONCE,
    HOLD_S,
    LINE,
    PARTITIONS,
    RATE_PER_S,
    RECOVERS_S,
    UnderLoad,
    hold,
    wrong,
)
from scenarios.workers import follower, workers_with

pytestmark = pytest.mark.topology("resilience")

CONNECTS_DELAY_S = 300
RESTARTS_S = 60.0  # of a worker, which is part of the outage
LONGER_THAN_A_SESSION_S = 20.0  # a worker's with its group, 10 s


@pytest.fixture
def mirror(lab: Lab, run: Run, topic: str) -> Iterator[UnderLoad]:
    mirror = UnderLoad(lab, run, topic, AT_LEAST_ONCE)
    yield mirror
    mirror.forget()


@pytest.fixture
def lines(request: pytest.FixtureRequest, mirror: UnderLoad) -> Iterator[list[Judged]]:
    """The verdict that the test adds becomes a line of the table."""
    found: list[Judged] = []
    yield found
    number, _, fault = request.node.originalname.removeprefix("test_").partition("_")
    for judged in found:
        line = mirror.line(number.lstrip("0"), fault.replace("_", " "), judged)
        request.node.user_properties.append((LINE, asdict(line)))


def nothing_is_lost(mirror: UnderLoad, lines: list[Judged], *, in_order: bool = True) -> Judged:
    judged = mirror.judge()
    lines.append(judged)
    objections = {v.check for v in judged.verdicts if v.outcome in (Outcome.FAIL, Outcome.UNKNOWN)}
    assert objections <= (set() if in_order else {"order"}), wrong(judged)
    return judged


@pytest.mark.slow
@pytest.mark.smoke
def test_01_nothing(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Without a fault nothing is lost, nothing is repeated, and all is in order."""
    mirror.under()
    judged = nothing_is_lost(mirror, lines)
    assert all(v.counts["extra"] == 0 for v in judged.verdicts if v.check == "duplicates")


@pytest.mark.smoke
def test_02_source_leader_killed(mirror: UnderLoad, lines: list[Judged]) -> None:
    """With two replicas in sync, the next leader has all that was acknowledged."""
    mirror.under(Kill(victim=Leader(cluster="source", topic=mirror.topic)))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_04_target_leader_killed(mirror: UnderLoad, lines: list[Judged]) -> None:
    """What was not acknowledged is sent to the next leader again."""
    with mirror.load():
        mirror.broken(Kill(victim=Leader(cluster="target", topic=mirror.remote)))
        mirror.recover()
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_05_target_brokers_down(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Producers of the source notice nothing; what they send meanwhile is mirrored afterwards."""
    with mirror.load() as producing:
        before = producing.ledger.acked
        mirror.broken(Kill(victim=Brokers("target")))
        assert producing.ledger.acked > before + HOLD_S * RATE_PER_S / 2
        mirror.recover()
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_06_source_brokers_down(mirror: UnderLoad, lines: list[Judged]) -> None:
    """All that Connect says meanwhile is RUNNING: it looks like a flow at rest."""

    def says_running() -> None:
        status = mirror.lab.connect.status(mirror.topic)
        assert [task.state for task in status.tasks] == ["RUNNING"] * 2

    mirror.under(Kill(victim=Brokers("source")), then=says_running)
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
@pytest.mark.smoke
def test_07_one_of_two_workers_killed(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Its task goes on from the last offset that was committed, and repeats what follows that."""
    mirror.under(Kill(victim=WorkerOf(connector=mirror.topic)))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_07_one_killed_and_connects_default_delay(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Its task waits for 300 s, and for 300 s Connect says RUNNING of it; that it is back changes nothing."""
    value = str(1000 * CONNECTS_DELAY_S)
    with workers_with(mirror.lab, "LAB_REBALANCE_DELAY_MS", value, key="scheduled.rebalance.max.delay.ms"):
        with mirror.load():
            mirror.broken(Kill(victim=Service(follower(mirror.lab, mirror.topic))))
            mirror.recover(within_s=CONNECTS_DELAY_S + RECOVERS_S)
        nothing_is_lost(mirror, lines)
    assert mirror.recovered_s > CONNECTS_DELAY_S - 2 * HOLD_S - RESTARTS_S


@pytest.mark.slow
def test_08_all_workers_killed(mirror: UnderLoad, lines: list[Judged]) -> None:
    """As with one, for all tasks."""
    mirror.under(Kill(victim=Workers()))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_09_worker_paused_beyond_its_session(mirror: UnderLoad, lines: list[Judged]) -> None:
    """It goes on as if nothing had been, while others have its tasks: both write, and the order holds."""
    mirror.under(Pause(victim=WorkerOf(connector=mirror.topic)), hold_s=LONGER_THAN_A_SESSION_S)
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_10_workers_cut_off_from_the_source(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Packets vanish; MM2's consumers wait, find the leaders again and go on where they were."""
    mirror.under(Partition(side=Workers(), other=Service("link")))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_11_workers_cut_off_from_the_target(mirror: UnderLoad, lines: list[Judged]) -> None:
    """The workers lose their group as well, which lives there, and find it again."""
    mirror.under(Partition(side=Workers(), other=Brokers("target")))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_12_acknowledgements_of_the_target_lost(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Records arrive and nobody is told: they are sent again."""
    mirror.under(Partition(side=Brokers("target"), other=Workers(), one_way=True))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
@pytest.mark.smoke
def test_13_slow_and_narrow_link(mirror: UnderLoad, lines: list[Judged]) -> None:
    """200 ms and 1 Mbit/s for each connection are enough for this load: late, not lost."""
    mirror.under(SlowLink(cluster="source", delay_ms=200), NarrowLink(cluster="source", rate_kb_per_s=128))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_14_connections_reset(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Every other connection is reset; those that are not go on."""
    mirror.under(ResetLink(cluster="source", fraction=0.5))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_14_link_cut(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Connections are refused; MM2 tries again until they are not."""
    mirror.under(CutLink(cluster="source"))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_15_disk_of_a_target_broker_full(mirror: UnderLoad, lines: list[Judged]) -> None:
    """The broker gives up; the two others have what it had, and it gets the rest from them."""
    mirror.under(DiskFull(victim=Service("kafka-target-3")))
    nothing_is_lost(mirror, lines)


@pytest.mark.slow
def test_03_source_leader_stopped(mirror: UnderLoad, lines: list[Judged]) -> None:
    """A broker that is asked to end hands its partitions over first."""
    mirror.under(Stop(victim=Leader(cluster="source", topic=mirror.topic)))
    nothing_is_lost(mirror, lines)


# -- where records are lost ---------------------------------------------------------------------


def produced(mirror: UnderLoad, name: str, plan: Plan) -> None:
    """All of a plan, acknowledged; with a ledger of its own, so that each is owed."""
    folder = mirror.run.path / f"{mirror.topic}-{name}"
    with Producing(mirror.lab.source, mirror.topic, plan, folder) as producing:
        producing.wait()
    assert producing.ledger.acked == plan.records


def lost(judged: Judged) -> dict[str, int]:
    """What the verifier says of records that are missing, by where they went."""
    (loss,) = [verdict for verdict in judged.verdicts if verdict.check == "loss"]
    return {kind: count for kind, count in loss.counts.items() if count and kind not in ("owed", "tail")}


@pytest.mark.smoke
def test_16_records_deleted_before_they_were_read(mirror: UnderLoad, lines: list[Judged]) -> None:
    """Retention passes a connector that is paused: exactly what was deleted unread is missing."""
    mirror.come_to_rest()
    with mirror.paused():
        produced(mirror, "unread", Plan(run="unread", records=800))
        mirror.broken(DeleteRecords(cluster="source", topic=mirror.topic), hold_s=0.1)
        produced(mirror, "after", Plan(run="after", records=400))
    mirror.lab.target.wait_for_records(mirror.remote, at_least=mirror.sent + 400, timeout_s=RECORDS_ARRIVE_S)
    judged = mirror.judge()
    lines.append(judged)

    assert judged.outcome is Outcome.FAIL
    assert lost(judged) == {"lost": 800, "gone_from_source": 800}


@pytest.mark.slow
def test_17_source_topic_created_again(mirror: UnderLoad, lines: list[Judged]) -> None:
    """A connector that was paused meanwhile goes on at its old offsets, and what lies before is missing."""
    mirror.come_to_rest()
    with mirror.paused():
        old = {p: o.end for p, o in mirror.lab.source.offsets(mirror.topic).items()}
        mirror.broken(RecreateTopic(cluster="source", topic=mirror.topic), hold_s=0.1)
        produced(mirror, "again", Plan(run="again", records=PARTITIONS * (max(old.values()) + 200)))
        before = sum(o.count for o in mirror.lab.target.offsets(mirror.remote).values())
    arrive = sum(o.end - old[p] for p, o in mirror.lab.source.offsets(mirror.topic).items())
    mirror.lab.target.wait_for_records(mirror.remote, at_least=before + arrive, timeout_s=RECORDS_ARRIVE_S)
    judged = mirror.judge()
    lines.append(judged)

    assert judged.outcome is Outcome.FAIL
    assert lost(judged) == {"lost": sum(old.values()), "not_mirrored": sum(old.values())}


LARGE = Plan(run="large", records=60, size_bytes=60_000)
LIMIT_BYTES = 30_000  # between a large record and the producer's `batch.size`, which is 16,384


@pytest.mark.slow
def test_19_records_too_large_for_the_target(mirror: UnderLoad, lines: list[Judged]) -> None:
    """The task fails, and says so; once the target takes them, a restart mirrors them all.

    Not always in order: what the producer had behind the refused record was written before the task failed.
    """

    def failed() -> str | NotYet:
        found = mirror.lab.connect.status(mirror.topic).failure
        return found or NotYet("no task has failed")

    with mirror.load():
        with mirror.lab.inject(RefuseRecords(cluster="target", topic=mirror.remote, max_bytes=LIMIT_BYTES)):
            produced(mirror, "large", LARGE)
            told = wait_until(
                failed, timeout_s=CONNECTOR_RUNS_S, what="a task fails", transient=(LabError,), pause_s=0.5
            )
            assert "RecordTooLarge" in told
        mirror.recover()
    nothing_is_lost(mirror, lines, in_order=False)


@pytest.mark.slow
def test_19_limit_below_a_batch(mirror: UnderLoad, lines: list[Judged]) -> None:
    """A limit below `batch.size` is worse: the producer splits a batch into one of the same size, for ever.

    Connect says RUNNING, and may say so for good: each split makes a chain of futures longer, which overflows
    the stack of the producer's thread when the batch is taken at last. With a restart all of it arrives, but
    the order may be lost.
    """
    some = Plan(run="some", records=400, size_bytes=5_000)
    low = RefuseRecords(cluster="target", topic=mirror.remote, max_bytes=4_000)
    mirror.come_to_rest()
    before = mirror.lab.target.offsets(mirror.remote)
    with mirror.lab.inject(low):
        produced(mirror, "some", some)
        hold(HOLD_S)
        assert mirror.lab.connect.status(mirror.topic).running
        assert mirror.lab.target.offsets(mirror.remote) == before
    for task in mirror.lab.connect.status(mirror.topic).tasks:
        mirror.lab.connect.restart(mirror.topic, task.id)
    mirror.recover()
    nothing_is_lost(mirror, lines, in_order=False)


@pytest.mark.slow
def test_19_records_too_large_and_tolerated(mirror: UnderLoad, lines: list[Judged]) -> None:
    """With `errors.tolerance=all` the connector runs on, without the records that the target refused."""
    with (
        mirror.load(**{"errors.tolerance": "all"}),
        mirror.lab.inject(RefuseRecords(cluster="target", topic=mirror.remote, max_bytes=LIMIT_BYTES)),
    ):
        produced(mirror, "large", LARGE)
        mirror.recover()
        assert mirror.lab.connect.status(mirror.topic).running
    judged = mirror.judge()
    lines.append(judged)

    assert judged.outcome is Outcome.FAIL
    assert lost(judged) == {"lost": LARGE.records, "not_mirrored": LARGE.records}
