"""A connector on Connect mirrors a topic: every record arrives on the target, once and in order.

Two Kafka clusters, `source` and `target`, of one broker each, and one Connect worker. You deploy
MirrorSourceConnector over Connect's REST API, see under which name its topic arrives, and let Spark
prove, partition by partition and position by position, that nothing is missing, doubled or swapped.
On the way you meet what is easily got wrong, and see what it does.

Follow along: `lab up basic-mirror`, then type what each step shows; `lab exec SERVICE bash` is a
shell in a service's container.
"""

import json
import subprocess
from collections.abc import Iterator

import pytest
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from lab.connect import ConnectError
from lab.engine import EngineError
from lab.harness import Lab
from lab.mm2 import BYTES_CONVERTER, Severity
from lab.mm2_problems import problems
from lab.spark import topic_frame
from lab.wait import CLUSTER_ANSWERS_S, CONNECTOR_RUNS_S, RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import HEADER, Plan, produce
from scenarios.diagnosing import Doctor

pytestmark = pytest.mark.topology("basic-mirror")

TOPIC = "to_replicate"
REMOTE = "source.to_replicate"
AT_SOURCE = "--bootstrap-server broker:29092"
AT_TARGET = "--bootstrap-server broker2:29093"
AS_JSON = "-H 'Content-Type: application/json' --data-binary @-"


@pytest.fixture(scope="module", autouse=True)
def random_numbers(lab: Lab) -> Iterator[None]:
    """The lesson's producer: it starts before the connector and goes on until the lesson ends.

    Each number carries a running number, since random ones repeat and would hide a swap or a loss.
    """
    lab.shell("broker", f"kafka-topics --create --if-not-exists --topic {TOPIC} {AT_SOURCE}")
    loop = 'n=0; while :; do echo "$((++n)) $RANDOM"; sleep 0.05; done'
    with lab.shell_in_background("broker", f"{loop} | kafka-console-producer --topic {TOPIC} {AT_SOURCE}"):
        yield


def test_01_all_services_run(lab: Lab) -> None:
    """`lab status`: two ZooKeepers, two brokers, one Connect worker, and Spark for the proof.

    "healthy" is what a container says of itself. That the clusters are separate is what matters
    here: each knows one broker, and each broker another id.
    """
    states = {box.service: box.state for box in lab.containers()}
    assert states == dict.fromkeys(
        ("zookeeper", "zookeeper2", "broker", "broker2", "connect", "spark"), "running"
    )
    ids = [
        lab.shell(broker, f"kafka-broker-api-versions {address} | grep -o 'id: [0-9]*'").strip()
        for broker, address in (("broker", AT_SOURCE), ("broker2", AT_TARGET))
    ]
    assert ids == ["id: 1", "id: 2"]


def test_02_the_worker_runs_with_the_properties_of_its_environment(lab: Lab) -> None:
    """In `lab exec connect bash`: `ps -efww` and `cat /etc/kafka-connect/kafka-connect.properties`.

    Process 1 is Java, and the last word of its command line is the properties file, which the image
    makes from the variables that start with CONNECT_.
    """
    process = lab.shell("connect", "ps -efww | grep '[C]onnectDistributed'").split()
    assert (process[1], process[7], process[-1]) == (
        "1",
        "java",
        "/etc/kafka-connect/kafka-connect.properties",
    )
    lines = lab.shell("connect", "cat /etc/kafka-connect/kafka-connect.properties").splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    expected = {
        "bootstrap.servers": "broker:29092",
        "group.id": "quickstart",
        "rest.port": "28082",
        "config.storage.topic": "quickstart_config",
        "offset.storage.topic": "quickstart_offsets",
        "status.storage.topic": "quickstart_status",
        "config.storage.replication.factor": "1",
        "key.converter": BYTES_CONVERTER,
        "value.converter": BYTES_CONVERTER,
        "connector.client.config.override.policy": "All",
    }
    assert {key: properties.get(key) for key in expected} == expected


