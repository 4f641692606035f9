"""A member writes down what it processed before it commits it, and commits before it leaves."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.consuming import Standing, Subscription, recover, summary
from lab.consuming.account import Account, Heading
from lab.consuming.member import Member
from lab.kafka import ClusterError, KafkaError, KafkaException, Message, TopicPartition
from tests.consuming.messages import message

LATER = KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS))
REFUSED = KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))


class Group:
    """Stands for cluster and consumer: hands out batches, and takes commits as it is told to."""

    alias = "source"

    def __init__(self, *batches: Sequence[Message], answers: Sequence[KafkaException | None] = ()) -> None:
        self._batches, self._answers = list(batches), list(answers)
        self.commits: list[dict[tuple[str, int], int]] = []
        self.left = False
        self.calls: dict[str, Callable[..., None]] = {}

    def consumer(self, **config: object) -> "Group":
        self.config = config
        return self

    def subscribe(self, topics: list[str], **calls: Callable[..., None]) -> None:
        self.topics, self.calls = topics, calls

    def consume(self, _: int, timeout: float) -> list[Message]:
        return list(self._batches.pop(0)) if self._batches else []

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        assert not asynchronous
        answer = self._answers.pop(0) if self._answers else None
        if answer is not None:
            raise answer
        self.commits.append({(at.topic, at.partition): at.offset for at in offsets})
        return offsets

    def close(self) -> None:
        self.left = True

    @property
    def empty(self) -> bool:
        return not self._batches


def run(
    group: Any, folder: Path, *, every_s: float = 3600.0, stopped: Callable[[], bool] | None = None
) -> Standing:
    subscription = Subscription(group="billing", topics=("orders",), commit_every_s=every_s)
    with closing(Account(folder, Heading(cluster="source", group="billing"))) as account:
        Member(group, subscription, account).run(stopped or (lambda: group.empty))
    return summary(recover(folder)).standing


def test_it_commits_what_it_processed_and_leaves(tmp_path: Path) -> None:
    group = Group([message(0, 7, 0), message(1, 3, 1)], [message(0, 8, 2)])

    standing = run(group, tmp_path)

    assert group.topics == ["orders"]
    assert group.commits == [{("orders", 0): 9, ("orders", 1): 4}]
    assert group.left
    assert standing.closed
    assert (standing.processed, standing.uncommitted) == (3, 0)
    assert standing.committed == {("orders", 0): 9, ("orders", 1): 4}


def test_it_commits_every_so_often_and_nothing_twice(tmp_path: Path) -> None:
    group = Group([message(0, 7, 0)], [], [message(0, 8, 1)])

    run(group, tmp_path, every_s=0.0)

    assert group.commits == [{("orders", 0): 8}, {("orders", 0): 9}]


def test_during_a_rebalance_it_goes_on_and_commits_later(tmp_path: Path) -> None:
    group = Group([message(0, 7, 0)], answers=[LATER, None])

    standing = run(group, tmp_path)

    assert group.commits == [{("orders", 0): 8}]
    assert standing.closed


def test_a_commit_that_is_refused_is_an_error_and_is_not_in_the_account(tmp_path: Path) -> None:
    group = Group([message(0, 7, 0)], answers=[REFUSED])

    with pytest.raises(ClusterError, match=r'^consuming as group "billing" from cluster "source" failed: '):
        run(group, tmp_path)

    standing = summary(recover(tmp_path)).standing
    assert (standing.processed, standing.uncommitted, standing.committed) == (1, 1, {})
    assert not standing.closed


def test_an_error_instead_of_a_record_ends_it(tmp_path: Path) -> None:
    error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "no such topic")
    group = Group([SimpleNamespace(error=lambda: error)])

    with pytest.raises(ClusterError, match="no such topic"):
        run(group, tmp_path)


def test_partitions_that_it_gives_up_are_committed_before_and_lost_ones_never(tmp_path: Path) -> None:
    group = Group([message(0, 7, 0), message(1, 3, 1)])
    steps = iter(
        (
            lambda: group.calls["on_assign"](group, [TopicPartition("orders", p) for p in (0, 1)]),
            lambda: None,
            lambda: group.calls["on_lost"](group, [TopicPartition("orders", 1)]),
            lambda: group.calls["on_revoke"](group, [TopicPartition("orders", 0)]),
        )
    )

    def stopped() -> bool:
        step = next(steps, None)
        if step is not None:
            step()
        return step is None

    standing = run(group, tmp_path, stopped=stopped)

    assert group.commits == [{("orders", 0): 8}]
    assert standing.assigned == []
    assert standing.pending == {("orders", 1): 1}
