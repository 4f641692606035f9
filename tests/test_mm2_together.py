"""Connectors that are right one by one and wrong together are found before they are deployed."""

import pytest

from lab.mm2 import (
    CHECKPOINT,
    CUSTOM_POLICY,
    HEARTBEAT,
    IDENTITY_POLICY,
    SOURCE,
    Connector,
    Problem,
    Severity,
)
from lab.mm2_together import problems_between

FLOW = {
    "source.cluster.alias": "us",
    "target.cluster.alias": "eu",
    "source.cluster.bootstrap.servers": "us-1:9092,us-2:9092",
    "target.cluster.bootstrap.servers": "eu-1:9092",
}


def connector(name: str, kind: str, **changes: str | None) -> Connector:
    return Connector(name=name, config={**FLOW, "connector.class": kind}).with_overrides(changes)


def source(**changes: str | None) -> Connector:
    return connector("msc", SOURCE, **changes)


def checkpoint(**changes: str | None) -> Connector:
    return connector("cpc", CHECKPOINT, **changes)


def heartbeat(**changes: str | None) -> Connector:
    return connector("hbc", HEARTBEAT, **changes)


def back(**changes: str | None) -> Connector:
    """The other way, under its own name."""
    reverse = {
        "source.cluster.alias": "eu",
        "target.cluster.alias": "us",
        "source.cluster.bootstrap.servers": "eu-1:9092",
        "target.cluster.bootstrap.servers": "us-2:9092",
    }
    return connector("back", SOURCE, **{**reverse, **changes})


IDENTITY = {"replication.policy.class": IDENTITY_POLICY, "topics": "orders"}


def keys(*chosen: Connector, deployed: tuple[Connector, ...] = (), topics: tuple[str, ...] = ()) -> object:
    found = problems_between(chosen, deployed, topics)
    return {name: [(p.severity.value, p.key) for p in its] for name, its in found.items() if its}


def test_three_that_agree_have_no_problem() -> None:
    assert keys(source(), checkpoint(), heartbeat()) == {}
    assert problems_between([source()], [], []) == {"msc": []}


@pytest.mark.parametrize(
    ("key", "value", "default"),
    [
        ("replication.policy.class", IDENTITY_POLICY, "DefaultReplicationPolicy"),
        ("replication.policy.separator", "_", "."),
        ("offset-syncs.topic.location", "target", "source"),
    ],
)
def test_checkpoints_must_name_topics_as_the_source_connector_does(
    key: str, value: str, default: str
) -> None:
    """The tutorial's mistake: the source connector has the identity policy, the checkpoint connector not."""
    found = problems_between([source(**{key: value}), checkpoint(), heartbeat()], [], [])

    assert (found["msc"], found["hbc"]) == ([], [])
    (problem,) = found["cpc"]
    assert (problem.severity, problem.key) == (Severity.ERROR, key)
    assert problem.message == (
        f'"{default}" here, "{value.rpartition(".")[2]}" in "msc": '
        "consumer groups would get no offsets in the topics that it mirrors"
    )
    assert keys(source(**{key: value}), checkpoint(**{key: value}), heartbeat()) == {}


def test_a_default_that_is_written_out_is_no_difference() -> None:
    written = {"replication.policy.separator": ".", "offset-syncs.topic.location": "source"}

    assert keys(source(**written), checkpoint()) == {}


@pytest.mark.parametrize(
    ("key", "severity"),
    [
        ("source.cluster.security.protocol", "error"),
        ("target.cluster.sasl.mechanism", "error"),
        ("source.cluster.bootstrap.servers", "error"),
        ("source.cluster.sasl.jaas.config", "warning"),
        ("target.cluster.ssl.truststore.location", "warning"),
    ],
)
@pytest.mark.parametrize("other", [checkpoint, heartbeat])
def test_all_three_reach_the_same_clusters(key: str, severity: str, other: type) -> None:
    wrong = other(**{key: "elsewhere:9092"})

    assert keys(source(), wrong) == {wrong.name: [(severity, key)]}


