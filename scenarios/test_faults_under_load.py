"""What MM2 does under faults with at-least-once delivery: nothing acknowledged is lost.

Claim: records flow at 500 a second before, during and after each fault. When it is healed and MM2 has
recovered, every record that the source acknowledged is on the target, in order within its partition; some
may be there twice. The run ends with a table: seconds of outage and until recovery, records lost, repeated
and out of order. The numbers of the tests are those of the table.
"""

import pytest

from lab.faults import (
    Brokers,
    CutLink,
    DiskFull,
    Kill,
    Leader,
    NarrowLink,
    Partition,
    Pause,
    ResetLink,
    Service,
    SlowLink,
    Stop,
    WorkerOf,
    Workers,
)
from scenarios.under_load import HOLD_S, LONGER_THAN_A_SESSION_S, RATE_PER_S, UnderLoad, nothing_is_lost

pytestmark = pytest.mark.topology("resilience")


@pytest.mark.slow
@pytest.mark.smoke
def test_01_nothing(mirror: UnderLoad) -> None:
    """Without a fault nothing is lost, nothing is repeated, and all is in order."""
    mirror.under()
    judged = nothing_is_lost(mirror)
    assert all(v.counts["extra"] == 0 for v in judged.verdicts if v.check == "duplicates")


@pytest.mark.smoke
def test_02_source_leader_killed(mirror: UnderLoad) -> None:
    """With two replicas in sync, the next leader has all that was acknowledged."""
    mirror.under(Kill(victim=Leader(cluster="source", topic=mirror.topic)))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_03_source_leader_stopped(mirror: UnderLoad) -> None:
    """A broker that is asked to end hands its partitions over first."""
    mirror.under(Stop(victim=Leader(cluster="source", topic=mirror.topic)))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_04_target_leader_killed(mirror: UnderLoad) -> None:
    """What was not acknowledged is sent to the next leader again."""
    with mirror.load():
        mirror.broken(Kill(victim=Leader(cluster="target", topic=mirror.remote)))
        mirror.recover()
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_05_target_brokers_down(mirror: UnderLoad) -> None:
    """Producers of the source notice nothing; what they send meanwhile is mirrored afterwards."""
    with mirror.load() as producing:
        before = producing.ledger.acked
        mirror.broken(Kill(victim=Brokers("target")))
        assert producing.ledger.acked > before + HOLD_S * RATE_PER_S / 2
        mirror.recover()
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_06_source_brokers_down(mirror: UnderLoad) -> None:
    """All that Connect says meanwhile is RUNNING: it looks like a flow at rest."""

    def says_running() -> None:
        status = mirror.lab.connect.status(mirror.topic)
        assert [task.state for task in status.tasks] == ["RUNNING"] * 2

    mirror.under(Kill(victim=Brokers("source")), then=says_running)
    nothing_is_lost(mirror)


@pytest.mark.slow
@pytest.mark.smoke
def test_07_one_of_two_workers_killed(mirror: UnderLoad) -> None:
    """Its task goes on from the last offset that was committed, and repeats what follows that."""
    mirror.under(Kill(victim=WorkerOf(connector=mirror.topic)))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_08_all_workers_killed(mirror: UnderLoad) -> None:
    """As with one, for all tasks."""
    mirror.under(Kill(victim=Workers()))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_09_worker_paused_beyond_its_session(mirror: UnderLoad) -> None:
    """It goes on as if nothing had been, while others have its tasks: both write, and the order holds."""
    mirror.under(Pause(victim=WorkerOf(connector=mirror.topic)), hold_s=LONGER_THAN_A_SESSION_S)
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_10_workers_cut_off_from_the_source(mirror: UnderLoad) -> None:
    """Packets vanish; MM2's consumers wait, find the leaders again and go on where they were."""
    mirror.under(Partition(side=Workers(), other=Service("link")))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_11_workers_cut_off_from_the_target(mirror: UnderLoad) -> None:
    """The workers lose their group as well, which lives there, and find it again."""
    mirror.under(Partition(side=Workers(), other=Brokers("target")))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_12_acknowledgements_of_the_target_lost(mirror: UnderLoad) -> None:
    """Records arrive and nobody is told: they are sent again."""
    mirror.under(Partition(side=Brokers("target"), other=Workers(), one_way=True))
    nothing_is_lost(mirror)


@pytest.mark.slow
@pytest.mark.smoke
def test_13_slow_and_narrow_link(mirror: UnderLoad) -> None:
    """200 ms and 1 Mbit/s for each connection are enough for this load: late, not lost."""
    mirror.under(SlowLink(cluster="source", delay_ms=200), NarrowLink(cluster="source", rate_kb_per_s=128))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_14_connections_reset(mirror: UnderLoad) -> None:
    """Every other connection is reset; those that are not go on."""
    mirror.under(ResetLink(cluster="source", fraction=0.5))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_14_link_cut(mirror: UnderLoad) -> None:
    """Connections are refused; MM2 tries again until they are not."""
    mirror.under(CutLink(cluster="source"))
    nothing_is_lost(mirror)


@pytest.mark.slow
def test_15_disk_of_a_target_broker_full(mirror: UnderLoad) -> None:
    """The broker gives up; the two others have what it had, and it gets the rest from them."""
    mirror.under(DiskFull(victim=Service("kafka-target-3")))
    nothing_is_lost(mirror)
