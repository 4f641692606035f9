"""A lab that scenarios share is, after each, what it was before.

Claim: what a scenario adds goes with it, connectors and topics; and no client of the lab's that still knows
a topic makes it again, as others do where brokers create topics by themselves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from lab.harness import Lab
from lab.harness.contents import Contents, restore
from lab.kafka import Cluster
from lab.wait import RECORDS_ARRIVE_S, every

pytestmark = pytest.mark.topology("basic-mirror")

ASKS_AGAIN_MS = 300  # after which a producer asks where its topics are


@contextmanager
def knowing(cluster: Cluster, topic: str, **config: object) -> Iterator[None]:
    """A producer lives that has written to the topic."""
    producer = cluster.producer(**{"topic.metadata.refresh.interval.ms": ASKS_AGAIN_MS, **config})
    producer.produce(topic, b"known")
    assert producer.flush(RECORDS_ARRIVE_S) == 0
    yield


def comes_back(cluster: Cluster, topic: str) -> bool:
    """Within several times of being asked for."""
    return any(cluster.has_topic(topic) for _ in every(0.3, for_s=10 * ASKS_AGAIN_MS / 1000))


def test_no_client_of_the_labs_makes_a_topic_again(lab: Lab, topic: str) -> None:
    lab.source.create_topic(topic)

    with knowing(lab.source, topic):
        lab.source.delete_topics(topic)
        assert not comes_back(lab.source, topic)


def test_one_of_somebody_elses_does(lab: Lab, topic: str) -> None:
    lab.source.create_topic(topic)

    with knowing(lab.source, topic, **{"allow.auto.create.topics": True}):
        lab.source.delete_topics(topic)
        lab.source.wait_for_topic(topic)


def test_what_was_added_goes(lab: Lab, topic: str) -> None:
    before = Contents.of(lab)
    lab.source.create_topic(topic)
    connector = replace(lab.connector("test_mirror", topics=topic), name=topic)
    lab.deploy(connector)
    lab.target.wait_for_topic(connector.remote_topic(topic))
    added = Contents.of(lab)
    assert topic in added.connectors
    assert added.topics["target"] > before.topics["target"]

    restore(lab, before, say=lambda _: None)

    assert Contents.of(lab) == before
