"""What a worker does not object to is found before it is asked: it would run, and do something else."""

from pathlib import Path

import pytest

from lab import topology
from lab.mm2 import Connector, Problem, Severity
from lab.mm2_problems import nothing_to_mirror, problems, replicas
from lab.topology import Topology
from tests.written_topology import VALID, write

SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
CHECKPOINT = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
HEARTBEAT = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

# Right for the topology basic-mirror: nothing to object to.
RIGHT = {
    "connector.class": SOURCE,
    "source.cluster.alias": "source",
    "target.cluster.alias": "target",
    "topics": "orders",
    "source.cluster.bootstrap.servers": "broker:29092",
    "target.cluster.bootstrap.servers": "broker2:29093",
    "producer.override.bootstrap.servers": "broker2:29093",
    "replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "key.converter": BYTES,
    "value.converter": BYTES,
    "header.converter": BYTES,
}


def connector(**changes: str | None) -> Connector:
    return Connector(name="orders", config=RIGHT).with_overrides(changes)


@pytest.fixture(scope="module")
def basic() -> Topology:
    return topology.load("basic-mirror")


def test_nothing_is_wrong_with_a_right_connector(basic: Topology) -> None:
    assert problems(connector(), basic) == []


def test_a_connector_without_a_producer_override_writes_to_the_wrong_cluster(basic: Topology) -> None:
    wrong = connector(**{"producer.override.bootstrap.servers": None})

    assert problems(wrong, basic) == [
        Problem(
            severity=Severity.ERROR,
            key="producer.override.bootstrap.servers",
            message='mirrored records would be written to cluster "source" (broker:29092), not to the target '
            '"target": a worker produces to its own bootstrap.servers',
            remedy='set "producer.override.bootstrap.servers": "broker2:29093"',
        )
    ]


def test_a_worker_of_the_target_needs_no_producer_override(basic: Topology) -> None:
    reverse = connector(
        **{
            "source.cluster.bootstrap.servers": "broker2:29093",
            "target.cluster.bootstrap.servers": "broker:29092",
            "producer.override.bootstrap.servers": None,
        }
    )

    assert problems(reverse, basic) == []


def test_an_override_for_connects_consumers_does_nothing(basic: Topology) -> None:
    overridden = connector(
        **{
            "consumer.override.isolation.level": "read_committed",
            "consumer.override.bootstrap.servers": "broker2:29093",
        }
    )

    assert problems(overridden, basic) == [
        Problem(
            severity=Severity.ERROR,
            key="consumer.override.isolation.level",
            message="it does nothing: MM2's own consumer of the source takes no such key",
            remedy='write "source.consumer.isolation.level"',
        )
    ]


def test_clusters_outside_the_topology_are_not_judged(basic: Topology) -> None:
    outside = connector(
        **{
            "target.cluster.bootstrap.servers": "elsewhere:9092",
            "producer.override.bootstrap.servers": None,
            "replication.factor": "3",
        }
    )

    assert problems(outside, basic) == []


@pytest.mark.parametrize(
    ("kind", "key", "cluster", "value", "said"),
    [
        (SOURCE, "replication.factor", "target", "3", "3"),
        (SOURCE, "replication.factor", "target", None, "2, MM2's default,"),
        (SOURCE, "offset-syncs.topic.replication.factor", "source", None, "3, MM2's default,"),
        (CHECKPOINT, "checkpoints.topic.replication.factor", "target", None, "3, MM2's default,"),
        (HEARTBEAT, "heartbeats.topic.replication.factor", "target", "2", "2"),
    ],
)
def test_more_replicas_than_brokers_are_an_error(
    basic: Topology, kind: str, key: str, cluster: str, value: str | None, said: str
) -> None:
    assert problems(connector(**{"connector.class": kind, key: value}), basic) == [
        Problem(
            severity=Severity.ERROR,
            key=key,
            message=f'replication factor {said} is more than the brokers of cluster "{cluster}" (1): '
            "MM2 only logs that it cannot create the topic",
            remedy=f'set "{key}": "1"',
        )
    ]