def test_a_part_of_the_brokers_is_the_same_cluster_and_a_clients_size_no_matter() -> None:
    partly = checkpoint(
        **{
            "source.cluster.bootstrap.servers": "us-2:9092",
            "source.cluster.max.poll.records": "7",
        }
    )

    assert keys(source(), partly) == {}


def test_what_is_deployed_counts_unless_it_is_about_to_be_replaced() -> None:
    identity = source(**IDENTITY)

    assert keys(checkpoint(), deployed=(identity,)) == {"cpc": [("error", "replication.policy.class")]}
    assert keys(identity, deployed=(checkpoint(),)) == {"msc": [("error", "replication.policy.class")]}
    assert keys(source(), checkpoint(), deployed=(identity,)) == {}
    other_flow = source(**{**IDENTITY, "source.cluster.alias": "asia"})
    assert keys(checkpoint(), deployed=(Connector(name="other", config=other_flow.config),)) == {}


def test_the_same_names_in_both_directions_are_an_endless_loop() -> None:
    found = problems_between([source(**IDENTITY)], [back(**IDENTITY)], [])

    assert found == {
        "msc": [
            Problem(
                severity=Severity.ERROR,
                key="replication.policy.class",
                message='"back" mirrors "orders" the other way, also under the same name: '
                "each record would go round for ever",
                remedy="use DefaultReplicationPolicy in one direction, or other topics",
            )
        ]
    }
    assert keys(source(**IDENTITY), back(**IDENTITY)) == {
        "msc": [("error", "replication.policy.class")],
        "back": [("error", "replication.policy.class")],
    }


@pytest.mark.parametrize(
    ("mine", "its", "topics", "loops"),
    [
        ("orders", "orders", (), True),
        (".*", ".*", (), True),
        ("orders.*", "orders", (), True),
        ("orders.*", ".*ers", ("orders",), True),
        ("orders.*", ".*ers", ("payments", "__consumer_offsets"), False),
        ("orders", "payments", ("orders", "payments"), False),
    ],
)
def test_a_loop_takes_a_topic_that_goes_both_ways(
    mine: str, its: str, topics: tuple[str, ...], loops: bool
) -> None:
    there, again = source(**{**IDENTITY, "topics": mine}), back(**{**IDENTITY, "topics": its})

    assert bool(keys(there, deployed=(again,), topics=topics)) is loops


def test_prefixes_in_one_direction_and_other_clusters_are_no_loop() -> None:
    assert keys(source(**IDENTITY), back(topics="orders")) == {}
    assert keys(source(topics="orders"), back(**IDENTITY)) == {}
    onward = {"target.cluster.alias": "asia", "target.cluster.bootstrap.servers": "asia-1:9092"}
    assert keys(source(**IDENTITY), back(**{**IDENTITY, **onward})) == {}


def test_a_loop_is_seen_by_addresses_whatever_the_aliases_are() -> None:
    renamed = back(**{**IDENTITY, "source.cluster.alias": "a", "target.cluster.alias": "b"})

    assert keys(source(**IDENTITY), deployed=(renamed,)) == {"msc": [("error", "replication.policy.class")]}


def test_every_policy_that_keeps_names_can_loop() -> None:
    custom = {**IDENTITY, "replication.policy.class": CUSTOM_POLICY}

    looping = {"msc": [("error", "replication.policy.class")]}
    assert keys(source(**custom), deployed=(back(**custom),)) == looping
    assert keys(source(**custom), deployed=(back(**IDENTITY),)) == looping


def test_policies_that_name_alike_agree() -> None:
    custom = {**IDENTITY, "replication.policy.class": CUSTOM_POLICY}

    assert keys(source(**custom), checkpoint(**IDENTITY)) == {}
    assert keys(source(**custom), checkpoint()) == {"cpc": [("error", "replication.policy.class")]}
