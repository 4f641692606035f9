"""Faults under which MM2 loses records in silence, or stands still for good: the verdict names exactly those.

Claim: where records are gone before MM2 has read them, where a topic is created again under MM2's feet, and
where the target refuses what MM2 is told to tolerate, Connect says RUNNING, and Spark names the records that
are missing, all of them and no other. Where MM2 is not told to tolerate it, nothing is lost. Each is a line
of the table that the run ends with.
"""

import pytest

from lab.diagnose import Finding
from lab.errors import LabError
from lab.faults import DeleteRecords, RecreateTopic, RefuseRecords
from lab.producing import Producing
from lab.verify.verdict import Outcome
from lab.verify.verification import Judged
from lab.wait import CONNECTOR_RUNS_S, RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import Plan
from scenarios.diagnosing import Doctor
from scenarios.under_load import HOLD_S, PARTITIONS, UnderLoad, hold, nothing_is_lost

pytestmark = pytest.mark.topology("resilience", lab="second")

LARGE = Plan(run="large", records=60, size_bytes=60_000)
LIMIT_BYTES = 30_000  # between a large record and the producer's `batch.size`, which is 16,384

MOMENT_S = 0.1  # where what follows is all that the fault must last for


def refusing(mirror: UnderLoad, max_bytes: int) -> RefuseRecords:
    return RefuseRecords(cluster="target", topic=mirror.remote, max_bytes=max_bytes)


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
def test_16_records_deleted_before_they_were_read(mirror: UnderLoad) -> None:
    """Retention passes a connector that is paused: exactly what was deleted unread is missing."""
    mirror.come_to_rest()
    with mirror.paused():
        produced(mirror, "unread", Plan(run="unread", records=800))
        mirror.broken(DeleteRecords(cluster="source", topic=mirror.topic), hold_s=MOMENT_S)
        produced(mirror, "after", Plan(run="after", records=400))
    mirror.lab.target.wait_for_records(mirror.remote, at_least=mirror.sent + 400, timeout_s=RECORDS_ARRIVE_S)
    judged = mirror.judge()

    assert judged.outcome is Outcome.FAIL
    assert lost(judged) == {"lost": 800, "gone_from_source": 800}


@pytest.mark.slow
def test_17_source_topic_created_again(mirror: UnderLoad) -> None:
    """A connector that was paused meanwhile goes on at its old offsets, and what lies before is missing."""
    mirror.come_to_rest()
    with mirror.paused():
        old = {p: o.end for p, o in mirror.lab.source.offsets(mirror.topic).items()}
        mirror.broken(RecreateTopic(cluster="source", topic=mirror.topic), hold_s=MOMENT_S)
        produced(mirror, "again", Plan(run="again", records=PARTITIONS * (max(old.values()) + 200)))
        before = sum(o.count for o in mirror.lab.target.offsets(mirror.remote).values())
    arrive = sum(o.end - old[p] for p, o in mirror.lab.source.offsets(mirror.topic).items())
    mirror.lab.target.wait_for_records(mirror.remote, at_least=before + arrive, timeout_s=RECORDS_ARRIVE_S)
    judged = mirror.judge()

    assert judged.outcome is Outcome.FAIL
    assert lost(judged) == {"lost": sum(old.values()), "not_mirrored": sum(old.values())}


@pytest.mark.slow
def test_19_records_too_large_for_the_target(mirror: UnderLoad) -> None:
    """The task fails, and says so; once the target takes them, a restart mirrors them all.

    Not always in order: what the producer had behind the refused record was written before the task failed.
    """

    def failed() -> str | NotYet:
        found = mirror.lab.connect.status(mirror.topic).failure
        return found or NotYet("no task has failed")

    def refused() -> None:
        produced(mirror, "large", LARGE)
        told = wait_until(
            failed, timeout_s=CONNECTOR_RUNS_S, what="a task fails", transient=(LabError,), pause_s=0.5
        )
        assert "RecordTooLarge" in told

    with mirror.load():
        mirror.broken(refusing(mirror, LIMIT_BYTES), hold_s=MOMENT_S, then=refused)
        mirror.recover()
    nothing_is_lost(mirror, in_order=False)


@pytest.mark.slow
def test_19_limit_below_a_batch(mirror: UnderLoad) -> None:
    """A limit below `batch.size` is worse: the producer splits a batch into one of the same size, for ever.

    Connect says RUNNING, and may say so for good: each split makes a chain of futures longer, which overflows
    the stack of the producer's thread when the batch is taken at last. With a restart all of it arrives, but
    the order may be lost.
    """
    some = Plan(run="some", records=400, size_bytes=5_000)
    doctor = Doctor(mirror.lab)
    mirror.come_to_rest()
    before = mirror.lab.target.offsets(mirror.remote)
    found: list[Finding] = []

    def stands_still() -> None:
        produced(mirror, "some", some)
        hold(HOLD_S)
        assert mirror.lab.connect.status(mirror.topic).running
        assert mirror.lab.target.offsets(mirror.remote) == before
        found.append(doctor.says("batch_refused", mirror.remote))

    mirror.broken(refusing(mirror, 4_000), hold_s=MOMENT_S, then=stands_still)
    doctor.carry_out(*found)  # a restart
    mirror.recover()
    nothing_is_lost(mirror, in_order=False)


@pytest.mark.slow
def test_19_records_too_large_and_tolerated(mirror: UnderLoad) -> None:
    """With `errors.tolerance=all` the connector runs on, without the records that the target refused."""

    def dropped() -> None:
        produced(mirror, "large", LARGE)
        mirror.recover()  # past them: what comes later is not refused
        assert mirror.lab.connect.status(mirror.topic).running

    with mirror.load(**{"errors.tolerance": "all"}):
        mirror.broken(refusing(mirror, LIMIT_BYTES), hold_s=MOMENT_S, then=dropped)
        mirror.recover()
    judged = mirror.judge()

    assert judged.outcome is Outcome.FAIL
    assert lost(judged) == {"lost": LARGE.records, "not_mirrored": LARGE.records}
