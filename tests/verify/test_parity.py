"""The rules by which MM2 mirrors topics, configs, ACLs and groups, as literal rows."""

import pytest

from lab.kafka import Acl, GroupOffset, Topic, TopicConfig
from lab.mm2 import CHECKPOINT, IDENTITY_POLICY, SOURCE, Connector
from lab.verify.parity import (
    GroupRow,
    Rule,
    acl_rows,
    config_rows,
    group_rows,
    topic_rows,
)


def connector(kind: str = SOURCE, **config: str) -> Connector:
    return Connector(name="mirror", config={"connector.class": kind, **config})


IDENTITY = {"replication.policy.class": IDENTITY_POLICY}


@pytest.mark.parametrize(
    ("topic", "before_4", "since_4"),
    [
        ("orders", False, False),
        ("__consumer_offsets", True, True),
        (".hidden", True, True),
        ("mm2-offset-syncs.target.internal", True, True),
        ("source.checkpoints.internal", True, True),
        ("billing.internal", True, False),  # KIP-1074
        ("billing-internal", True, False),
    ],
)
def test_what_is_internal_depends_on_the_version(topic: str, before_4: bool, since_4: bool) -> None:
    assert connector().is_internal(topic, kafka_4=False) is before_4
    assert connector().is_internal(topic, kafka_4=True) is since_4


def test_internal_names_have_the_policys_separator() -> None:
    dashed = connector(**{"replication.policy.separator": "-"})

    assert dashed.is_internal("source-checkpoints-internal", kafka_4=True)
    assert not dashed.is_internal("source.checkpoints.internal", kafka_4=True)


@pytest.mark.parametrize(
    ("topic", "config", "mirrored"),
    [
        ("orders", {}, True),
        ("orders", {"topics": "payments, ord.*"}, True),
        ("orders", {"topics": "payments"}, False),
        ("orders", {"topics.exclude": "pay.*,orders"}, False),
        ("orders.replica", {}, False),
        ("orders.replica", {"topics.exclude": ""}, True),
        ("__consumer_offsets", {"topics.exclude": ""}, False),
        ("heartbeats", {"topics": "orders"}, True),
        ("other.heartbeats", {"topics": "orders"}, True),
        ("heartbeats", {"topics": "orders", "heartbeats.replication.enabled": "false"}, False),
        ("target.orders", {}, False),  # it came from the target
        ("third.target.orders", {}, False),
        ("third.orders", {}, True),
        ("target.orders", IDENTITY, True),  # nobody can know
    ],
)
def test_a_topic_is_mirrored_if_selected_not_internal_and_no_cycle(
    topic: str, config: dict[str, str], mirrored: bool
) -> None:
    assert connector(**config).mirrors(topic, kafka_4=False) is mirrored


def _topic(name: str, partitions: int) -> Topic:
    return Topic(name=name, partitions=partitions, replicas=1, offsets={})


def test_topics_are_looked_up_under_their_remote_names() -> None:
    rows = topic_rows(
        connector(topics="orders,payments"),
        [_topic("orders", 3), _topic("payments", 1), _topic("__consumer_offsets", 50)],
        [_topic("source.orders", 4), _topic("__consumer_offsets", 50)],
    )

    assert [(r.topic, r.remote, r.selected, r.internal, r.t_partitions) for r in rows] == [
        ("orders", "source.orders", True, False, 4),
        ("payments", "source.payments", True, False, None),
        ("__consumer_offsets", "source.__consumer_offsets", False, True, None),
    ]


def test_an_internal_topic_of_both_clusters_is_not_taken_for_a_mirrored_one() -> None:
    rows = topic_rows(
        connector(**IDENTITY), [_topic("__consumer_offsets", 50)], [_topic("__consumer_offsets", 50)]
    )

    assert rows[0].t_partitions is None


OWN, DEFAULT, BROKER = "dynamic_topic_config", "default_config", "static_broker_config"
AT_SOURCE = {
    "retention.ms": TopicConfig(value="1000", origin=OWN),
    "segment.ms": TopicConfig(value="5", origin=DEFAULT),
    "min.insync.replicas": TopicConfig(value="2", origin=OWN),
    "max.message.bytes": TopicConfig(value="9", origin=BROKER),
}


