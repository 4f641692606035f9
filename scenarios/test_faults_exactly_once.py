"""What MM2 does under faults with exactly-once support: nothing is lost, and nothing is there twice.

Claim: with `exactly.once.source.support` on the workers and `read_committed` in the connector, records that
flow while a leader or a worker is killed, all workers are, or a worker is paused until others have its
tasks, are on the target once each, in order. What these faults repeat without it stands beside it in the
table.
"""

from collections.abc import Iterator

import pytest

from lab.faults import Fault, Kill, Leader, Pause, WorkerOf, Workers
from lab.harness import Lab
from lab.verify.verdict import Outcome
from scenarios.under_load import EXACTLY_ONCE, HOLD_S, LONGER_THAN_A_SESSION_S, UnderLoad, wrong
from scenarios.workers import workers_with

pytestmark = pytest.mark.topology("resilience", lab="second")


@pytest.fixture(scope="module", autouse=True)
def exactly_once(lab: Lab) -> Iterator[None]:
    """Both workers started again with it; afterwards without it."""
    with workers_with(lab, "LAB_EXACTLY_ONCE", "enabled", key="exactly.once.source.support"):
        yield


@pytest.fixture
def guarantee() -> str:
    return EXACTLY_ONCE


@pytest.mark.slow
def test_02_source_leader_killed(mirror: UnderLoad) -> None:
    """What was read from the old leader and not committed is read from the new one."""
    each_once(mirror, Kill(victim=Leader(cluster="source", topic=mirror.topic)))


@pytest.mark.slow
def test_04_target_leader_killed(mirror: UnderLoad) -> None:
    """A transaction survives the leader of a partition that it writes to."""
    each_once(mirror, Kill(victim=Leader(cluster="target", topic=mirror.remote)))


@pytest.mark.slow
def test_07_one_of_two_workers_killed(mirror: UnderLoad) -> None:
    """Its open transaction is aborted, and its task goes on from the last that was committed."""
    each_once(mirror, Kill(victim=WorkerOf(connector=mirror.topic)))


@pytest.mark.slow
def test_08_all_workers_killed(mirror: UnderLoad) -> None:
    """As with one, for all tasks."""
    each_once(mirror, Kill(victim=Workers()))


@pytest.mark.slow
def test_09_worker_paused_beyond_its_session(mirror: UnderLoad) -> None:
    """When it wakes up it is fenced off: whatever it still has to write is refused."""
    fault = Pause(victim=WorkerOf(connector=mirror.topic))
    each_once(mirror, fault, hold_s=LONGER_THAN_A_SESSION_S)


def each_once(mirror: UnderLoad, fault: Fault, *, hold_s: float = HOLD_S) -> None:
    with mirror.load():  # only now there is a topic and a task to aim at
        mirror.broken(fault, hold_s=hold_s)
        mirror.recover()
    judged = mirror.judge()

    assert judged.outcome is Outcome.PASS, wrong(judged)
