"""What can be said of a cluster without one: counts, names, and errors of a cluster that is not there."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from lab.errors import BadInput
from lab.kafka import (
    Cluster,
    ClusterError,
    GroupOffset,
    KafkaError,
    KafkaException,
    Offsets,
    Topic,
    connection,
    topics,
)
from lab.wait import TimedOut


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
        "allow.auto.create.topics": False,
        "security.protocol": "PLAINTEXT",
        "acks": "all",
    }


@pytest.mark.parametrize("name", ["", ".", "..", "bad topic", "a/b", "ü", "a" * 250, "a\n"])
def test_what_cannot_be_a_topics_name_is_bad_input(name: str) -> None:
    """Before any cluster is asked."""
    with pytest.raises(BadInput, match="cannot be the name of a topic"):
        Cluster("source", "127.0.0.1:1").create_topic(name)


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


class Coordinator:
    """Answers to offsets of a group one after the other: an error, or what became of each place."""

    def __init__(self, *answers: KafkaError | KafkaException | None) -> None:
        self.asked = 0
        self.places: list[Any] = []
        self._answers = answers

    def alter_consumer_group_offsets(self, asked: Any, **_: object) -> dict[str, Any]:
        answer = self._answers[self.asked]
        self.asked += 1
        self.places = asked[0].topic_partitions
        return {"app": SimpleNamespace(result=lambda: self._result(answer))}

    @staticmethod
    def _result(answer: KafkaError | KafkaException | None) -> Any:
        if isinstance(answer, KafkaException):
            raise answer
        return SimpleNamespace(topic_partitions=[SimpleNamespace(error=answer)])


def committing(monkeypatch: pytest.MonkeyPatch, coordinator: Coordinator) -> None:
    cluster = Cluster("source", "127.0.0.1:1")
    # its client may be renewed
    monkeypatch.setattr(connection, "AdminClient", lambda *_, **__: coordinator)
    cluster.commit("app", {("orders", 0): GroupOffset(offset=7)})


def test_a_clusters_first_group_is_asked_for_until_it_has_a_coordinator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both as an error of the request and of a partition."""
    coordinator = Coordinator(
        KafkaException(KafkaError(KafkaError._TIMED_OUT)),
        KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE)),
        KafkaError(KafkaError.NOT_COORDINATOR),
        None,
    )

    committing(monkeypatch, coordinator)

    assert coordinator.asked == 4


def test_a_client_whose_coordinator_was_away_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka asks a group coordinator that has been started again for ever, and gets no answer."""
    place = SimpleNamespace(topic="orders", partition=0, offset=7, metadata=None)

    def listing(answer: object) -> SimpleNamespace:
        def result() -> object:
            if isinstance(answer, KafkaException):
                raise answer
            return SimpleNamespace(topic_partitions=[answer])

        return SimpleNamespace(
            list_consumer_group_offsets=lambda *_, **__: {"app": SimpleNamespace(result=result)}
        )

    clients = [listing(KafkaException(KafkaError(KafkaError._TIMED_OUT))), listing(place)]
    monkeypatch.setattr(connection, "AdminClient", lambda *_, **__: clients.pop(0))

    assert Cluster("source", "127.0.0.1:1").group_offsets("app") == {("orders", 0): GroupOffset(offset=7)}
    assert clients == []


def test_metadata_that_is_empty_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client would send one byte, a zero, for it."""
    coordinator = Coordinator(None)

    committing(monkeypatch, coordinator)

    assert [place.metadata for place in coordinator.places] == [None]


@pytest.mark.parametrize("inside", [True, False], ids=["of a partition", "of the request"])
def test_offsets_that_are_refused_are_an_error(monkeypatch: pytest.MonkeyPatch, inside: bool) -> None:
    refused = KafkaError(KafkaError.UNKNOWN_MEMBER_ID)
    coordinator = Coordinator(refused if inside else KafkaException(refused))

    with pytest.raises(
        ClusterError, match=r'^setting the offsets of group "app" of cluster "source" failed: '
    ):
        committing(monkeypatch, coordinator)

    assert coordinator.asked == 1


