"""When one of two Connect workers is killed, nothing is lost, and its tasks wait before they move.

Claim: MM2 mirrors a topic under load with a task on each of two workers; the one that does not lead the
group gets SIGKILL. Every acknowledged record is on the target in the end, in order; some may be there twice,
since a task that moves repeats what follows its last committed offset. How long its partitions stand still
is `scheduled.rebalance.max.delay.ms`, meant for a worker that comes back: with 5 s records flow again soon
after that; with Connect's default of 300 s nothing has moved after 30 s, and Connect still says RUNNING of
the task on the worker that is gone. That the worker comes back meanwhile changes nothing. Killing the group's
leader does: a new leader remembers no assignments, and gives out all tasks at once. With `--slow` the whole
of the default is waited for instead.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest

from lab.harness import Lab
from lab.kafka import ClusterError
from lab.producing import Producing
from lab.run import Run
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, NotYet, wait_until
from lab.workload import Plan
from scenarios.under_load import hold
from scenarios.workers import follower, workers_with

pytestmark = pytest.mark.topology("kraft-2x2")

DEFAULT_S, TUNED_S, STILL_S = 300, 5, 30
SERVED_S = 3.0  # until requests of a dead worker that were under way have been served
WORKERS = ("kafka-connect-0", "kafka-connect-1")


@pytest.fixture
def delay_s(request: pytest.FixtureRequest, lab: Lab) -> Iterator[int]:
    """Both workers with this delay; afterwards with the lab's."""
    value = str(1000 * request.param)
    with workers_with(lab, "LAB_REBALANCE_DELAY_MS", value, key="scheduled.rebalance.max.delay.ms"):
        yield request.param


@pytest.fixture
def slow(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--slow"))


@pytest.mark.parametrize("delay_s", [TUNED_S, DEFAULT_S], indirect=True, ids=["tuned", "default"])
def test_a_killed_workers_task_moves_and_nothing_is_lost(
    lab: Lab, run: Run, topic: str, delay_s: int, slow: bool
) -> None:
    lab.source.create_topic(topic, partitions=4, replicas=2)
    lab.deploy(replace(lab.connector("mm2-msc-source-0", topics=topic), name=topic))
    victim = follower(lab, topic)
    plan = Plan(run=f"{delay_s}s{run.path.name[9:15]}", rate_per_s=500)
    with Producing(lab.source, topic, plan, run.path / topic):
        lab.target.wait_for_records(topic, at_least=1_000, timeout_s=RECORDS_ARRIVE_S)
        lab.project.kill(victim)
        killed = Stalled(lab, topic)
        try:
            if delay_s == DEFAULT_S:
                wait_until(
                    lambda: killed.seconds >= STILL_S or NotYet(f"{killed.seconds:.0f} s"),
                    timeout_s=2 * STILL_S,
                    what=f"{STILL_S} s without the worker",
                )
                assert len(killed.still()) == 2  # of four partitions, those of one task
                status = lab.connect.status(topic)  # asks the worker that is left
                run.save("status-after-30-s.json", asdict(status))
                assert [t.state for t in status.tasks if t.worker == f"{victim}:8083"] == ["RUNNING"]
            if delay_s == TUNED_S or slow:
                seconds = killed.wait_until_all_flow(timeout_s=delay_s + RECORDS_ARRIVE_S)
                run.save(f"stalled-{delay_s}.json", {"delay_s": delay_s, "seconds_without_records": seconds})
                assert seconds >= delay_s
        finally:
            lab.project.start(victim, timeout_s=SERVICES_HEALTHY_S)
        if delay_s == DEFAULT_S and not slow:
            assert len(killed.still()) == 2  # the worker is back, and is given nothing yet
            (leader,) = set(WORKERS) - {victim}
            lab.project.kill(leader)
            lab.project.start(leader, timeout_s=SERVICES_HEALTHY_S)
        killed.wait_until_all_flow(timeout_s=RECORDS_ARRIVE_S)

    judged = lab.verify(topic, allow_duplicates=True)
    assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is not Outcome.PASS]


class Stalled:
    """Which partitions of a topic have not grown on the target since a moment."""

    def __init__(self, lab: Lab, topic: str) -> None:
        self._lab, self._topic = lab, topic
        self._since = time.monotonic()
        hold(SERVED_S)
        self._ends = lab.target.offsets(topic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._since

    def still(self) -> list[int]:
        now = self._lab.target.offsets(self._topic)
        return [partition for partition, before in self._ends.items() if now[partition].end == before.end]

    def wait_until_all_flow(self, *, timeout_s: float) -> float:
        def observe() -> float | NotYet:
            return NotYet(f"none in partitions {still}") if (still := self.still()) else self.seconds

        return wait_until(
            observe,
            timeout_s=timeout_s,
            what=f'records flow in all of "{self._topic}"',
            transient=(ClusterError,),
        )