def _configs(config: dict[str, str], target: dict[str, TopicConfig], before: object = None) -> object:
    earlier = None if before is None else {"source.orders": before}
    rows = config_rows(connector(**config), {"orders": AT_SOURCE}, {"source.orders": target}, earlier)  # type: ignore[arg-type]
    return [(r.key, r.rule, r.expected, r.found, r.judged) for r in rows]


def test_own_configs_are_copied_defaults_reset_and_excluded_ones_left_alone() -> None:
    target = {
        "retention.ms": TopicConfig(value="7", origin=OWN),
        "segment.ms": TopicConfig(value="8", origin=OWN),
        "min.insync.replicas": TopicConfig(value="1", origin=DEFAULT),
    }

    assert _configs({}, target, {}) == [
        ("retention.ms", Rule.COPIED, "1000", "7", True),
        ("segment.ms", Rule.RESET, None, "8", True),
        ("min.insync.replicas", Rule.UNTOUCHED, None, None, True),
    ]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("2", "1"),  # what the source has: MM2 has copied it
        ("3", "3"),  # neither: somebody else has set it
        ("1", "1"),
    ],
)
def test_an_excluded_config_is_wrong_when_it_became_what_mm2_would_make_of_it(
    found: str, expected: str
) -> None:
    target = {"min.insync.replicas": TopicConfig(value=found, origin=OWN)}

    rows = _configs({}, target, {"min.insync.replicas": "1"})
    assert ("min.insync.replicas", Rule.UNTOUCHED, expected, found, True) in rows  # type: ignore[operator]


def test_an_excluded_config_is_not_judged_when_nobody_looked_before() -> None:
    assert _configs({"config.properties.exclude": ".*"}, {}) == [
        ("retention.ms", Rule.UNTOUCHED, None, None, False),
        ("segment.ms", Rule.UNTOUCHED, None, None, False),
        ("min.insync.replicas", Rule.UNTOUCHED, None, None, False),
    ]


def test_the_sources_defaults_are_copied_if_asked() -> None:
    rows = _configs({"use.defaults.from": "source"}, {"segment.ms": TopicConfig(value="5", origin=OWN)}, {})

    assert ("segment.ms", Rule.COPIED, "5", "5", True) in rows  # type: ignore[operator]


def test_topics_that_are_not_on_the_target_have_no_config_rows() -> None:
    assert config_rows(connector(), {"orders": AT_SOURCE}, {}) == []


def acl(operation: str, permission: str = "allow", name: str = "orders", pattern: str = "literal") -> Acl:
    return Acl(
        resource="topic",
        name=name,
        pattern=pattern,
        principal="User:a",
        host="*",
        operation=operation,
        permission=permission,
    )


@pytest.mark.parametrize(
    ("at_source", "on_target"),
    [
        (acl("read"), acl("read", name="source.orders")),
        (acl("all"), acl("read", name="source.orders")),
        (acl("write"), None),
        (acl("write", "deny"), acl("write", "deny", name="source.orders")),
        (acl("all", "deny"), acl("all", "deny", name="source.orders")),
        (acl("describe"), acl("describe", name="source.orders")),
        (acl("read", pattern="prefixed"), None),
        (acl("read", name="*"), acl("read", name="source.*")),
        (acl("read", name="__consumer_offsets"), None),
    ],
)
def test_acls_of_literal_topics_are_copied_without_the_right_to_write(
    at_source: Acl, on_target: Acl | None
) -> None:
    rows = acl_rows(connector(), [at_source], [])

    assert [(r.topic, r.operation, r.permission, r.expected, r.found) for r in rows] == (
        [(on_target.name, on_target.operation, on_target.permission, True, False)] if on_target else []
    )


def test_a_group_acl_is_not_mm2s_business() -> None:
    group = Acl(**{**vars(acl("read")), "resource": "group"})

    assert acl_rows(connector(), [group], [group]) == []


