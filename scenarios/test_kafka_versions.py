"""The images work for the oldest and the newest Kafka: 2.8.2 in ZooKeeper mode, 4.3.1 in KRaft mode.

Claim: with each version brokers start, Kafka's tools answer under their usual names, and a
MirrorSourceConnector on Connect mirrors records. 2.8.2 has no policy that keeps the names of topics: the
lab's own does it, and configs are synced too.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from lab import engine, images, removal
from lab.harness import Lab, Wish
from lab.images import Image
from lab.mm2 import CUSTOM_POLICY, SOURCE
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, TOPIC_APPEARS_S, NotYet, wait_until
from lab.workload import payload

pytestmark = pytest.mark.topology("basic-mirror")

RECORDS = [payload(f"deadbeef-0-{n}", 40) for n in range(100)]


def test_kafka_2_8_2_mirrors_in_zookeeper_mode(own: Callable[[str], str]) -> None:
    lab = Lab.up(Wish(topology="basic-mirror", name=own("oldest"), kafka="2.8.2"))
    try:
        assert lab.shell("broker", "kafka-topics.sh --version").startswith("2.8.2")
        lab.source.create_topic("to_replicate")
        producer = lab.source.producer()
        for value in RECORDS:
            producer.produce("to_replicate", value=value)
        producer.flush()
        assert lab.deploy(lab.connector("test_mirror")).running
        lab.target.wait_for_records("source.to_replicate", at_least=100, timeout_s=RECORDS_ARRIVE_S)
        mirrored = [r.value for r in lab.target.read("source.to_replicate", from_start=True, idle_s=1)]
        assert mirrored == RECORDS
        keeps_names(lab)
    finally:
        lab.down()


def keeps_names(lab: Lab) -> None:
    """MM2 syncs configs only of topics that a policy recognizes on the target."""
    lab.source.create_topic("kept", partitions=2, configs={"retention.ms": "86400000"})
    lab.shell("broker", "seq 1 100 | kafka-console-producer --topic kept --bootstrap-server broker:29092")
    often = {f"{what}.interval.seconds": "5" for what in ("refresh.topics", "sync.topic.configs")}
    policy = {"replication.policy.class": CUSTOM_POLICY}
    connector = replace(lab.connector("test_mirror", topics="kept", **often, **policy), name="kept")
    assert lab.deploy(connector).running
    lab.target.wait_for_records("kept", at_least=100, timeout_s=RECORDS_ARRIVE_S)
    lab.source.set_topic_config("kept", **{"retention.ms": "43200000"})

    def observe() -> bool | NotYet:
        found = lab.target.topic_configs(["kept"])["kept"]["retention.ms"].value
        return found == "43200000" or NotYet(f"retention.ms={found}")

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="the changed config on the target")
    assert lab.connect.status("kept").running
    assert sum(offsets.count for offsets in lab.target.offsets("kept").values()) == 100
    assert not lab.target.has_topic("source.kept")


class Single:
    """One KRaft node and one Connect worker, without a topology: the bare image."""

    def __init__(self, image: Image) -> None:
        self.project = f"lab-newest-{uuid.uuid4().hex[:6]}"
        self._image = image

    def start(self) -> None:
        engine.docker("network", "create", *self._labels(), self.project)
        advertised = "INTERNAL://broker:29092,CONTROLLER://broker:29093"
        self._run(
            "broker",
            KAFKA_PROCESS_ROLES="broker,controller",
            KAFKA_CONTROLLER_QUORUM_VOTERS="1@broker:29093",
            KAFKA_LISTENERS="INTERNAL://0.0.0.0:29092,CONTROLLER://0.0.0.0:29093",
            KAFKA_ADVERTISED_LISTENERS=advertised.partition(",")[0],
            KAFKA_LISTENER_SECURITY_PROTOCOL_MAP="INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            KAFKA_INTER_BROKER_LISTENER_NAME="INTERNAL",
        )
        self._run("connect", CONNECT_BOOTSTRAP_SERVERS="broker:29092")
        for role, port in (("broker", 29092), ("connect", 8083)):
            wait_until(
                partial(self.docker_exec, role, f"lab-healthy {role} {port}"),
                timeout_s=SERVICES_HEALTHY_S,
                what=f"{role} answers",
                transient=(engine.EngineError,),
            )

    def _labels(self) -> list[str]:
        return [
            *("--label", f"{engine.LABEL}=true", "--label", f"{engine.PROJECT_LABEL}={self.project}"),
        ]

    def _run(self, role: str, **environment: str) -> None:
        variables = [part for key, value in environment.items() for part in ("--env", f"{key}={value}")]
        engine.docker(
            *("run", "--detach", "--name", f"{self.project}-{role}", *self._labels()),
            *("--network", self.project, "--network-alias", role, *variables, self._image.tag, role),
        )

    def docker_exec(self, role: str, command: str) -> str:
        return engine.docker("exec", f"{self.project}-{role}", "bash", "-c", command)


@pytest.fixture
def newest() -> Iterator[Single]:
    (image,) = (image for image in images.wanted("4.3.1") if image.kind == "kafka")
    single = Single(images.ensure(image, on_line=lambda _: None))
    try:
        single.start()
        yield single
    finally:
        removal.remove(single.project)


def test_kafka_4_3_1_mirrors_in_kraft_mode(newest: Single) -> None:
    at = "--bootstrap-server broker:29092"
    assert newest.docker_exec("broker", "kafka-topics --version").startswith("4.3.1")
    newest.docker_exec("broker", f"kafka-topics.sh --create --topic orders {at}")
    newest.docker_exec("broker", f"seq 1 100 | kafka-console-producer --topic orders {at}")
    config = {
        "connector.class": SOURCE,
        "source.cluster.alias": "source",
        "source.cluster.bootstrap.servers": "broker:29092",
        "target.cluster.bootstrap.servers": "broker:29092",
        "topics": "orders",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
    }
    body = "".join(f'"{key}":"{value}",' for key, value in config.items()).rstrip(",")
    put = "curl -sf -X PUT -H 'Content-Type: application/json' localhost:8083/connectors/mirror/config"
    newest.docker_exec("connect", f"{put} -d '{{{body}}}'")
    wait_until(
        lambda: "source.orders" in newest.docker_exec("broker", f"kafka-topics --list {at}") or NotYet("no"),
        timeout_s=TOPIC_APPEARS_S,
        what="topic source.orders",
    )
    read = (
        f"kafka-console-consumer --topic source.orders --from-beginning --max-messages 100 {at} 2>/dev/null"
    )
    assert newest.docker_exec("broker", read).split() == [str(n) for n in range(1, 101)]