def test_03_quotes_in_a_list_become_part_of_the_value(tmp_path: object) -> None:
    """Compose takes `environment` as a list or as a mapping. In a list, quotes are just characters.

    `- CONNECT_GROUP_ID="quickstart"` names the group `"quickstart"`, quotes included: a second worker
    written without them would never find the first. Write a mapping.
    """
    service = 'services: {connect: {image: "none", environment: [CONNECT_GROUP_ID="quickstart"]}}'
    service = service.replace('[CONNECT_GROUP_ID="quickstart"]', "['CONNECT_GROUP_ID=\"quickstart\"']")
    done = subprocess.run(
        ["docker", "compose", "-p", "quotes", "-f", "-", "config", "--format", "json"],
        input=service,
        capture_output=True,
        text=True,
        check=True,
    )
    environment = json.loads(done.stdout)["services"]["connect"]["environment"]
    assert environment == {"CONNECT_GROUP_ID": '"quickstart"'}


def test_04_a_broker_answers_on_the_listener_that_was_asked(lab: Lab) -> None:
    """Publishing port 9092 of a broker that listens on 29092 only leads nowhere.

    And publishing 29092 would not help: a client's first answer is the *advertised* address, and
    `broker:29092` means something only inside Docker's network. So each broker has two listeners:
    INTERNAL for containers, EXTERNAL for this host.
    """
    inside = lab.shell("broker", f"kafka-broker-api-versions {AT_SOURCE} | head -1")
    assert inside.startswith("broker:29092 (id: 1")
    assert lab.source.brokers() == [lab.address("broker")]
    with pytest.raises(EngineError):  # 9998 is one of the ports that are often published for no one
        lab.shell("connect", "exec 3<>/dev/tcp/localhost/9998")


def test_05_the_topic_exists_and_numbers_flow_into_it(lab: Lab) -> None:
    """In `lab exec broker bash`:

        kafka-topics --create --topic to_replicate --bootstrap-server broker:29092
        n=0; while :; do echo "$((++n)) $RANDOM"; sleep 0.05; done |
            kafka-console-producer --topic to_replicate --bootstrap-server broker:29092

    The producer is at work before there is any mirror, and it goes on during the whole lesson.
    """
    assert f"Topic: {TOPIC}\t" in lab.shell("broker", f"kafka-topics --describe --topic {TOPIC} {AT_SOURCE}")
    before = lab.source.wait_for_records(TOPIC, at_least=20, timeout_s=RECORDS_ARRIVE_S)
    lab.source.wait_for_records(TOPIC, at_least=before + 20, timeout_s=RECORDS_ARRIVE_S)
    assert not lab.target.has_topic(REMOTE)


def test_06_post_creates_the_connector(lab: Lab) -> None:
    """POST wants the name beside the config that the file has:

        file=compose/basic-mirror/connectors/test_mirror.json
        (echo '{"name": "test_mirror", "config":'; cat $file; echo '}') |
            lab exec connect curl -s -X POST localhost:28082/connectors \\
                -H 'Content-Type: application/json' --data-binary @-

    The answer repeats the connector; it has no tasks yet.
    `lab exec connect curl -s localhost:28082/connectors` lists it.
    """
    connector = lab.connector("test_mirror")
    body = json.dumps({"name": "test_mirror", "config": connector.config})
    answer = json.loads(
        lab.shell("connect", f"curl -s -X POST localhost:28082/connectors {AS_JSON}", stdin=body)
    )
    assert (answer["name"], answer["type"]) == ("test_mirror", "source")
    assert json.loads(lab.shell("connect", "curl -s localhost:28082/connectors")) == ["test_mirror"]


def test_07_post_twice_is_refused_and_put_twice_is_fine(lab: Lab) -> None:
    """POST creates, and a second time it is answered 409. PUT creates or updates, as often as you like.

    PUT takes the config alone, without {"name": …, "config": …} around it. `lab mm2 deploy` uses PUT.
    """
    connector = lab.connector("test_mirror")
    with pytest.raises(ConnectError, match="already exists") as refused:
        lab.connect.create(connector)
    assert refused.value.status == 409
    lab.connect.deploy(connector)
    lab.connect.deploy(connector)
    assert lab.connect.names() == ["test_mirror"]


