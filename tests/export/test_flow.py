"""lab.export.flow, meaning and clusters: what runs, and what no form can say."""

import pytest

from lab.errors import LabError
from lab.export.clusters import clusters
from lab.export.flow import Worker, flow_of, holds_secret
from lab.export.meaning import differing, reads, same
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE, Connector
from lab.mm2_keys import KNOWN_KEYS
from tests.export.flows import SIMPLE, all_three, connector


def test_what_a_worker_adds_is_part_of_the_flow() -> None:
    worker = Worker(bootstrap="b:9092", converters={"header.converter": SIMPLE})

    (found,) = flow_of([connector(SOURCE)], worker=worker).connectors

    assert found.config["header.converter"] == SIMPLE


def test_what_a_worker_adds_to_a_converter_comes_with_it_alone() -> None:
    converters = {"key.converter": "Json", "key.converter.schemas.enable": "false", "value.converter": "Json"}
    worker = Worker(bootstrap="b:9092", converters=converters)

    (found,) = flow_of([connector(SOURCE, **{"value.converter": "Avro"})], worker=worker).connectors

    assert {k: v for k, v in found.config.items() if "converter" in k} == {
        "key.converter": "Json",
        "key.converter.schemas.enable": "false",
        "value.converter": "Avro",
    }


def test_a_worker_that_is_not_known_is_told() -> None:
    (told,) = flow_of([connector(SOURCE, **{"key.converter": "Json"})], worker=Worker()).told

    assert told.startswith("value.converter, header.converter: the workers' own are not known here")


def test_a_redirection_to_the_target_says_nothing_new() -> None:
    config = {"producer.override.bootstrap.servers": "b:9092", "producer.override.linger.ms": "5"}

    (found,) = flow_of([connector(SOURCE, **config)], worker=Worker(bootstrap="a1:9092")).connectors

    assert "producer.override.bootstrap.servers" not in found.config
    assert found.config["producer.override.linger.ms"] == "5"


def test_a_redirection_elsewhere_stays() -> None:
    config = {"producer.override.bootstrap.servers": "a2:9092"}

    (found,) = flow_of([connector(HEARTBEAT, **config)], worker=Worker(bootstrap="b:9092")).connectors

    assert found.config["producer.override.bootstrap.servers"] == "a2:9092"


def test_a_connector_that_writes_to_the_wrong_cluster_is_refused() -> None:
    with pytest.raises(LabError) as refused:
        flow_of([connector(SOURCE)], worker=Worker(bootstrap="a1:9092"))

    assert refused.value.message == (
        'connector "MirrorSourceConnector" writes to its worker\'s cluster (a1:9092), not to its target "b" '
        "(b:9092), where MM2 writes elsewhere"
    )
    assert '"producer.override.bootstrap.servers": "b:9092"' in (refused.value.hint or "")


def test_two_of_a_kind_between_two_clusters_are_refused() -> None:
    other = Connector(name="other", config=connector(SOURCE).config)

    with pytest.raises(LabError) as refused:
        flow_of([connector(SOURCE), other])

    assert refused.value.message == (
        '"MirrorSourceConnector" and "other" are both a MirrorSourceConnector of a->b: every other form has '
        "one of a kind between two clusters"
    )


def test_what_is_not_mm2s_or_switched_off_is_told() -> None:
    sink = Connector(name="sink", config={"connector.class": "FileStreamSink"})
    off = connector(HEARTBEAT, **{"emit.heartbeats.enabled": "false"})

    flow = flow_of([connector(SOURCE), sink, off])

    assert [c.connector_class for c in flow.connectors] == [SOURCE]
    assert flow.told == (
        '"sink" is no connector of MM2, and left out',
        '"MirrorHeartbeatConnector" is switched off, and left out',
    )


def test_heartbeats_go_on_where_a_flow_is_not_enabled() -> None:
    flow = flow_of(all_three(enabled="false"))

    assert [connector.connector_class for connector in flow.connectors] == [HEARTBEAT]
    assert flow.connectors == flow_of([connector(HEARTBEAT)]).connectors


def test_nothing_is_no_flow() -> None:
    with pytest.raises(LabError, match="no connector of MM2 runs that could be exported"):
        flow_of([])


@pytest.mark.parametrize("key", ["bootstrap.servers", "security.protocol", "sasl.jaas.config"])
def test_connectors_that_reach_a_cluster_in_two_ways_are_refused(key: str) -> None:
    flow = flow_of([connector(SOURCE, **{f"source.cluster.{key}": "x"}), connector(CHECKPOINT)])

    with pytest.raises(LabError, match=f'have not the same "{key}" for cluster "a"'):
        clusters(flow)


def test_a_cluster_without_an_address_is_refused() -> None:
    one = connector(SOURCE).with_overrides({"target.cluster.bootstrap.servers": None})

    with pytest.raises(LabError, match='has no address of cluster "b"'):
        clusters(flow_of([one]))


@pytest.mark.parametrize(
    ("key", "value", "is_one"),
    [
        ("ssl.truststore.password", "x", True),
        ("ssl.truststore.password", "${file:/a:b}", False),
        ("sasl.jaas.config", 'M required username="u" password="x";', True),
        ("sasl.jaas.config", "M required username=u password='x';", True),
        ("sasl.jaas.config", 'M required username="u" password="${file:/a:b}";', False),
        ("sasl.jaas.config", 'M required clientSecret="x";', True),
        ("topics", "passwords", False),
        ("s3.secret.access.key", "x", True),
        ("azure.credential", "x", True),
    ],
)
def test_secrets_are_told_from_references(key: str, value: str, is_one: bool) -> None:
    assert holds_secret(f"source.cluster.{key}", value) is is_one


def test_what_holds_anyway_makes_no_difference() -> None:
    said = all_three(
        **{"tasks.max": "1", "topics": ".*", "replication.policy.separator": ".", "enabled": "true"}
    )

    assert same(said, all_three())
    assert not same(said, all_three(**{"replication.policy.separator": "_"}))


def test_what_a_client_is_told_again_makes_no_difference() -> None:
    """A dedicated MM2 gives its connectors each cluster's settings for each of three clients too."""
    again = all_three(**{"source.consumer.bootstrap.servers": "a1:9092,a2:9092"})
    other = all_three(**{"source.consumer.bootstrap.servers": "a2:9092"})

    assert same(again, all_three())
    assert flow_of(again) == flow_of(all_three())
    assert not same(other, all_three())


def test_a_key_counts_where_it_is_read() -> None:
    assert differing(all_three(**{"refresh.groups.interval.seconds": "5"}), all_three()) == [
        "refresh.groups.interval.seconds of MirrorCheckpointConnector"
    ]


def test_some_connector_reads_every_key() -> None:
    unread = [
        key for key in KNOWN_KEYS if not any(reads(cls, key) for cls in (SOURCE, CHECKPOINT, HEARTBEAT))
    ]

    assert unread == []
