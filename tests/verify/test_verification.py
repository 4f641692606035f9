"""What the checks are told of a flow, and of several sources that go into one topic."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from lab.errors import NotEnough
from lab.kafka import Cluster, Offsets
from lab.mm2 import IDENTITY_POLICY, SOURCE, Connector
from lab.verify.checks import NoPhantoms
from lab.verify.flow import Flow, Origin
from lab.verify.verification import _of_records, other_accounts, others_at_rest


class Told:
    """Stands for a cluster: its one topic has as many records as it is told, one answer after the other."""

    def __init__(self, alias: str, counts: Sequence[int]) -> None:
        self.alias = alias
        self._counts = list(counts)

    def offsets(self, _: str) -> dict[int, Offsets]:
        count = self._counts.pop(0) if len(self._counts) > 1 else self._counts[0]
        return {0: Offsets(start=0, end=count)}

    def has_topic(self, _: str) -> bool:
        return True

    def topic_id(self, _: str) -> str:
        return "an-id"


def cluster(alias: str, *counts: int) -> Cluster:
    return cast(Cluster, Told(alias, counts))


def merged(us: Cluster, uk: Cluster, central: Cluster) -> Flow:
    config = {"connector.class": SOURCE, "replication.policy.class": IDENTITY_POLICY}
    return Flow(
        topic="logs",
        connector=Connector(name="mm2-msc-us", config=config),
        source=us,
        target=central,
        others=(Origin(topic="logs", source=uk),),
        bootstraps={},
    )


def test_the_target_must_reach_what_all_sources_have() -> None:
    with others_at_rest(merged(cluster("us", 5), cluster("uk", 7), cluster("central", 12))) as others:
        assert others == 7


def test_no_other_source_may_still_be_written_to() -> None:
    flow = merged(cluster("us", 5), cluster("uk", 7, 8), cluster("central", 12))

    with pytest.raises(NotEnough) as caught, others_at_rest(flow):
        pass

    assert caught.value.message == (
        'topic "logs" of cluster "uk" goes into the same topic "logs", and is still being written to'
    )
    assert caught.value.hint == "stop its producers, then verify again"


def test_another_source_without_a_ledger_cannot_be_told_from_phantoms() -> None:
    with pytest.raises(NotEnough) as caught:
        other_accounts(merged(cluster("us", 5), cluster("uk", 7), cluster("central", 12)))

    assert caught.value.message == (
        'topic "logs" of cluster "uk" goes into the same topic "logs", '
        "and has no ledger to tell its records by"
    )
    assert caught.value.hint is not None


def test_another_source_without_records_needs_no_ledger() -> None:
    flow = merged(cluster("us", 5), cluster("uk", 0), cluster("central", 5))

    assert other_accounts(flow) == []


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_connector_that_reads_committed_owes_no_aborted_record(isolation: str) -> None:
    flow = merged(cluster("us", 5), cluster("uk", 0), cluster("central", 5))
    told = flow.connector.with_overrides({"source.consumer.isolation.level": isolation})

    (phantoms,) = [
        c for c in _of_records(replace(flow, connector=told), allow_duplicates=False) if c.name == "phantoms"
    ]

    assert phantoms == NoPhantoms(read_committed=isolation == "read_committed")