def test_08_connector_and_task_are_running(lab: Lab) -> None:
    """`lab mm2 status`: connector RUNNING, one task RUNNING. It is no evidence that records arrive:
    the trap further down is RUNNING all the same.
    """
    status = lab.connect.wait_until_runs("test_mirror")
    assert (status.state, [task.state for task in status.tasks]) == ("RUNNING", ["RUNNING"])


def test_09_the_topic_arrives_under_the_alias_of_its_cluster(lab: Lab) -> None:
    """In `lab exec broker2 bash`: `kafka-topics --list --bootstrap-server broker2:29093`.

    The name is `source.cluster.alias`, a dot, and the topic's own name: the default replication policy.
    """
    lab.target.wait_for_topic(REMOTE)
    assert REMOTE in lab.shell("broker2", f"kafka-topics --list {AT_TARGET}").split()
    assert not lab.source.has_topic(REMOTE)


def test_10_spark_proves_that_every_record_arrived_once_and_in_order(lab: Lab) -> None:
    """The contents of both topics are frozen: end offsets of the source taken from its broker at one
    moment, and as many records of the target as that. Position by position within each partition the
    two must hold the same record; a missing, doubled or swapped one shifts or breaks the comparison.
    """
    sent = lab.source.offsets(TOPIC)
    count = sum(offsets.count for offsets in sent.values())
    assert count >= 40, "too few records to prove anything"
    lab.target.wait_for_records(REMOTE, at_least=count, timeout_s=RECORDS_ARRIVE_S)
    position = f.row_number().over(Window.partitionBy("partition").orderBy("offset"))
    sides = [
        topic_frame(lab.spark, topic, offsets, bootstrap=lab.internal_bootstrap(alias))
        .withColumn("position", position)
        .select("partition", "position", f.struct("key", "value", "timestamp").alias(alias))
        for alias, topic, offsets in (
            ("source", TOPIC, sent),
            ("target", REMOTE, lab.target.offsets(REMOTE)),
        )
    ]
    pairs = sides[0].join(sides[1], ["partition", "position"], "left")
    different = ~f.col("source").eqNullSafe(f.col("target"))
    judged = pairs.agg(f.count("source").alias("read"), f.count_if(different).alias("different")).first()
    first = pairs.where(different).orderBy("partition", "position").first() if judged.different else None
    assert judged.read == count, f"{judged.read} records read of {count}"
    assert judged.different == 0, f"first difference: {first}"


def test_11_the_console_consumer_prints_what_arrived(lab: Lab) -> None:
    """In `lab exec broker2 bash`: `kafka-console-consumer --topic source.to_replicate
    --from-beginning --bootstrap-server broker2:29093`, and Ctrl-C when you have seen enough.
    """
    command = f"kafka-console-consumer --topic {REMOTE} --from-beginning --max-messages 5 {AT_TARGET}"
    printed = lab.shell("broker2", f"{command} 2>/dev/null").splitlines()
    assert [line.split()[0] for line in printed] == ["1", "2", "3", "4", "5"]


