"""Between which offsets both sides are read, and which ledgers and sources count."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from lab.errors import NotEnough
from lab.kafka import Cluster, ClusterError, Offsets, Place
from lab.ledger import Heading, Ledger, summary
from lab.mm2 import IDENTITY_POLICY, SOURCE, Connector
from lab.project import runs_folder
from lab.verify import ends as ends_module
from lab.verify.ends import Ends, name_ends, other_accounts, others_at_rest, source_ends
from lab.verify.flow import Flow, Origin

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class Told:
    """Stands for a cluster: its one topic has as many records as it is told, one answer after the other."""

    def __init__(self, alias: str, counts: Sequence[int]) -> None:
        self.alias = alias
        self._counts = list(counts)

    def offsets(self, _: str) -> dict[int, Offsets]:
        count = self._counts.pop(0) if len(self._counts) > 1 else self._counts[0]
        return {0: Offsets(start=0, end=count)}

    def offsets_of(self, topics: list[str], *, isolation: str = "read_uncommitted") -> dict[Place, Offsets]:
        return {(topic, p): offsets for topic in topics for p, offsets in self.offsets(topic).items()}

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


# -- the last stable offset ------------------------------------------------------------------------


class Transactional:
    """Stands for a cluster; each of its topics ends, and is stable up to, where the next answer says."""

    def __init__(self, alias: str, *answers: Mapping[int, tuple[int, int]], topic_id: str = "an-id") -> None:
        self.alias = alias
        self._answers = list(answers)
        self._topic_id = topic_id

    def offsets_of(self, topics: list[str], *, isolation: str = "read_uncommitted") -> dict[Place, Offsets]:
        now = self._answers[0]
        if isolation == "read_committed" and len(self._answers) > 1:
            self._answers.pop(0)
        which = 1 if isolation == "read_committed" else 0
        return {(topic, p): Offsets(start=0, end=both[which]) for topic in topics for p, both in now.items()}

    def topic_id(self, _: str) -> str:
        return self._topic_id


def between(source: Transactional, target: Transactional, isolation: str = "read_committed") -> Flow:
    config = {
        "connector.class": SOURCE,
        "source.cluster.alias": "source",
        "source.consumer.isolation.level": isolation,
    }
    return Flow(
        topic="orders",
        connector=Connector(name="mirror", config=config),
        source=cast(Cluster, source),
        target=cast(Cluster, target),
        bootstraps={},
    )


TARGET = {0: (10, 10), 1: (4, 4)}


@pytest.mark.parametrize(("isolation", "owed"), [("read_uncommitted", 19), ("read_committed", 10)])
def test_a_connector_that_reads_committed_owes_up_to_the_last_stable_offset(
    isolation: str, owed: int
) -> None:
    source = Transactional("source", {0: (19, 10), 1: (4, 4)})
    flow = between(source, Transactional("target", TARGET), isolation)

    assert source_ends(flow) == {0: Offsets(start=0, end=owed), 1: Offsets(start=0, end=4)}


def test_what_an_open_transaction_holds_back_is_not_judged_and_noted() -> None:
    open_one = {0: (19, 10), 1: (4, 4)}
    flow = between(Transactional("source", open_one), Transactional("target", TARGET))
    notes: list[str] = []

    named = name_ends(flow, source_ends(flow), NOW, notes.append)

    assert named.source == named.owed == {0: Offsets(start=0, end=10), 1: Offsets(start=0, end=4)}
    assert not named.grown
    assert named.unstable == {0: range(10, 19)}
    assert notes == [
        '9 offsets of topic "orders" of cluster "source" are not judged: they come after the last stable '
        "offset, since a transaction is open"
    ]


def test_a_transaction_that_commits_during_the_wait_is_not_owed() -> None:
    before, after = {0: (19, 10), 1: (4, 4)}, {0: (20, 20), 1: (4, 4)}
    flow = between(Transactional("source", before, after), Transactional("target", TARGET))
    notes: list[str] = []

    named = name_ends(flow, source_ends(flow), NOW, notes.append)

    assert (named.owed[0].end, named.source[0].end, named.grown) == (10, 20, True)
    assert (named.unstable, notes) == ({}, [])


def test_an_open_transaction_of_the_target_is_not_read_either() -> None:
    """As of MM2 itself, mirroring exactly once: Spark would wait for its end."""
    source = Transactional("source", {0: (10, 10), 1: (4, 4)})
    flow = between(source, Transactional("target", {0: (10, 7), 1: (4, 4)}))
    notes: list[str] = []

    named = name_ends(flow, source_ends(flow), NOW, notes.append)

    assert named.target[0] == Offsets(start=0, end=7)
    assert named.unstable == {}
    assert notes[0].startswith('3 offsets of topic "source.orders" of cluster "target" are not judged')


def test_a_source_topic_that_is_gone_is_no_bug() -> None:
    flow = between(Transactional("source", {}), Transactional("target", TARGET))

    with pytest.raises(ClusterError, match=r'^cluster "source" has no topic "orders"$'):
        source_ends(flow)


# -- ledgers ---------------------------------------------------------------------------------------


def ledger(run: str, topic_id: str | None) -> None:
    heading = Heading(run=run, topic="orders", cluster="source", seed=0, size_bytes=80, topic_id=topic_id)
    Ledger(runs_folder() / run, heading).close(0)


def known(topic_id: str, notes: list[str]) -> Sequence[str]:
    source = Transactional("source", TARGET, topic_id=topic_id)
    flow = between(source, Transactional("target", TARGET))
    return [found.heading.run for found in name_ends(flow, source_ends(flow), NOW, notes.append).ledgers]


def test_a_ledger_is_known_by_its_topics_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends_module, "belongs", lambda *_: pytest.fail("the id decides"))
    for run, topic_id in (("mine", "an-id"), ("earlier", "another-id"), ("old", NO_ID)):
        ledger(run, topic_id)
    notes: list[str] = []

    assert known("an-id", notes) == ["mine"]
    assert notes == []


@pytest.mark.parametrize("no_id", [NO_ID, "None", ""])
def test_without_topic_ids_a_record_must_prove_it(monkeypatch: pytest.MonkeyPatch, no_id: str) -> None:
    monkeypatch.setattr(ends_module, "belongs", lambda found, _: found.heading.run == "mine")
    for run, topic_id in (("mine", NO_ID), ("earlier", NO_ID), ("ancient", None), ("other", "an-id")):
        ledger(run, topic_id)
    notes: list[str] = []

    assert known(no_id, notes) == ["mine"]
    assert notes == [
        '2 ledgers of a topic "orders" of a cluster "source" are left out: the cluster has no topic ids, and '
        "no record stands where they say that it was acknowledged"
    ]


@pytest.mark.parametrize(
    ("acked", "unknown", "source", "unstable", "known"),
    [
        (14, 0, TARGET, {}, True),
        (10, 4, TARGET, {}, True),
        (20, 0, TARGET, {}, True),  # retention has passed
        (13, 0, TARGET, {}, False),  # a marker, or a record of somebody else
        (0, 0, TARGET, {}, False),
        (0, 0, {0: (0, 0), 1: (0, 0)}, {}, False),
        (20, 0, {0: (11, 11), 1: (4, 4)}, {}, False),  # grown
        (14, 0, TARGET, {0: range(10, 12)}, False),
    ],
)
def test_where_ledgers_do_not_account_for_each_offset_any_may_be_empty(
    acked: int, unknown: int, source: dict[int, tuple[int, int]], unstable: dict[int, range], known: bool
) -> None:
    ledger("mine", "an-id")
    (path,) = runs_folder().rglob("ledger.parquet")
    ends = Ends(
        owed={p: Offsets(start=0, end=min(end, TARGET[p][0])) for p, (end, _) in source.items()},
        source={p: Offsets(start=0, end=end) for p, (end, _) in source.items()},
        target={},
        ledgers=[replace(summary(path), acked=acked, unknown=unknown)],
        frozen_at=NOW,
        unstable=unstable,
    )

    assert ends.without_holes is known
