"""Records are deleted when the topic begins after them."""

import pytest

from lab.errors import BadInput
from lab.faults import DeleteRecords, FaultNotObserved
from lab.kafka import Layout, Offsets
from tests.faults.conftest import MARK, FakeLab


class Cluster:
    alias = "source"

    def __init__(self) -> None:
        self.now = {0: Offsets(start=0, end=10), 1: Offsets(start=4, end=4)}
        self.deaf = False

    def layout(self) -> dict[str, Layout]:
        return {"orders": Layout(partitions=2, replicas=1, leaderless=0)}

    def offsets(self, topic: str) -> dict[int, Offsets]:
        return dict(self.now)

    def delete_records(self, topic: str, before: dict[int, int]) -> None:
        if not self.deaf:
            self.now |= {p: Offsets(start=stop, end=self.now[p].end) for p, stop in before.items()}


@pytest.fixture
def cluster(lab: FakeLab) -> Cluster:
    lab.clusters["source"] = cluster = Cluster()
    return cluster


@pytest.mark.parametrize(("before", "last"), [(None, 9), (3, 2), (99, 9)])
def test_the_ranges_that_are_gone_are_named(
    lab: FakeLab, cluster: Cluster, before: int | None, last: int
) -> None:
    act = DeleteRecords(cluster="source", topic="orders", before=before).check(lab, MARK)
    act.inject()

    assert act.prove() == f"deleted, by partition: 0: 0 to {last}"
    assert "stay deleted" in act.inverse.prove()
    assert act.what == "delete records of orders on source"


def test_records_that_are_still_there_were_not_deleted(lab: FakeLab, cluster: Cluster) -> None:
    cluster.deaf = True
    act = DeleteRecords(cluster="source", topic="orders").check(lab, MARK)
    act.inject()

    with pytest.raises(FaultNotObserved, match=r'^topic "orders" still begins at \{0: 0\}$'):
        act.prove()


def test_nothing_to_delete_is_refused(lab: FakeLab, cluster: Cluster) -> None:
    with pytest.raises(BadInput, match='"orders" has no records to delete'):
        DeleteRecords(cluster="source", topic="orders", before=0).check(lab, MARK)


def test_a_topic_that_is_not_there_is_refused(lab: FakeLab, cluster: Cluster) -> None:
    with pytest.raises(BadInput, match='cluster "source" has no topic "order"'):
        DeleteRecords(cluster="source", topic="order").check(lab, MARK)
