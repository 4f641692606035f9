"""What can be said of a cluster without one: counts, names, and errors of a cluster that is not there."""

from types import SimpleNamespace

import pytest

from lab.kafka import Cluster, ClusterError, KafkaError, Offsets, Topic, connection


def test_offsets_count_what_lies_between_them() -> None:
    assert Offsets(start=5, end=12).count == 7


def test_a_topic_counts_all_its_partitions() -> None:
    offsets = {0: Offsets(start=0, end=10), 1: Offsets(start=5, end=6)}

    assert Topic(name="orders", partitions=2, replicas=1, offsets=offsets).count == 11


@pytest.mark.parametrize(
    ("name", "internal"),
    [
        ("orders", False),
        ("source.orders", False),
        ("__consumer_offsets", True),
        ("mm2-offset-syncs.target.internal", True),
        ("source.checkpoints.internal", True),
        ("heartbeats", True),
    ],
)
def test_topics_of_kafka_and_mm2_are_internal(name: str, internal: bool) -> None:
    assert Topic(name=name, partitions=1, replicas=1, offsets={}).internal is internal


def test_client_settings_are_bootstrap_properties_and_more() -> None:
    cluster = Cluster("source", "broker:9092", {"security.protocol": "PLAINTEXT"})

    assert cluster.client_config(acks="all") == {
        "bootstrap.servers": "broker:9092",
        "security.protocol": "PLAINTEXT",
        "acks": "all",
    }


def test_a_cluster_that_is_not_there_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_METADATA_S", 0.2)

    with pytest.raises(ClusterError) as caught:
        Cluster("source", "127.0.0.1:1").topic_names()

    assert caught.value.message.startswith('asking cluster "source" at 127.0.0.1:1 failed: ')
    assert caught.value.hint == 'see "lab status"'


def test_a_broker_that_does_not_list_its_groups_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own error is no exception: raised as it is, it ends the thread and tells nobody."""
    listed = SimpleNamespace(errors=[KafkaError(KafkaError._TIMED_OUT)], valid=[])
    asked = SimpleNamespace(list_consumer_groups=lambda **_: SimpleNamespace(result=lambda: listed))
    cluster = Cluster("source", "127.0.0.1:1")
    monkeypatch.setitem(vars(cluster), "_admin", asked)

    with pytest.raises(ClusterError, match=r'^listing the groups of cluster "source" failed: .*Timed out'):
        cluster.group_states()