def test_12_without_its_override_the_records_land_in_the_source_cluster(lab: Lab) -> None:
    """A worker produces to its own bootstrap.servers, whatever the connector calls its target.

    This worker belongs to the source cluster. Without `producer.override.bootstrap.servers` MM2
    creates the topic on the target, where it stays empty, and the records go to a topic of that name
    on the *source*. Everything is RUNNING. `lab mm2 validate` names it.
    """
    key = "producer.override.bootstrap.servers"
    lab.source.create_topic("to_trap")
    lab.shell("broker", f"seq 1 20 | kafka-console-producer --topic to_trap {AT_SOURCE}")
    right = lab.connector("test_mirror", topics="to_trap")
    trap = right.with_overrides({key: None})
    named = [p for p in problems(trap, lab.topology) if p.severity is Severity.ERROR]
    assert [(p.key, p.remedy) for p in named] == [(key, f'set "{key}": "broker2:29093"')]
    assert 'cluster "source"' in named[0].message
    assert not [p for p in problems(right, lab.topology) if p.severity is Severity.ERROR]

    renamed = type(trap)(name="trap", config=trap.config)
    assert lab.deploy(renamed).running
    lab.source.wait_for_records("source.to_trap", at_least=20, timeout_s=RECORDS_ARRIVE_S)
    assert sum(offsets.count for offsets in lab.target.offsets("source.to_trap").values()) == 0
    lab.connect.delete("trap")


def test_13_the_default_replication_factor_is_two_and_only_a_warning_says_so(lab: Lab) -> None:
    """`replication.factor` is the mirrored topics' and its default is 2; there is one broker.

    MM2 cannot create the topic and only warns. The broker then creates it by itself as soon as MM2
    writes, with one partition instead of three: records of the others wait for ever, the connector is
    RUNNING. `lab mm2 validate` names it; the connector file of this topology sets the factor to 1.
    """
    lab.source.create_topic("three_partitions", partitions=3)
    minimal = lab.connector("test_mirror", topics="three_partitions", **{"replication.factor": None})
    assert "replication.factor" in [p.key for p in problems(minimal, lab.topology)]
    assert lab.deploy(type(minimal)(name="minimal", config=minimal.config)).running
    warning = "Could not create topic source.three_partitions"
    wait_until(
        lambda: True if warning in lab.project.logs("connect") else NotYet("no such line"),
        timeout_s=CONNECTOR_RUNS_S,
        what=f'the log line "{warning}"',
    )
    assert (
        not lab.target.has_topic("source.three_partitions")
        or len(lab.target.offsets("source.three_partitions")) == 1
    )
    lab.connect.delete("minimal")


@pytest.mark.parametrize(
    ("converter", "arrives"),
    [(None, "base64"), (BYTES_CONVERTER, "as it is")],
    ids=["default", "ByteArrayConverter"],
)
def test_14_headers_survive_only_with_a_binary_header_converter(
    lab: Lab, converter: str | None, arrives: str
) -> None:
    """Key and value converters are set on this worker, `header.converter` is not: its default turns
    every header's bytes into base64 text. `lab mm2 validate` warns; ByteArrayConverter keeps them.
    """
    topic = f"with_headers_{'default' if converter is None else 'bytes'}"
    lab.source.create_topic(topic)
    tally = produce(lab.source, topic, Plan(run="lesson", records=1), lambda _: None)
    assert tally.acked == 1
    connector = lab.connector("test_mirror", topics=topic, **{"header.converter": converter})
    warned = "header.converter" in [p.key for p in problems(connector, lab.topology)]
    assert warned is (converter is None)
    lab.deploy(type(connector)(name=topic, config=connector.config))
    lab.target.wait_for_records(f"source.{topic}", at_least=1, timeout_s=RECORDS_ARRIVE_S)
    record = next(lab.target.read(f"source.{topic}", from_start=True))
    expected = {"base64": b"bGVzc29uLTAtMA==", "as it is": b"lesson-0-0"}[arrives]
    assert record.headers == ((HEADER, expected),)
    lab.connect.delete(topic)


def test_15_what_is_still_wrong_has_a_name(lab: Lab) -> None:
    """`lab diagnose` finds one thing in what the tutorial deploys, headers, and says what mends it:
    `lab mm2 set test_mirror header.converter=…`. Then it finds nothing.
    """
    doctor = Doctor(lab)
    found = doctor.says("header_converter")
    wait_until(
        lambda: doctor.findings() == [found] or NotYet("more"),
        timeout_s=CLUSTER_ANSWERS_S,
        what="nothing else",
        pause_s=1.0,
    )
    doctor.carry_out(found)
    doctor.says_nothing()
