"""Each fault does what it says, seen from elsewhere than by itself, and healing leaves no trace of it.

Claim: a leader that is killed is replaced by another, a paused worker is silent, a partition drops packets
while another way is open, a slow link takes at least 0.8 times the delay that was asked for, a narrow one
lets through what was asked for within a factor of two, and so on. Afterwards the lab has the containers,
networks, volumes, packet rules, proxies and topic configs that it had; only starts of containers differ.
Records that are deleted, and topics that are created again, cannot be brought back: these have nothing to
heal.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from statistics import median

import pytest

from lab.errors import LabError
from lab.faults import (
    Brokers,
    Controller,
    CutLink,
    DeleteRecords,
    DiskFull,
    Fault,
    Kill,
    Leader,
    NarrowLink,
    Partition,
    Pause,
    RecreateTopic,
    RefuseRecords,
    ResetLink,
    Restart,
    Service,
    SlowLink,
    Stop,
    Workers,
    containers,
    probes,
)
from lab.faults.probes import Answer
from lab.harness import Lab
from lab.kafka import ClusterError
from lab.records import Plan
from lab.wait import CLUSTER_ANSWERS_S, NotYet, wait_until
from lab.workload import produce
from scenarios.traces import traces

pytestmark = pytest.mark.topology("resilience")

BROKER = "kafka-source-2"
ANSWERS_S = 15.0  # who is well, on a slow machine
LATENCY_MS, RATE_KB_PER_S, PROBES = 100, 200, 20


@pytest.fixture
def orders(lab: Lab, topic: str) -> str:
    """A topic of the source with records in it."""
    lab.source.create_topic(topic, partitions=2, replicas=3)
    produce(lab.source, topic, Plan(run="proved", records=100), lambda _: None)
    return topic


@contextmanager
def broken(lab: Lab, fault: Fault) -> Iterator[None]:
    """In force within the block, and without a trace after it."""
    before = traces(lab)
    with lab.inject(fault, limit_s=300):
        yield
    assert traces(lab) == before


def link_of(lab: Lab, broker: str = BROKER) -> str:
    return f"127.0.0.1:{lab.ports[lab.topology.proxies[broker].variable]}"


def answers(address: str, question: bytes) -> bool:
    return probes.ask(address, question, timeout_s=ANSWERS_S) is Answer.SAID


def silent(address: str, question: bytes) -> bool:
    return probes.ask(address, question) is not Answer.SAID


# While one broker is silent clients may ask just that one, for a minute on a busy machine.
@pytest.mark.parametrize("fault", [Kill, Stop, pytest.param(Pause, marks=pytest.mark.slow)])
def test_a_leader_that_is_away_is_replaced(lab: Lab, orders: str, fault: type[Kill | Stop | Pause]) -> None:
    leader = lab.source.leader(orders, 0)

    def observe() -> bool | NotYet:
        now = lab.source.leader(orders, 0)
        return now != leader or NotYet(f"{now} leads")

    with broken(lab, fault(victim=Leader(cluster="source", topic=orders))):
        wait_until(
            observe,
            timeout_s=CLUSTER_ANSWERS_S,
            what="another leader",
            transient=(ClusterError,),
            pause_s=0.5,
        )
        assert silent(leader, probes.kafka_request())
    assert answers(leader, probes.kafka_request())


def test_a_partition_without_a_leader_hides_no_other(lab: Lab, topic: str) -> None:
    """Nobody can tell of the only replica on a broker that is dead, and of all others everybody."""
    lab.source.create_topic(topic, partitions=3, replicas=1)

    def observe() -> bool | NotYet:
        seen = next((found for found in lab.source.topics() if found.name == topic), None)
        found = (seen.leaderless, sorted(seen.offsets)) if seen else None
        return found == (1, [1, 2]) or NotYet(str(seen))

    with broken(lab, Kill(victim=Leader(cluster="source", topic=topic))):
        wait_until(
            observe, timeout_s=CLUSTER_ANSWERS_S, what="one of three has no leader", transient=(ClusterError,)
        )


def test_a_controller_that_is_killed_is_replaced(lab: Lab) -> None:
    (controller,) = Controller("source").services(lab)

    def observe() -> bool | NotYet:
        now = Controller("source").services(lab)
        return now != (controller,) or NotYet(f"{now} is the controller")

    with broken(lab, Kill(victim=Controller("source"))):
        wait_until(
            observe,
            timeout_s=CLUSTER_ANSWERS_S,
            what="another controller",
            transient=(LabError,),
            pause_s=0.5,
        )


def test_a_worker_that_is_restarted_is_back(lab: Lab) -> None:
    with broken(lab, Restart(victim=Service("kafka-connect-2"))):
        lab.worker("kafka-connect-2").wait_until_answers()


def test_all_brokers_of_a_cluster_are_killed(lab: Lab) -> None:
    """And come back where they were: clients that know an address would ask another broker there."""

    def addresses() -> dict[str, tuple[str, ...]]:
        boxes = containers.of(lab, Brokers("target").services(lab))
        return {box.service: box.addresses for box in boxes}

    before = addresses()
    with broken(lab, Kill(victim=Brokers("target"))), pytest.raises(ClusterError):
        lab.target.topic_names()
    assert addresses() == before


def test_a_partition_drops_packets_while_another_way_is_open(lab: Lab) -> None:
    def reach(worker: str, service: str, port: int, *, within_s: float = ANSWERS_S) -> bool:
        try:
            lab.shell(worker, f"timeout {within_s:g} bash -c '</dev/tcp/{service}/{port}'")
        except LabError:
            return False
        return True

    with broken(lab, Partition(side=Workers(), other=Service("link"))):
        assert not reach("kafka-connect-1", "link", 8474, within_s=2)
        assert not reach("kafka-connect-2", "link", 19191, within_s=2)
        assert reach("kafka-connect-1", "kafka-target-1", 9092)
    assert reach("kafka-connect-1", "link", 8474)


def test_one_way_a_partition_lets_the_other_side_speak(lab: Lab) -> None:
    """What comes in is not dropped: of a connection from the other side no answer comes back.

    It is told by packets that nobody else sends: UDP to a port where nobody listens, which the kernel counts.
    """

    def comes_in() -> bool:
        counted = (
            "awk '/^Udp:/ {line = $0} END {split(line, field); print field[3]}' /proc/net/snmp"  # NoPorts
        )
        before = int(lab.shell("kafka-connect-1", counted))
        with suppress(LabError):  # the kernel tells who sends, if the way back is open
            lab.shell("kafka-connect-2", "for one in 1 2 3; do echo >/dev/udp/kafka-connect-1/9; done")
        return int(lab.shell("kafka-connect-1", counted)) > before

    def partition(*, one_way: bool) -> Partition:
        side, other = Service("kafka-connect-1"), Service("kafka-connect-2")
        return Partition(side=side, other=other, one_way=one_way)

    with broken(lab, partition(one_way=True)):
        assert comes_in()
        with pytest.raises(LabError):
            lab.shell("kafka-connect-2", "timeout 2 bash -c '</dev/tcp/kafka-connect-1/8083'")
    with broken(lab, partition(one_way=False)):
        assert not comes_in()
    lab.shell("kafka-connect-2", f"timeout {ANSWERS_S:g} bash -c '</dev/tcp/kafka-connect-1/8083'")


def test_a_slow_link_takes_its_time(lab: Lab) -> None:
    with broken(lab, SlowLink(cluster="source", delay_ms=LATENCY_MS, broker=BROKER)):
        slow = probes.round_trips(link_of(lab), count=PROBES, timeout_s=5)
        other = probes.round_trips(link_of(lab, "kafka-source-1"), count=PROBES, timeout_s=5)
        assert len(slow) == PROBES
        assert median(slow) >= 0.8 * LATENCY_MS / 1000
        assert median(other) < 0.8 * LATENCY_MS / 1000
    assert median(probes.round_trips(link_of(lab), count=PROBES, timeout_s=5)) < 0.8 * LATENCY_MS / 1000


def test_a_narrow_link_lets_little_through(lab: Lab) -> None:
    size = 2 * 1000 * RATE_KB_PER_S
    with broken(lab, NarrowLink(cluster="source", rate_kb_per_s=RATE_KB_PER_S, broker=BROKER)):
        kb_per_s = probes.rate_up(link_of(lab), at_least_bytes=size, timeout_s=30) / 1000
        assert RATE_KB_PER_S / 2 <= kb_per_s <= RATE_KB_PER_S * 2
        node = lab.topology.services[BROKER].environment["KAFKA_NODE_ID"]
        down = probes.rate_down(link_of(lab), node, at_least_bytes=size, timeout_s=30) / 1000
        assert RATE_KB_PER_S / 2 <= down <= RATE_KB_PER_S * 2
    assert probes.rate_up(link_of(lab), at_least_bytes=size, timeout_s=30) / 1000 > RATE_KB_PER_S * 2


def test_a_cut_link_refuses_while_the_broker_answers_past_it(lab: Lab) -> None:
    with broken(lab, CutLink(cluster="source", broker=BROKER)):
        assert silent(link_of(lab), probes.kafka_request())
        assert answers(lab.address(BROKER), probes.kafka_request())
    assert answers(link_of(lab), probes.kafka_request())


def test_a_link_that_resets_ends_connections(lab: Lab) -> None:
    with broken(lab, ResetLink(cluster="source", broker=BROKER)):
        assert silent(link_of(lab), probes.kafka_request())
    assert answers(link_of(lab), probes.kafka_request())


def test_a_full_disk_ends_its_broker_and_a_free_one_lets_it_start(lab: Lab) -> None:
    def observe() -> bool | NotYet:
        there = lab.target.brokers()
        return len(there) == 2 or NotYet(f"brokers: {there}")

    with broken(lab, DiskFull(victim=Service("kafka-target-3"))):
        wait_until(
            observe,
            timeout_s=CLUSTER_ANSWERS_S,
            what="two brokers are left",
            transient=(ClusterError,),  # the metadata of a cluster that is losing a broker may take its time
            pause_s=0.5,
        )
        assert silent(lab.address("kafka-target-3"), probes.kafka_request())


def test_deleted_records_are_gone(lab: Lab, orders: str) -> None:
    with broken(lab, DeleteRecords(cluster="source", topic=orders, before=20)):
        assert [offsets.start for offsets in lab.source.offsets(orders).values()] == [20, 20]


def test_a_topic_created_again_is_empty(lab: Lab, orders: str) -> None:
    with broken(lab, RecreateTopic(cluster="source", topic=orders)):
        assert [(o.start, o.end) for o in lab.source.offsets(orders).values()] == [(0, 0)] * 2


def test_records_that_are_too_large_are_refused(lab: Lab, orders: str) -> None:
    large = Plan(run="large", records=1, size_bytes=3_000)
    with broken(lab, RefuseRecords(cluster="source", topic=orders, max_bytes=2_000)):
        assert produce(lab.source, orders, large, lambda _: None).failed == 1
        assert sum(offsets.count for offsets in lab.source.offsets(orders).values()) == 100
    assert produce(lab.source, orders, large, lambda _: None).acked == 1
