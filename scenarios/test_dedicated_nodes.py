"""Three dedicated nodes of MM2 mirror a topic created later only if they may talk to each other.

Claim: with `dedicated.mode.enable.internal.rest=true` the records of a topic that is created after the start
arrive, wherever the source connector runs. Without it the connector finds the topic as well, and even creates
the remote one; but only the group's leader can give tasks other partitions, and a connector that runs on
another node cannot reach it. Then the remote topic stays empty, every node stays up, and MM2's own state says
RUNNING. The log of that one node has the reason, again and again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.harness import Lab, ending
from lab.run import Run
from lab.wait import (
    CONNECTOR_RUNS_S,
    RECORDS_ARRIVE_S,
    SERVICES_HEALTHY_S,
    NotYet,
    TimedOut,
    every,
    wait_until,
)
from scenarios.dedicated import DEFAULT, changed, start_with

pytestmark = pytest.mark.topology("dedicated-tls")

NODES = ("mirror-maker", "mirror-maker-2", "mirror-maker-3")
CONNECTOR = "MirrorSourceConnector"
REFRESH_S, TRIES = 1, 16
REASON = "consider enabling inter-worker communication via the 'dedicated.mode.enable.internal.rest' property"
COMMON = {
    "source->target.topics": "nodes-.*",
    "refresh.topics.interval.seconds": str(REFRESH_S),
    "target.scheduled.rebalance.max.delay.ms": "0",
    "emit.heartbeats.enabled": "false",
}
# Not 0.0.0.0: what stands here is what nodes tell each other, and at 0.0.0.0 each would call itself.
REST = {"dedicated.mode.enable.internal.rest": "true", "listeners": "http://:8080"}
_JOINED = re.compile(r"Joined group .* leader='(?P<leader>[^']+)'.* connectorIds=\[(?P<connectors>[^]]*)\]")
_MEMBER = re.compile(r"memberId='(?P<member>[^']+)'")


@dataclass(frozen=True)
class Group:
    """Who leads, and who has the source connector, as the nodes' logs say last."""

    leader: str | None
    connector: str | None

    @classmethod
    def of(cls, lab: Lab) -> "Group":
        members, leaders, connector = {}, set(), None
        for node in NODES:
            lines = [line for line in lab.project.logs(node).splitlines() if "groupId=source-mm2" in line]
            found = [match for line in lines if (match := _MEMBER.search(line))]
            joined = [match for line in lines if (match := _JOINED.search(line))]
            if not found or not joined:
                return cls(None, None)
            members[found[-1]["member"]] = node
            leaders.add(joined[-1]["leader"])
            if CONNECTOR in joined[-1]["connectors"]:
                connector = node
        return cls(members.get(leaders.pop()) if len(leaders) == 1 else None, connector)


@pytest.fixture(autouse=True, scope="module")
def one_node_afterwards(lab: Lab) -> Iterator[None]:
    yield
    ending.stop_profile(lab.name, "three-nodes")
    start_with(lab, DEFAULT)


def test_a_topic_created_later_arrives_where_nodes_may_talk_to_each_other(
    lab: Lab, run: Run, topic: str
) -> None:
    group = started_off_the_leader(lab, changed(DEFAULT, {**COMMON, **REST}, run.path / "rest.properties"))
    later = f"nodes-with-{topic[-6:]}"
    create(lab, later)
    lab.target.wait_for_records(f"source.{later}", at_least=1, timeout_s=RECORDS_ARRIVE_S)
    assert Group.of(lab) == group
    assert group.connector != group.leader


def test_without_that_it_does_not_and_one_log_says_why(lab: Lab, run: Run, topic: str) -> None:
    group = started_off_the_leader(lab, changed(DEFAULT, COMMON, run.path / "no-rest.properties"))
    assert group.connector is not None
    later = f"nodes-without-{topic[-6:]}"
    create(lab, later)

    wait_until(
        lambda: REASON in lab.project.logs(group.connector) or NotYet("no such line"),
        timeout_s=CONNECTOR_RUNS_S,
        what=f'the line "{REASON}" of {group.connector}',
    )
    remote = f"source.{later}"
    lab.target.wait_for_records(remote, at_least=0, timeout_s=RECORDS_ARRIVE_S)  # its partitions have leaders
    for _ in every(REFRESH_S, for_s=10 * REFRESH_S):
        assert [offsets.end for offsets in lab.target.offsets(remote).values()] == [0]
    assert Group.of(lab) == group
    states = {s.name: s.state for s in lab.statuses()}
    assert states[f"source->target {CONNECTOR}"] == "RUNNING"
    assert {box.state for box in lab.containers() if box.service in NODES} == {"running"}


def create(lab: Lab, topic: str) -> None:
    lab.source.create_topic(topic)
    producer = lab.source.producer()
    producer.produce(topic, value=b"later")
    assert producer.flush(30) == 0


def started_off_the_leader(lab: Lab, path: Path) -> Group:
    """Whoever leads is sent away until the connector runs elsewhere than the leader."""
    start_with(lab, path, profiles=("three-nodes",))
    for _ in range(TRIES):
        group = settled(lab)
        if group.connector != group.leader:
            return group
        assert group.leader is not None
        lab.project.stop(group.leader)
        lab.project.start(group.leader, timeout_s=SERVICES_HEALTHY_S)
    raise TimedOut(f"in {TRIES} elections the leader always got the connector", "run it again")


def settled(lab: Lab) -> Group:
    """The logs are read one after the other, and a node may join meanwhile: seen twice is settled."""
    before: Group | None = None

    def observe() -> Group | NotYet:
        nonlocal before
        seen, before = before, Group.of(lab)
        complete = before.leader is not None and before.connector is not None
        return before if complete and before == seen else NotYet(str(before))

    return wait_until(observe, timeout_s=SERVICES_HEALTHY_S, what="the nodes agree", pause_s=2.0)
