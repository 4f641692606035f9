"""What the exporter tells Prometheus is the truth, and it outlives what it watches.

Claim: with the connector paused and a known backlog its record lag is that backlog in every partition, under
either replication policy, where transactions leave markers and where records were deleted; it is 0 once the
connector has caught up. Its group lag is that of kafka-consumer-groups.sh on both sides. A cluster that is
stopped or hangs is told as down and has no series, while scrapes stay quick and the other cluster is told.
"""

import time
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab import engine
from lab.harness import Lab
from lab.kafka import GroupOffset
from lab.mm2 import Connector
from lab.wait import CLUSTER_ANSWERS_S, CONNECTOR_RUNS_S, RECORDS_ARRIVE_S, NotYet, wait_until

pytestmark = pytest.mark.topology("kraft-2x2")

FLOW = "source-0->target-0"
QUICK_S = 2.0
SERIES_GONE_S = 60.0
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
DEFAULT = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"

Series = dict[tuple[str, ...], float]


def scrape(lab: Lab) -> Series:
    with urlopen(f"http://{lab.address('exporter')}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
    return {(s.name.removeprefix("mirror_lab_"), *s.labels.values()): s.value for s in samples}


def seconds_of_scrape(lab: Lab) -> float:
    begin = time.monotonic()
    scrape(lab)
    return time.monotonic() - begin


class Flowing:
    """A topic with a connector of its own, as the exporter sees it."""

    def __init__(self, lab: Lab, topic: str, policy: str) -> None:
        self.lab, self.topic, self.source = lab, topic, lab.cluster("source-0")
        changes = {"topics": topic, "replication.policy.class": policy}
        self.connector = Connector(name=topic, config={**lab.connector("mm2-msc-source-0", **changes).config})
        self.source.create_topic(topic, partitions=3)
        self.write(10, 20, 30)
        lab.deploy(self.connector)

    def write(self, *counts: int, transactions: int = 0) -> None:
        options = {"transactional.id": self.topic} if transactions else {}
        producer = self.source.producer(**options)
        if transactions:
            producer.init_transactions(30)
        for _ in range(transactions or 1):
            if transactions:
                producer.begin_transaction()
            for partition, count in enumerate(counts):
                for number in range(count):
                    producer.produce(self.topic, value=f"record {number}".encode(), partition=partition)
            if transactions:
                producer.commit_transaction(30)
        producer.flush()

    def wait_for(self, *lags: int) -> None:
        def observe() -> bool | NotYet:
            told = scrape(self.lab)
            places = [(FLOW, str(p), self.topic) for p in range(3)]
            seen = [told.get(("record_lag", *p)) for p in places if told.get(("record_lag_exact", *p)) == 1]
            return seen == list(lags) or NotYet(str(seen))

        wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f"lag {list(lags)} at the exporter", pause_s=0.5)

    def told_by_all(self) -> Series:
        """What workers do not tell in time is left out."""

        def observe() -> Series | NotYet:
            told = scrape(self.lab)
            return told if ("connector_running", self.topic) in told else NotYet("nothing of connectors")

        return wait_until(observe, timeout_s=CLUSTER_ANSWERS_S, what="all is told", pause_s=0.5)

    def pause(self) -> None:
        self.lab.connect.pause(self.topic)

        def observe() -> bool | NotYet:
            status = self.lab.connect.status(self.topic)
            paused = {status.state, *(task.state for task in status.tasks)} == {"PAUSED"}
            return paused or NotYet(str(status))

        wait_until(observe, timeout_s=CONNECTOR_RUNS_S, what=f'connector "{self.topic}" PAUSED')


@pytest.fixture(params=[IDENTITY, DEFAULT], ids=["identity", "default"])
def flowing(lab: Lab, topic: str, request: pytest.FixtureRequest) -> Iterator[Flowing]:
    flowing = Flowing(lab, f"{topic}-{request.param.rpartition('.')[2][:3]}", request.param)
    yield flowing
    lab.connect.forget(flowing.topic)  # several connectors may not outlive their topics


