"""MM2 on a Connect cluster: two workers share three connectors, between two clusters in KRaft mode.

Each cluster has two nodes that are controller and broker at once; the two Connect workers belong to the
target cluster, so that their own producers write where the records are to go. You create a topic and
write records, deploy MM2's three connectors, see the topic arrive under its own name, and let Spark prove
that all of it did. Then come four mistakes of the usual way to set this up: what each of them does, which
nothing announces, and its repair.

Follow along: `lab up kraft-2x2`, then type what each step shows; `lab exec SERVICE bash` is a shell in a
service's container.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from lab.harness import Lab, Wish
from lab.kafka import ClusterError
from lab.metrics import MetricsError
from lab.mm2 import IDENTITY_POLICY, Connector, Severity
from lab.mm2_problems import problems
from lab.mm2_records import Checkpoint, checkpoint
from lab.producing import Producing
from lab.run import Run
from lab.verify.verdict import Outcome
from lab.wait import (
    CONNECTOR_RUNS_S,
    RECORDS_ARRIVE_S,
    SERVICES_HEALTHY_S,
    TOPIC_APPEARS_S,
    NotYet,
    wait_until,
)
from lab.workload import Plan

pytestmark = pytest.mark.topology("kraft-2x2")

TOPIC = "test"
RECORDS = 100_000
BY_HAND = 5
BACKLOG, HEAP = "backlog", "LAB_CONNECT_HEAP"
OUT_OF_MEMORY_S, BACKLOG_ARRIVES_S = 120.0, 180.0
WORKERS = ("kafka-connect-0", "kafka-connect-1")
AT_SOURCE = "--bootstrap-server kafka-source-0:9092,kafka-source-1:9092"
AT_TARGET = "--bootstrap-server kafka-target-0:9092,kafka-target-1:9092"


# -- the clusters ------------------------------------------------------------------------------------


def test_10_all_services_are_healthy(lab: Lab) -> None:
    """`lab status`: four Kafka nodes, two Connect workers, Spark for the proof, and what watches them.

    In `lab exec kafka-source-0 bash`: `kafka-metadata-quorum.sh --bootstrap-server kafka-source-0:9092
    describe --status`. Both nodes vote; two of two are a majority, one of two is none (see step 90).
    """
    boxes = {box.service: box for box in lab.containers()}
    nodes = [f"kafka-{side}-{number}" for side in ("source", "target") for number in (0, 1)]
    assert boxes.keys() >= {*nodes, *WORKERS, "spark"}
    assert [name for name in (*nodes, *WORKERS) if boxes[name].health != "healthy"] == []
    ids = set()
    for node, address in (("kafka-source-0", AT_SOURCE), ("kafka-target-0", AT_TARGET)):
        told = lab.shell(node, f"kafka-metadata-quorum.sh {address} describe --status")
        status = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
        ids.add(status["ClusterId"].strip())
        voters = status["CurrentVoters"]
        assert "0" in voters
        assert "1" in voters
    assert len(ids) == 2


def test_11_prometheus_scrapes_every_node_and_every_worker(lab: Lab) -> None:
    """`lab open` prints the addresses; in Prometheus see Status, Targets, or ask its API:

    curl -s localhost:9090/api/v1/targets | jq '.data.activeTargets[] | [.labels.job, .scrapeUrl, .health]'

    Each node and worker has an agent on port 9404 that speaks Prometheus' language (it is no JMX port,
    whatever a web interface is told). The lab's exporter adds what Kafka has no metric for: record lag.
    """

    def observe() -> bool | NotYet:
        up = {(t.job, t.address.partition(":")[0]) for t in lab.metrics.targets() if t.health == "up"}
        wanted = {
            *(("kafka-source-exporter", f"kafka-source-{number}") for number in (0, 1)),
            *(("kafka-target-exporter", f"kafka-target-{number}") for number in (0, 1)),
            *(("kafka-connect-exporter", worker) for worker in WORKERS),
            ("mirror-lab-exporter", "exporter"),
        }
        return wanted <= up or NotYet(f"not up: {', '.join(sorted(name for _, name in wanted - up))}")

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="all targets are up", transient=(MetricsError,))


def test_20_the_workers_are_one_cluster_with_the_properties_of_their_file(lab: Lab) -> None:
    """In both workers: `cat /etc/kafka-connect/kafka-connect.properties`, from variables named CONNECT_….

    `internal.key.converter` and its relatives, which older files have, are gone since Kafka 3.0: workers
    always use JSON without schemas for themselves. One group of workers is what has one `group.id` and
    the same three topics; `rest.advertised.host.name` is how they reach each other. That each has joined
    the group is in its log: `lab logs kafka-connect-0`.
    """
    expected = {
        "bootstrap.servers": "kafka-target-0:9092,kafka-target-1:9092",
        "group.id": "connect-cluster",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
        "offset.storage.topic": "connect-offsets",
        "offset.storage.replication.factor": "1",
        "config.storage.topic": "connect-configs",
        "config.storage.replication.factor": "1",
        "status.storage.topic": "connect-status",
        "status.storage.replication.factor": "1",
        "offset.flush.interval.ms": "10000",
        "rest.port": "8083",
    }
    for worker in WORKERS:
        lines = lab.shell(worker, "cat /etc/kafka-connect/kafka-connect.properties").splitlines()
        properties = dict(line.split("=", 1) for line in lines)
        assert {key: properties.get(key) for key in expected} == expected
        assert properties["rest.advertised.host.name"] == worker
    topics = {topic.name: (topic.partitions, topic.replicas) for topic in lab.target.topics()}
    assert topics["connect-configs"] == (1, 1)  # one partition: the order of changes is their meaning
    assert {name: topics[name][1] for name in ("connect-offsets", "connect-status")} == {
        "connect-offsets": 1,
        "connect-status": 1,
    }
    for worker in WORKERS:
        assert "groupId=connect-cluster] Successfully joined group" in lab.project.logs(worker)


# -- records and connectors --------------------------------------------------------------------------


def test_30_the_topic_is_created_on_both_nodes(lab: Lab) -> None:
    """In `lab exec kafka-source-0 bash`:

    kafka-topics.sh --create --bootstrap-server kafka-source-0:9092,kafka-source-1:9092 \\
        --replication-factor 2 --partitions 5 --topic test
    """
    lab.shell(
        "kafka-source-0",
        f"kafka-topics.sh --create {AT_SOURCE} --replication-factor 2 --partitions 5 --topic {TOPIC}",
    )
    told = lab.shell("kafka-source-0", f"kafka-topics.sh --describe {AT_SOURCE} --topic {TOPIC}")
    assert "PartitionCount: 5\tReplicationFactor: 2" in told
    assert not lab.target.has_topic(TOPIC)


def test_31_records_are_written_by_hand(lab: Lab) -> None:
    """In `lab exec kafka-source-0 bash`, a line for each record and Ctrl-D at the end:

    kafka-console-producer.sh --bootstrap-server kafka-source-0:9092,kafka-source-1:9092 --topic test
    """
    lab.shell("kafka-source-0", f"seq {BY_HAND} | kafka-console-producer.sh {AT_SOURCE} --topic {TOPIC}")
    lab.source.wait_for_records(TOPIC, at_least=BY_HAND, timeout_s=RECORDS_ARRIVE_S)


def test_40_three_connectors_are_deployed(lab: Lab) -> None:
    """`lab mm2 deploy`, or for each file in compose/kraft-2x2/connectors:

    curl -X PUT -H 'Content-Type: application/json' --data @mm2-msc-source-0.json \\
        localhost:8083/connectors/mm2-msc-source-0/config

    msc mirrors records, hbc writes heartbeats, cpc translates what consumer groups have committed; it
    has no task as long as there is no group. Either worker may be asked: what one is told, both know.
    Connectors and tasks are shared out: of `worker_id` in `lab mm2 status --json` there are two.
    """
    for kind in ("msc", "cpc", "hbc"):
        lab.deploy(lab.connector(f"mm2-{kind}-source-0"))
    other = json.loads(lab.shell("kafka-connect-0", "curl -s kafka-connect-1:8083/connectors"))
    assert sorted(other) == ["mm2-cpc-source-0", "mm2-hbc-source-0", "mm2-msc-source-0"]
    status = lab.connect.status("mm2-msc-source-0")
    assert [task.state for task in status.tasks] == ["RUNNING", "RUNNING"]
    statuses = lab.connect.statuses()
    workers = {w for s in statuses for w in (s.worker, *(task.worker for task in s.tasks))}
    assert workers == {f"{worker}:8083" for worker in WORKERS}


def test_50_the_topic_arrives_under_its_own_name(lab: Lab) -> None:
    """`lab topics`, or `kafka-topics.sh --describe` at the target: 5 partitions as in the source, and the
    replication factor of the connector's file, 1. IdentityReplicationPolicy keeps the name.
    """
    lab.target.wait_for_records(TOPIC, at_least=BY_HAND, timeout_s=RECORDS_ARRIVE_S)
    told = lab.shell("kafka-target-0", f"kafka-topics.sh --describe {AT_TARGET} --topic {TOPIC}")
    assert "PartitionCount: 5\tReplicationFactor: 1" in told
    assert not lab.target.has_topic(f"source-0.{TOPIC}")


def test_51_mm2_has_topics_of_its_own(lab: Lab) -> None:
    """`lab topics --internal`: in the source the offset syncs, in the target checkpoints and heartbeats.

    Each has two replicas, as the files say, and all are compacted.
    """
    for cluster, topic in (
        (lab.source, "mm2-offset-syncs.target-0.internal"),
        (lab.target, "source-0.checkpoints.internal"),
        (lab.target, "heartbeats"),
    ):
        cluster.wait_for_topic(topic)
        assert {t.name: t.replicas for t in cluster.topics()}[topic] == 2
        assert cluster.topic_configs([topic])[topic]["cleanup.policy"].value == "compact"


def test_52_the_lag_is_high_and_then_nothing(lab: Lab, run: Run) -> None:
    """`lab mm2 pause mm2-msc-source-0`, `lab produce test --records 100000`; in Prometheus the lag is all of
    them: `sum(mirror_lab_record_lag{topic="test"})`. After `lab mm2 resume mm2-msc-source-0` it falls to 0.
    """

    def wait_for_lag(records: int) -> None:
        def observe() -> bool | NotYet:
            found = [v.value for v in lab.metrics.query(f'sum(mirror_lab_record_lag{{topic="{TOPIC}"}})')]
            return found == [records] or NotYet(str(found))

        what = f"a lag of {records} in Prometheus"
        wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=what, transient=(MetricsError,))

    wait_for_lag(0)
    lab.connect.pause("mm2-msc-source-0")
    lab.connect.wait_until_state("mm2-msc-source-0", "PAUSED")
    plan = Plan(run=f"kraft{run.path.name[9:15]}", records=RECORDS)
    with Producing(lab.source, TOPIC, plan, run.path) as producing:
        assert producing.wait().acked == RECORDS
    wait_for_lag(RECORDS)
    lab.connect.resume("mm2-msc-source-0")
    wait_for_lag(0)


def test_53_spark_proves_that_every_record_arrived_once_and_in_order(lab: Lab) -> None:
    """`lab verify test`. Exit code 0 means PASS."""
    judged = lab.verify(TOPIC)
    assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is not Outcome.PASS]
    loss = next(verdict for verdict in judged.verdicts if verdict.check == "loss")
    assert loss.counts["owed"] == RECORDS + BY_HAND


# -- what is easily got wrong ------------------------------------------------------------------------


@contextmanager
def deployed(lab: Lab, connector: Connector) -> Iterator[None]:
    lab.deploy(connector)
    try:
        yield
    finally:
        lab.connect.delete(connector.name)


def test_60_three_replicas_of_its_own_topics_are_mm2s_default_and_two_nodes_cannot_hold_them(
    lab: Lab,
) -> None:
    """`"replication.factor": "1"` is for mirrored topics only. Offset syncs, checkpoints and heartbeats
    have their own keys, whose default is 3.

    Without `checkpoints.topic.replication.factor` the connector is RUNNING, a line in the worker's log
    says what failed, and the topic is not there. Later the broker may make it by itself, with one
    replica and not compacted, so that retention deletes checkpoints. `lab mm2 validate` names the key.
    """
    key, topic = "checkpoints.topic.replication.factor", "three.checkpoints.internal"
    right = lab.connector("mm2-cpc-source-0", **{"source.cluster.alias": "three"})
    right = replace(right, name="three")
    wrong = right.with_overrides({key: None})
    found = [p for p in problems(wrong, lab.topology) if p.severity is Severity.ERROR]
    assert [(p.key, p.remedy) for p in found] == [(key, f'set "{key}": "2"')]

    with deployed(lab, wrong):
        line = "Unable to replicate the partition 3 time(s)"
        wait_until(
            lambda: True if line in lab.project.logs() else NotYet("no such line"),
            timeout_s=CONNECTOR_RUNS_S,
            what=f'the log line "{line}"',
        )
        assert lab.connect.status("three").state == "RUNNING"
        assert not lab.target.has_topic(topic)

    assert problems(right, lab.topology) == []
    with deployed(lab, right):
        lab.target.wait_for_topic(topic)


def test_70_without_the_policy_checkpoints_are_of_another_topic(lab: Lab) -> None:
    """Each connector reads `replication.policy.class` for itself. Given to msc and not to cpc, records go
    to `test`, and the group's checkpoints are of `source-0.test`, which does not exist: on the target the
    group begins anew. Its connector is RUNNING.

    In `lab exec kafka-source-0 bash`: `kafka-console-consumer.sh --bootstrap-server kafka-source-0:9092
    --topic test --group app --from-beginning --max-messages 100`. Group names like `console-consumer-1`
    are excluded by default, so give it a name.
    """
    read = f"kafka-console-consumer.sh {AT_SOURCE} --topic {TOPIC} --from-beginning --max-messages 100"
    lab.shell("kafka-source-0", f"{read} --group app 2>/dev/null")
    quick = {"groups": "app", "emit.checkpoints.interval.seconds": "1"}
    right = lab.connector("mm2-cpc-source-0", **quick)
    policy = "replication.policy.class"
    assert right.config[policy] == IDENTITY_POLICY

    for connector, topic in ((right.with_overrides({policy: None}), f"source-0.{TOPIC}"), (right, TOPIC)):
        before = len(checkpoints(lab))
        lab.deploy(connector)
        assert checkpointed(lab, before) == {topic}
        assert lab.connect.status(connector.name).running
    assert not lab.target.has_topic(f"source-0.{TOPIC}")


def checkpoints(lab: Lab) -> list[Checkpoint]:
    records = lab.target.read("source-0.checkpoints.internal", from_start=True, idle_s=1)
    return [found for record in records if (found := checkpoint(record)) and found.group == "app"]


def checkpointed(lab: Lab, before: int) -> set[str]:
    """The topics of the first checkpoints that come after so many."""

    def observe() -> set[str] | NotYet:
        return {found.topic for found in checkpoints(lab)[before:]} or NotYet(f"{before} checkpoints")

    return wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what='new checkpoints of group "app"')


@contextmanager
def heap(lab: Lab, options: str) -> Iterator[None]:
    """Both workers with another heap; afterwards with the lab's own."""
    wish = Wish(topology=lab.topology.name, name=lab.name, kafka=lab.kafka_version)
    Lab.up(replace(wish, variables={HEAP: options})).close()
    try:
        yield
    finally:
        Lab.up(replace(wish, variables={HEAP: lab.topology.variables[HEAP]})).close()


