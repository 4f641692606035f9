"""Connector files are read strictly: a mistake is refused before any worker is asked."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from lab.errors import BadInput
from lab.images import FOLDER
from lab.mm2 import CUSTOM_POLICY, IDENTITY_POLICY, Connector, is_kafka_4, read_connector, unknown_keys

SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"

RIGHT = {"connector.class": SOURCE, "topics": "orders", "replication.factor": "1"}


def body(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "orders.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


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
        'did you mean "topics"? did you mean "groups"?',
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
    orders = Connector(name="orders", config=RIGHT)

    changed = orders.with_overrides({"topics": "payments", "tasks.max": "2", "replication.factor": None})

    assert changed.name == "orders"
    assert changed.config == {"connector.class": SOURCE, "topics": "payments", "tasks.max": "2"}
    assert orders.config == RIGHT


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
        (
            {
                "source.cluster.alias": "us",
                "replication.policy.class": "io.mirrorlab.policy.CustomReplicationPolicy",
            },
            "orders",
        ),
        ({"replication.policy.class": "com.example.Other"}, "source.orders"),
    ],
    ids=["default", "alias", "separator", "identity", "custom", "unknown"],
)
def test_the_replication_policy_names_the_remote_topic(config: dict[str, str], remote: str) -> None:
    assert Connector(name="m", config=config).remote_topic("orders") == remote


@pytest.mark.parametrize(
    ("config", "isolation"),
    [
        ({}, "read_uncommitted"),
        ({"consumer.isolation.level": "read_committed"}, "read_committed"),
        ({"source.consumer.isolation.level": "read_committed"}, "read_committed"),
        (
            {
                "consumer.isolation.level": "read_committed",
                "source.consumer.isolation.level": "read_uncommitted",
            },
            "read_uncommitted",
        ),
        ({"consumer.override.isolation.level": "read_committed"}, "read_uncommitted"),
    ],
    ids=["default", "consumer", "source", "the source's wins", "Connect's own"],
)
def test_mm2_reads_transactions_as_its_own_consumer_is_told(config: dict[str, str], isolation: str) -> None:
    assert Connector(name="m", config=config).isolation == isolation


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


@pytest.mark.parametrize(
    ("topics", "selected"),
    [
        ("orders", ["orders"]),
        ("orders, pay.*", ["orders", "payments"]),
        (".*", ["orders", "payments", "orders2"]),
        (None, ["orders", "payments", "orders2"]),
        ("", []),
    ],
)
def test_topics_are_selected_by_name_or_regular_expression(topics: str | None, selected: list[str]) -> None:
    mirror = Connector(name="m", config=RIGHT).with_overrides({"topics": topics})

    assert [topic for topic in ("orders", "payments", "orders2") if mirror.selects(topic)] == selected


@pytest.mark.parametrize(
    ("config", "alias", "syncs", "checkpoints"),
    [
        ({}, "source", "mm2-offset-syncs.target.internal", "source.checkpoints.internal"),
        (
            {"source.cluster.alias": "us", "target.cluster.alias": "eu"},
            *("us", "mm2-offset-syncs.eu.internal", "us.checkpoints.internal"),
        ),
        (
            {"offset-syncs.topic.location": "target"},
            *("target", "mm2-offset-syncs.source.internal", "source.checkpoints.internal"),
        ),
        (
            {"replication.policy.separator": "_"},
            *("source", "mm2-offset-syncs_target_internal", "source_checkpoints_internal"),
        ),
        (
            {
                "replication.policy.separator": "_",
                "replication.policy.internal.topic.separator.enabled": "false",
            },
            *("source", "mm2-offset-syncs.target.internal", "source.checkpoints.internal"),
        ),
    ],
    ids=["default", "aliases", "syncs at the target", "separator", "separator not for internal topics"],
)
def test_mm2s_own_topics_have_names_that_follow_from_the_config(
    config: dict[str, str], alias: str, syncs: str, checkpoints: str
) -> None:
    mirror = Connector(name="m", config=config)

    assert (mirror.offset_syncs_alias, mirror.offset_syncs_topic) == (alias, syncs)
    assert (mirror.checkpoints_topic, mirror.heartbeats_topic) == (checkpoints, "heartbeats")


@pytest.mark.parametrize("policy", [IDENTITY_POLICY, CUSTOM_POLICY])
def test_a_policy_that_keeps_names_renames_heartbeats_all_the_same(policy: str) -> None:
    keeping = Connector(name="m", config={"replication.policy.class": policy})

    assert keeping.keeps_names
    assert keeping.remote_topic("heartbeats") == "source.heartbeats"
    assert keeping.checkpoints_topic == "source.checkpoints.internal"


def test_the_policy_of_the_image_is_the_one_that_is_known() -> None:
    package, _, name = CUSTOM_POLICY.rpartition(".")
    source = (FOLDER / "kafka/policies/classpath" / package.replace(".", "/") / f"{name}.java").read_text()

    assert f"package {package};" in source
    assert f"public class {name} extends DefaultReplicationPolicy" in source


@pytest.mark.parametrize(
    ("config", "insists"),
    [
        ({}, False),
        ({"exactly.once.support": "requested"}, False),
        ({"exactly.once.support": "REQUIRED"}, True),
    ],
)
def test_a_connector_may_insist_on_transactions(config: dict[str, str], insists: bool) -> None:
    assert Connector(name="a", config=config).exactly_once is insists


@pytest.mark.parametrize(
    ("version", "kafka_4"),
    [
        ("3.9.1", False),
        ("4.0.0", True),
        ("4.3.0-SNAPSHOT", True),
        ("2.8.1.amzn", False),
        ("7.6.0-ccs", False),
        ("7.9.1-ce", False),
        ("8.0.0-ccs", True),
        ("unknown", False),
    ],
)
def test_confluents_versions_are_of_their_own(version: str, kafka_4: bool) -> None:
    assert is_kafka_4(version) is kafka_4


def test_before_kafka_4_what_is_excluded_had_other_keys() -> None:
    older = Connector(name="m", config={"topics.blacklist": "orders", "groups.blacklist": "app"})
    both = older.with_overrides({"topics.exclude": "other", "groups.exclude": "other"})

    assert not older.mirrors("orders", kafka_4=False)
    assert not older.takes_group("app")
    assert both.mirrors("orders", kafka_4=False)
    assert both.takes_group("app")