def test_the_record_lag_is_the_backlog(lab: Lab, flowing: Flowing) -> None:
    flowing.wait_for(0, 0, 0)
    flowing.pause()

    flowing.write(7, 0, 1_234)
    flowing.wait_for(7, 0, 1_234)
    flowing.write(5, 6, 0, transactions=3)
    flowing.wait_for(22, 18, 1_234)
    flowing.source.delete_records(flowing.topic, {0: 14, 2: 1_000})
    flowing.wait_for(18, 18, 264)
    told = flowing.told_by_all()
    assert told["connector_running", flowing.topic] == 0
    assert told["connector_tasks", "target-0", flowing.topic, "paused"] > 0
    assert told["record_age_seconds", FLOW, flowing.topic] > 0
    assert not [key for key in told if key[0] == "heartbeat_age_seconds"], "none crosses a one-way flow"

    lab.connect.resume(flowing.topic)
    flowing.wait_for(0, 0, 0)
    told = scrape(lab)
    assert told["record_age_seconds", FLOW, flowing.topic] == 0
    assert told["latency_seconds_count", FLOW, flowing.topic] > 0

    def runs() -> bool | NotYet:  # workers are asked apart from clusters
        return scrape(lab).get(("connector_running", flowing.topic)) == 1 or NotYet("does not run")

    wait_until(runs, timeout_s=CLUSTER_ANSWERS_S, what="told as running", pause_s=0.5)


@pytest.mark.parametrize("alias", ["source-0", "target-0"])
def test_the_group_lag_is_that_of_kafkas_own_tool(lab: Lab, topic: str, alias: str) -> None:
    cluster, group = lab.cluster(alias), f"readers-of-{topic}"
    cluster.create_topic(topic, partitions=2)
    producer = cluster.producer()
    for number in range(100):
        producer.produce(topic, value=b"v", partition=number % 2)
    producer.flush()
    cluster.commit(group, {(topic, 0): GroupOffset(offset=17), (topic, 1): GroupOffset(offset=50)})
    broker = lab.topology.roles.clusters[alias][0]

    def observe() -> dict[str, float] | NotYet:
        told = {k[3]: v for k, v in scrape(lab).items() if k[:3] == ("group_lag", alias, group)}
        return told or NotYet("no lag of the group")

    told = wait_until(observe, timeout_s=CLUSTER_ANSWERS_S, what=f'lag of group "{group}"', pause_s=0.5)
    table = lab.shell(
        broker, f"kafka-consumer-groups.sh --bootstrap-server {broker}:9092 --describe --group {group}"
    )
    rows = [line.split() for line in table.splitlines() if line.startswith(group)]
    assert told == {row[2]: float(row[5]) for row in rows} == {"0": 33.0, "1": 0.0}


# Afterwards the workers, whose own topics were there, send to leaders that are none for minutes, and no other
# scenario can use them: only with --slow.
KILLED = pytest.param("target-0", "kill", "start", marks=pytest.mark.slow)


@pytest.mark.parametrize(("alias", "ends", "begins"), [("source-0", "pause", "unpause"), KILLED])
def test_a_cluster_that_is_down_is_told_and_outlived(
    lab: Lab, topic: str, alias: str, ends: str, begins: str
) -> None:
    flowing = Flowing(lab, f"{topic}-{ends}", IDENTITY)
    flowing.wait_for(0, 0, 0)
    brokers = lab.topology.roles.clusters[alias]
    boxes = [box.id for box in lab.containers() if box.service in brokers]
    (other,) = lab.topology.roles.clusters.keys() - {alias}

    def observe_gone() -> Series | NotYet:
        told = scrape(lab)
        return told if told["cluster_up", alias] == 0 else NotYet("up")

    engine.docker(ends, *boxes)
    try:
        told = wait_until(observe_gone, timeout_s=SERIES_GONE_S, what=f"cluster {alias} down", pause_s=0.5)
        assert told["cluster_up", other] == 1
        assert min(seconds_of_scrape(lab) for _ in range(5)) < QUICK_S, "a scrape waits for nothing"
        assert not [key for key in told if key[0].startswith("record_") or key[:2] == ("group_lag", alias)]
    finally:
        engine.docker(begins, *boxes)
        lab.cluster(alias).wait_until_answers(len(brokers))
    flowing.wait_for(0, 0, 0)
    assert scrape(lab)["cluster_up", alias] == 1
    lab.connect.wait_until_runs(flowing.topic)