@pytest.mark.slow
def test_80_a_heap_of_256_mb_is_enough_until_there_is_a_backlog(lab: Lab, run: Run) -> None:
    """`lab up kraft-2x2 --set LAB_CONNECT_HEAP="-Xms128m -Xmx256m"`, as it is often set, and a topic that has
    a million records already. Each task keeps whole fetches and all that the target has not acknowledged.

    A worker runs out of memory and ends; its tasks wait for it, or end the other worker too. Mirroring stands
    still, and of the connector Connect still says RUNNING. With the heap of the lab the rest arrives.
    """
    lab.source.create_topic(BACKLOG, partitions=5, replicas=2)
    plan = Plan(run=f"heap{run.path.name[9:15]}", records=1_000_000, size_bytes=200)
    with Producing(lab.source, BACKLOG, plan, run.path / BACKLOG) as producing:
        assert producing.wait().acked == plan.records
    connector = replace(lab.connector("mm2-msc-source-0", topics=BACKLOG), name=BACKLOG)

    def ended() -> bool | NotYet:
        boxes = {b.service: b for b in lab.containers() if b.service in WORKERS}
        return any(b.state == "exited" for b in boxes.values()) or NotYet(
            f"{ {name: box.state for name, box in boxes.items()} }"
        )

    with heap(lab, "-Xms128m -Xmx256m"):
        lab.deploy(connector)
        wait_until(ended, timeout_s=OUT_OF_MEMORY_S, what="a worker that has run out of memory")
        assert "OutOfMemoryError" in lab.project.logs()
        assert 0 < records(lab, BACKLOG) < plan.records
    lab.target.wait_for_records(BACKLOG, at_least=plan.records, timeout_s=BACKLOG_ARRIVES_S)