def test_offset_syncs_on_the_target_need_brokers_there(tmp_path: Path) -> None:
    """In the written topology the source has two brokers and the target one."""
    two_and_one = topology.read(write(tmp_path, "two-and-one"))
    config = {
        **RIGHT,
        "target.cluster.bootstrap.servers": "other:29093",
        "producer.override.bootstrap.servers": "other:29093",
        "offset-syncs.topic.replication.factor": "2",
    }

    at_source = Connector(name="m", config=config)
    at_target = at_source.with_overrides({"offset-syncs.topic.location": "target"})

    assert problems(at_source, two_and_one) == []
    assert [problem.message for problem in problems(at_target, two_and_one)] == [
        'replication factor 2 is more than the brokers of cluster "target" (1): '
        "MM2 only logs that it cannot create the topic"
    ]


@pytest.mark.parametrize("value", ["²", "many", "-1"])
def test_a_replication_factor_that_is_no_number_is_left_to_the_worker(basic: Topology, value: str) -> None:
    assert problems(connector(**{"replication.factor": value}), basic) == []


@pytest.mark.parametrize("converter", [None, "org.apache.kafka.connect.storage.SimpleHeaderConverter"])
def test_a_header_converter_that_mangles_bytes_is_a_warning(basic: Topology, converter: str | None) -> None:
    assert problems(connector(**{"header.converter": converter}), basic) == [
        Problem(
            severity=Severity.WARNING,
            key="header.converter",
            message="headers arrive base64-encoded: Connect's default header converter is not binary-safe",
            remedy=f'set "header.converter": "{BYTES}"',
        )
    ]


@pytest.mark.parametrize("kind", [SOURCE, CHECKPOINT, HEARTBEAT])
@pytest.mark.parametrize("key", ["key.converter", "value.converter"])
def test_a_converter_that_changes_bytes_is_an_error(basic: Topology, kind: str, key: str) -> None:
    """Of each connector: a checkpoint in JSON cannot be decoded either."""
    factors = dict.fromkeys(
        ("checkpoints.topic.replication.factor", "heartbeats.topic.replication.factor"), "1"
    )
    json = connector(
        **{**factors, "connector.class": kind, key: "org.apache.kafka.connect.json.JsonConverter"}
    )

    assert problems(json, basic) == [
        Problem(
            severity=Severity.ERROR,
            key=key,
            message="JsonConverter changes the bytes of each record: "
            "only ByteArrayConverter leaves them as they are",
            remedy=f'set "{key}": "{BYTES}"',
        )
    ]


def test_without_a_converter_of_its_own_a_connector_has_the_workers(basic: Topology, tmp_path: Path) -> None:
    """Of basic-mirror's workers it is the right one; of the written topology's nobody knows it."""
    its_own = connector(**{"key.converter": None, "value.converter": None, "header.converter": None})
    elsewhere = topology.read(write(tmp_path, "two-and-one"))
    json = "CONNECT_VALUE_CONVERTER: org.apache.kafka.connect.json.JsonConverter"
    text = VALID.replace("CONNECT_BOOTSTRAP", f"{json}, CONNECT_BOOTSTRAP")

    assert [problem.key for problem in problems(its_own, basic)] == ["header.converter"]
    assert [(p.severity, p.key) for p in problems(its_own, elsewhere)] == [
        (Severity.WARNING, key) for key in ("key.converter", "value.converter", "header.converter")
    ]
    told = problems(its_own, topology.read(write(tmp_path, "json", text)))[1]
    assert told.severity is Severity.ERROR
    assert told.message.startswith("JsonConverter, the worker's, changes the bytes")


def test_checkpoints_carry_no_headers_to_mangle(basic: Topology) -> None:
    checkpoints = connector(
        **{
            "connector.class": CHECKPOINT,
            "header.converter": None,
            "checkpoints.topic.replication.factor": "1",
        }
    )

    assert problems(checkpoints, basic) == []