class Leaders:
    """Answers for offsets with errors, then with 7; how often it was asked for them, and who leads."""

    def __init__(self, *errors: int) -> None:
        self.asked = self.told_who_leads = 0
        self._errors = errors

    def list_offsets(self, asked: dict[Any, Any], **_: object) -> dict[Any, Any]:
        self.asked += 1
        error = self._errors[self.asked - 1] if self.asked <= len(self._errors) else None
        return {place: SimpleNamespace(result=lambda: self._result(error)) for place in asked}

    def list_topics(self, **_: object) -> SimpleNamespace:
        self.told_who_leads += 1
        return SimpleNamespace(topics={"orders": SimpleNamespace(partitions={0: None})})

    @staticmethod
    def _result(error: int | None) -> SimpleNamespace:
        if error is not None:
            raise KafkaException(KafkaError(error))
        return SimpleNamespace(offset=7)


def test_a_leader_that_has_moved_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    leaders = Leaders(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.FENCED_LEADER_EPOCH)
    cluster = Cluster("source", "127.0.0.1:1")
    monkeypatch.setitem(vars(cluster), "_admin", leaders)

    assert cluster.offsets("orders") == {0: Offsets(start=7, end=7)}
    assert (leaders.asked, leaders.told_who_leads) == (4, 3)


@pytest.mark.parametrize(
    ("error", "asked"), [(KafkaError.NOT_LEADER_FOR_PARTITION, 2), (KafkaError._TIMED_OUT, 1)]
)
def test_offsets_that_nobody_tells_are_an_error(
    monkeypatch: pytest.MonkeyPatch, error: int, asked: int
) -> None:
    leaders = Leaders(*[error] * 1000)
    cluster = Cluster("source", "127.0.0.1:1")
    monkeypatch.setitem(vars(cluster), "_admin", leaders)
    monkeypatch.setattr(connection, "LEADER_FOUND_S", 0.3)

    with pytest.raises(ClusterError, match=r'listing offsets of cluster "source"'):
        cluster.offsets("orders")
    assert leaders.asked == asked


class Deleting:
    """A cluster's brokers, some of which go on to list for a while what was deleted: by topic its id."""

    def __init__(self, *listings: dict[str, str], failed: str = "") -> None:
        self._listings, self._failed, self.listed = listings, failed, 0

    def delete_topics(self, topics: list[str], **_: object) -> dict[str, Any]:
        error = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        errors = {topic: error if topic == self._failed else None for topic in topics}
        return {topic: SimpleNamespace(exception=partial(errors.get, topic)) for topic in topics}

    def describe_topics(self, topics: Any, **_: object) -> dict[str, Any]:
        self.listed += 1
        listed = self._listings[min(self.listed, len(self._listings)) - 1]

        def described(topic: str) -> SimpleNamespace:
            if topic not in listed:
                raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
            return SimpleNamespace(topic_id=listed[topic])

        return {topic: SimpleNamespace(result=partial(described, topic)) for topic in topics.topic_names}


def deleting(monkeypatch: pytest.MonkeyPatch, brokers: Deleting, *topics: str) -> None:
    cluster = Cluster("source", "127.0.0.1:1")
    monkeypatch.setitem(vars(cluster), "_admin", brokers)
    cluster.delete_topics(*topics)