def records(lab: Lab, topic: str) -> int:
    return sum(offsets.count for offsets in lab.target.offsets(topic).values())


def test_90_of_two_voters_none_may_be_lost(lab: Lab) -> None:
    """Kill one of the source's nodes for two minutes; in another terminal create a topic: it times out.

        lab fault inject kill --set victim=kafka-source-1 --for 2m
        lab exec kafka-source-0 kafka-topics.sh --create --topic meanwhile \\
            --bootstrap-server kafka-source-0:9092

    A quorum of two needs both. The node that is left cannot elect a controller: no topic is created, no
    leader moves, though half of the partitions have one. Two nodes are safer than one only for the data;
    three are the fewest of which one may be lost. Started again, the cluster heals by itself.
    """
    lab.source.create_topic("before")
    lab.project.kill("kafka-source-1")
    try:
        assert {box.service: box.state for box in lab.containers()}["kafka-source-1"] == "exited"
        with pytest.raises(ClusterError, match='creating topic "meanwhile"'):
            lab.source.create_topic("meanwhile")
    finally:
        lab.project.start("kafka-source-1", timeout_s=SERVICES_HEALTHY_S)
    lab.source.wait_until_answers(2)

    def created() -> bool:
        if not lab.source.has_topic("after"):
            lab.source.create_topic("after", replicas=2)
        return True

    # the client may have asked the controller that is gone, and learns of the new one by that
    wait_until(created, timeout_s=TOPIC_APPEARS_S, what='topic "after" is created', transient=(ClusterError,))

    describe = f"kafka-topics.sh --describe {AT_SOURCE} --under-replicated-partitions"
    wait_until(
        lambda: NotYet(told) if (told := lab.shell("kafka-source-0", describe).strip()) else True,
        timeout_s=TOPIC_APPEARS_S,
        what="all partitions of the source replicated",
    )