@pytest.mark.parametrize("short", ["MirrorSourceConnector", "MirrorSource"])
def test_connect_knows_the_source_connector_by_its_short_names_too(basic: Topology, short: str) -> None:
    wrong = connector(**{"connector.class": short, "producer.override.bootstrap.servers": None})

    assert [problem.key for problem in problems(wrong, basic)] == ["producer.override.bootstrap.servers"]


def test_a_connector_that_finds_no_topic_is_an_error() -> None:
    assert list(nothing_to_mirror(connector(topics="orders,pay.*"), ["other", "orders2"], kafka_4=False)) == [
        Problem(
            severity=Severity.ERROR,
            key="topics",
            message='no topic of cluster "source" matches "orders, pay.*": '
            "the connector would run without tasks and look again after 600 s",
            remedy='create the topic first, e.g. with "lab produce"',
        )
    ]


@pytest.mark.parametrize("topic", ["heartbeats", "us-west.us-east.heartbeats"])
def test_a_connector_that_finds_heartbeats_only_has_a_task_for_them(topic: str) -> None:
    (found,) = nothing_to_mirror(connector(topics="orders"), ["other", topic], kafka_4=False)

    assert found.severity is Severity.WARNING
    assert found.message == (
        'no topic of cluster "source" matches "orders": '
        "the connector would mirror heartbeats only and look again after 600 s"
    )
    without = connector(topics="orders", **{"heartbeats.replication.enabled": "false"})
    assert [problem.severity for problem in nothing_to_mirror(without, [topic], kafka_4=False)] == [
        Severity.ERROR
    ]


def test_a_connector_that_finds_a_topic_is_none() -> None:
    assert list(nothing_to_mirror(connector(topics="orders,pay.*"), ["payments"], kafka_4=False)) == []
    assert list(nothing_to_mirror(connector(**{"connector.class": HEARTBEAT}), [], kafka_4=False)) == []


@pytest.mark.parametrize("pattern", ["orders[", "*", r"\p{Alpha}+"])
def test_a_pattern_that_only_java_could_judge_is_left_to_the_worker(pattern: str) -> None:
    assert list(nothing_to_mirror(connector(topics=pattern), ["other"], kafka_4=False)) == []


def test_a_policy_that_the_lab_does_not_know_is_told(basic: Topology) -> None:
    key, known = "replication.policy.class", "io.mirrorlab.policy.CustomReplicationPolicy"
    (found,) = problems(connector(**{key: "com.example.Upside"}), basic)

    assert (found.severity, found.key) == (Severity.WARNING, key)
    assert found.message == (
        "the lab does not know Upside, and takes its topics to be named as by the default policy: "
        '"source.orders"'
    )
    assert problems(connector(**{key: known}), basic) == []


@pytest.mark.parametrize(("location", "side"), [("source", "source"), ("target", "target"), (None, "source")])
def test_replicas_are_wanted_on_the_side_where_the_topic_is_made(location: str | None, side: str) -> None:
    """Also where both clusters have one alias."""
    config = {"connector.class": SOURCE, "source.cluster.alias": "one", "target.cluster.alias": "one"}
    connector = Connector(name="c", config={**config, "replication.factor": "1"})

    wanted = replicas(connector.with_overrides({"offset-syncs.topic.location": location}))

    assert [(r.key, r.factor, r.is_default, r.side) for r in wanted] == [
        ("replication.factor", 1, False, "target"),
        ("offset-syncs.topic.replication.factor", 3, True, side),
    ]


def test_a_topic_that_is_left_out_is_not_mirrored() -> None:
    (found,) = nothing_to_mirror(
        connector(topics="ord.*", **{"topics.exclude": "orders"}), ["orders", "other"], kafka_4=False
    )

    assert (found.severity, found.message, found.remedy) == (
        Severity.ERROR,
        'what "ord.*" matches in cluster "source" is left out: orders: '
        "the connector would run without tasks and look again after 600 s",
        'see "topics.exclude"; what came from the target never goes back',
    )


def test_topics_of_kafka_itself_are_none_that_match() -> None:
    (found,) = nothing_to_mirror(connector(topics=".*"), ["__consumer_offsets"], kafka_4=False)

    assert found.message.startswith('no topic of cluster "source" matches ".*": ')