def test_topics_are_deleted_when_no_broker_lists_them_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question may go to another broker: one that knows them no more is not enough."""
    both = {"a": "1", "b": "2", "c": "3"}
    brokers = Deleting(both, both, {"c": "3"}, {"b": "2", "c": "3"}, {"c": "3"})

    deleting(monkeypatch, brokers, "a", "b")

    assert brokers.listed == 1 + 3 + 3


def test_a_topic_that_somebody_made_again_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Deleting({"a": "1"}, {"a": "1"}, {"a": "2"})

    deleting(monkeypatch, brokers, "a")

    assert brokers.listed == 1 + 1 + 3


def test_a_topic_that_cannot_be_deleted_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Deleting({"a": "1", "b": "2"}, {"b": "2"}, failed="b")

    with pytest.raises(ClusterError, match=r'^deleting topics a, b in cluster "source" failed: '):
        deleting(monkeypatch, brokers, "a", "b")

    assert brokers.listed == 1 + 3


def test_a_topic_that_stays_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "TOPIC_APPEARS_S", 0.2)

    with pytest.raises(TimedOut, match=r"topics a, b gone from cluster .*; last seen: of some broker: b$"):
        deleting(monkeypatch, Deleting({"b": "2", "c": "3"}), "a", "b")


def _metadata(*, leader: int = 1, isrs: tuple[int, ...] = (1, 2)) -> SimpleNamespace:
    brokers = {n: SimpleNamespace(host="127.0.0.1", port=9091 + n) for n in (1, 2)}
    partition = SimpleNamespace(leader=leader, replicas=[1, 2], isrs=list(isrs))
    topics = {"orders": SimpleNamespace(partitions={0: partition})}
    return SimpleNamespace(brokers=brokers, topics=topics, controller_id=2)


def test_leader_and_controller_are_named_by_where_they_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster("source", "127.0.0.1:1")
    monkeypatch.setattr(cluster, "_metadata", _metadata)

    assert cluster.leader("orders", 0) == "127.0.0.1:9092"
    assert cluster.controller() == "127.0.0.1:9093"
    with pytest.raises(ClusterError, match='partition 1 of topic "orders" has no leader'):
        cluster.leader("orders", 1)
    monkeypatch.setattr(cluster, "_metadata", partial(_metadata, leader=-1))
    with pytest.raises(ClusterError, match='partition 0 of topic "orders" has no leader'):
        cluster.leader("orders", 0)


@pytest.mark.parametrize(
    ("leader", "isrs", "behind"), [(1, (1, 2), []), (1, (1,), [("orders", 0)]), (-1, (1, 2), [("orders", 0)])]
)
def test_partitions_that_lack_a_replica_are_told(
    monkeypatch: pytest.MonkeyPatch, leader: int, isrs: tuple[int, ...], behind: list[tuple[str, int]]
) -> None:
    cluster = Cluster("source", "127.0.0.1:1")
    monkeypatch.setattr(cluster, "_metadata", partial(_metadata, leader=leader, isrs=isrs))

    assert cluster.under_replicated() == behind


class Altering:
    """Takes a topic's config after so many time-outs, or refuses it."""

    def __init__(self, *errors: int) -> None:
        self.errors, self.asked = list(errors), 0

    def incremental_alter_configs(self, resources: list[Any], **_: object) -> dict[Any, Any]:
        self.asked += 1
        return {resources[0]: SimpleNamespace(result=self._result)}

    def _result(self) -> None:
        if self.errors:
            raise KafkaException(KafkaError(self.errors.pop(0)))


def altering(monkeypatch: pytest.MonkeyPatch, brokers: Altering) -> list[object]:
    made: list[object] = []

    def client(*_: object, **__: object) -> Altering:
        made.append(brokers)
        return brokers

    monkeypatch.setattr(connection, "AdminClient", client)
    Cluster("source", "127.0.0.1:1").set_topic_config("orders", **{"retention.ms": "1"})
    return made


def test_a_config_is_set_by_another_client_where_the_first_keeps_to_a_broker_that_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers = Altering(KafkaError._TIMED_OUT)

    assert (len(altering(monkeypatch, brokers)), brokers.asked) == (2, 2)


def test_a_config_that_is_refused_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Altering(KafkaError.INVALID_CONFIG)

    with pytest.raises(
        ClusterError, match=r'^changing the config of topic "orders" of cluster "source" failed'
    ):
        altering(monkeypatch, brokers)
    assert brokers.asked == 1


def test_of_a_partition_without_a_leader_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    led, gone = (SimpleNamespace(leader=leader, replicas=[1]) for leader in (1, -1))
    topics = {"orders": SimpleNamespace(partitions={0: gone, 1: led})}
    cluster = Cluster("source", "127.0.0.1:1")
    monkeypatch.setattr(cluster, "_metadata", lambda: SimpleNamespace(topics=topics))
    monkeypatch.setattr(cluster, "_list_offsets", lambda places, *_, **__: dict.fromkeys(places, 5))

    (orders,) = cluster.topics()

    assert (orders.offsets, orders.leaderless) == ({1: Offsets(start=5, end=5)}, 1)
