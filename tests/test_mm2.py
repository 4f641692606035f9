"""Connector files are read strictly, and what a worker does not object to is found before it is asked."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from lab import topology
from lab.errors import BadInput
from lab.mm2 import Connector, Problem, Severity, problems, read_connector, unknown_keys
from lab.topology import Topology
from tests.written_topology import write

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
    "header.converter": BYTES,
}


def body(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "orders.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def connector(**changes: str | None) -> Connector:
    return Connector(name="orders", config=RIGHT).with_overrides(changes)


@pytest.fixture(scope="module")
def basic() -> Topology:
    return topology.load("basic-mirror")


def test_a_flat_body_is_named_by_its_file(tmp_path: Path) -> None:
    assert read_connector(body(tmp_path, RIGHT)) == Connector(name="orders", config=RIGHT)


def test_a_wrapped_body_has_its_own_name(tmp_path: Path) -> None:
    wrapped = {"name": "mirror", "config": RIGHT}

    assert read_connector(body(tmp_path, wrapped)) == Connector(name="mirror", config=RIGHT)


def test_plain_values_become_the_text_that_connect_reads(tmp_path: Path) -> None:
    typed = {"connector.class": SOURCE, "tasks.max": 2, "emit.heartbeats.enabled": False}

    assert read_connector(body(tmp_path, typed)).config == {
        "connector.class": SOURCE,
        "tasks.max": "2",
        "emit.heartbeats.enabled": "false",
    }


MALFORMED: Mapping[str, tuple[object, str, str]] = {
    "no JSON": ("{", "not JSON: ", "mend the file"),
    "nothing": ("", "not JSON: ", "mend the file"),
    "a list": ([1], "not a JSON object", 'write {"connector.class": …, …}'),
    "a text": ('"topics"', "not a JSON object", 'write {"connector.class": …, …}'),
    "null": ("null", "not a JSON object", 'write {"connector.class": …, …}'),
    "a list as value": (
        {**RIGHT, "topics": ["a"]},
        "the value of topics is not a plain value",
        "use strings",
    ),
    "null as value": (
        {**RIGHT, "topics": None, "groups": {}},
        "the value of topics, groups is not a plain value",
        "use strings",
    ),
    "a number as name": ({**RIGHT, "name": 7}, "the value of name is not a plain value", "use strings"),
    "no class": ({"topics": "a"}, 'the key "connector.class" is missing', f'e.g. "{SOURCE}"'),
    "an empty wrapper": (
        {"name": "a", "config": {}},
        'the key "connector.class" is missing',
        f'e.g. "{SOURCE}"',
    ),
    "topic for topics": (
        {**RIGHT, "topic": "a"},
        'no MM2 connector has the key "topic"',
        'did you mean "topics"?',
    ),
    "two unknown keys": (
        {**RIGHT, "topic": "a", "group": "b"},
        'no MM2 connector has the key "topic"; no MM2 connector has the key "group"',
        'did you mean "topics"?; did you mean "groups"?',
    ),
    "an empty key": ({**RIGHT, "": "a"}, 'no MM2 connector has the key ""', ""),
}


@pytest.mark.parametrize(("content", "told", "hint"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_connector_file_says_what_and_where(
    tmp_path: Path, content: object, told: str, hint: str
) -> None:
    path = body(tmp_path, content)

    with pytest.raises(BadInput) as caught:
        read_connector(path)

    assert caught.value.message.startswith(f"{path}: {told}")
    assert (caught.value.hint or "").startswith(hint)


def test_a_connector_file_in_another_encoding_is_not_json(tmp_path: Path) -> None:
    path = tmp_path / "latin1.json"
    path.write_bytes(b'{"topics": "caf\xe9"}')

    with pytest.raises(BadInput, match=r"latin1\.json: not JSON: 'utf-8' codec"):
        read_connector(path)


def test_a_missing_connector_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_connector(tmp_path / "none.json")

    assert caught.value.message == f"{tmp_path}/none.json: No such file or directory"
    assert caught.value.hint == "name an existing JSON file"


def test_overrides_change_add_and_take_away_keys() -> None:
    changed = connector(topics="payments", **{"tasks.max": "2", "replication.factor": None})

    assert changed.name == "orders"
    assert changed.config == {
        **{key: value for key, value in RIGHT.items() if key != "replication.factor"},
        "topics": "payments",
        "tasks.max": "2",
    }


@pytest.mark.parametrize(
    ("config", "remote"),
    [
        ({}, "source.orders"),
        ({"source.cluster.alias": "us"}, "us.orders"),
        ({"source.cluster.alias": "us", "replication.policy.separator": "_"}, "us_orders"),
        (
            {
                "source.cluster.alias": "us",
                "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
            },
            "orders",
        ),
    ],
    ids=["default", "alias", "separator", "identity"],
)
def test_the_replication_policy_names_the_remote_topic(config: dict[str, str], remote: str) -> None:
    assert Connector(name="m", config=config).remote_topic("orders") == remote


def test_families_of_keys_are_known() -> None:
    config = {
        "consumer.max.poll.records": "1",
        "source.consumer.isolation.level": "read_committed",
        "target.producer.acks": "all",
        "transforms.drop.type": "X",
        "topic.creation.default.partitions": "1",
        "sasl.mechanism": "PLAIN",
    }

    assert list(unknown_keys(Connector(name="m", config=config))) == []


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