def test_what_the_target_has_besides_is_shown_with_what_was_before() -> None:
    found = [acl("read", name="source.orders"), acl("write", name="source.orders"), acl("read", name="own")]
    rows = acl_rows(connector(), [acl("read")], found, before=[acl("write", name="source.orders")])

    assert [(r.topic, r.operation, r.expected, r.found, r.before) for r in rows] == [
        ("source.orders", "read", True, True, False),
        ("source.orders", "write", False, True, True),
    ]


@pytest.mark.parametrize(
    ("at_source", "before"),
    [
        ([acl("read"), acl("write")], False),  # MM2 may have copied the right to write
        ([acl("read")], None),  # nothing that MM2 could have made it of
        ([acl("read"), acl("write", name="other")], None),
    ],
)
def test_an_acl_too_many_is_mm2s_only_where_the_source_has_it(
    at_source: list[Acl], before: bool | None
) -> None:
    found = [acl("read", name="source.orders"), acl("write", name="source.orders")]
    rows = acl_rows(connector(), at_source, found, before=[acl("read", name="source.orders")])

    assert [(r.operation, r.expected, r.before) for r in rows] == [
        ("read", True, True),
        ("write", False, before),
    ]


@pytest.mark.parametrize(
    ("group", "config", "synced"),
    [
        ("billing", {}, True),
        ("console-consumer-123", {}, False),
        ("console-consumer-123", {"groups.exclude": ""}, True),
        ("billing", {"groups": "audit,bill.*"}, True),
        ("billing", {"groups": "audit"}, False),
    ],
)
def test_groups_are_selected_by_name(group: str, config: dict[str, str], synced: bool) -> None:
    assert connector(CHECKPOINT, **config).takes_group(group) is synced


def test_a_groups_rows_are_its_partitions_of_the_topic_on_both_sides() -> None:
    at = {
        ("orders", 0): GroupOffset(offset=10, metadata=""),
        ("other", 0): GroupOffset(offset=1, metadata=""),
    }
    there = {("source.orders", 0): GroupOffset(offset=9, metadata="")}
    syncing = connector(CHECKPOINT, **{"sync.group.offsets.enabled": "true"})
    rows = group_rows(
        syncing, "orders", {"billing": at, "new": at}, {"billing": there}, {"billing": "stable"}, due_ms=5
    )

    shared = {"topic": "source.orders", "partition": 0, "s_committed": 10, "t_before": None, "due_ms": 5}
    assert rows == [
        GroupRow(group="billing", t_committed=9, t_state="stable", synced=True, **shared),  # type: ignore[arg-type]
        GroupRow(group="new", t_committed=-1, t_state="absent", synced=True, **shared),  # type: ignore[arg-type]
    ]


def test_what_a_group_had_before_is_known_of_groups_that_had_no_members() -> None:
    at = {
        ("orders", 0): GroupOffset(offset=10, metadata=""),
        ("orders", 1): GroupOffset(offset=8, metadata=""),
    }
    rows = group_rows(
        connector(CHECKPOINT), "orders", {"a": at, "b": at}, {}, {}, due_ms=5, before={"a": {0: 7}}
    )

    assert [(r.group, r.partition, r.t_before) for r in rows] == [
        ("a", 0, 7),
        ("a", 1, -1),
        ("b", 0, None),
        ("b", 1, None),
    ]


def test_an_acl_of_a_topic_that_another_connector_mirrors_is_not_this_ones_work() -> None:
    at_source = [acl("read"), acl("read", name="payments")]
    found = [acl("read", name="source.orders"), acl("read", name="source.payments")]

    def before(topics: str) -> list[tuple[str, bool, bool | None]]:
        rows = acl_rows(connector(topics=topics), at_source, found, before=[])
        return [(r.topic, r.expected, r.before) for r in rows]

    assert before("orders,payments") == [("source.orders", True, False), ("source.payments", True, False)]
    assert before("orders") == [("source.orders", True, False), ("source.payments", False, None)]
