"""Without topic ids, a ledger is of the topic that has one of its records where it was acknowledged."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from lab.kafka import Cluster, Offsets, Place, Record
from lab.ledger import Heading, Ledger, Summary, summary
from lab.project import runs_folder
from lab.records import payload, record_id
from lab.verify import belonging
from lab.verify.belonging import belongs

SENT = 10  # alternately to two partitions


def written(run: str = "cafe", *, acked: int = SENT) -> Summary:
    heading = Heading(run=run, topic="orders", cluster="source", seed=0, size_bytes=80)
    ledger = Ledger(runs_folder() / run, heading)
    ledger.reserve(SENT)
    for sequence in range(acked):
        add_sequence, add_offset = ledger.acks(sequence % 2)
        add_sequence(sequence)
        add_offset(sequence // 2)
    return summary(ledger.close(SENT))


class Topic:
    """What a topic holds: in each partition the values from an offset on."""

    def __init__(self, values: Mapping[int, list[bytes | None]], start: int = 0) -> None:
        self._values, self._start = values, start

    def offsets_of(self, topics: list[str]) -> dict[Place, Offsets]:
        assert topics == ["orders"]
        ends = {p: self._start + len(values) for p, values in self._values.items()}
        return {("orders", p): Offsets(start=self._start, end=end) for p, end in ends.items()}

    def read(
        self,
        ranges: Mapping[Place, tuple[int, int]],
        take: Callable[[Place, Record], bool],
        *,
        timeout_s: float,
    ) -> None:
        for (topic, p), (first, stop) in ranges.items():
            for offset in range(first, stop):
                value = self._values[p][offset - self._start]
                record = Record(partition=p, offset=offset, timestamp_ms=1, key=None, value=value, headers=())
                if not take((topic, p), record):
                    break

    def close(self) -> None:
        pass


def values(run: str = "cafe", first: int = 0) -> dict[int, list[bytes | None]]:
    return {p: [payload(record_id(run, s), 80) for s in range(first, SENT) if s % 2 == p] for p in (0, 1)}


def judged(monkeypatch: pytest.MonkeyPatch, ledger: Summary, topic: Topic) -> bool:
    monkeypatch.setattr(belonging, "Reader", lambda _: topic)
    return belongs(ledger, cast(Cluster, topic))


def test_a_record_where_it_was_acknowledged_proves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, written(), Topic(values()))


def test_what_is_left_after_retention_proves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, written(), Topic(values(first=6), start=3))


def test_a_record_that_tells_nothing_does_not_disprove_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = values()
    there[0][-1] = there[1][-1] = None  # tombstones
    assert judged(monkeypatch, written(), Topic(there))


@pytest.mark.parametrize(
    "topic",
    [
        Topic(values("beef")),  # another lab's
        Topic({0: [b"a"] * 5, 1: [b"b"] * 5}),  # created again, and written by somebody else
        Topic(values(first=2)),  # created again: the records stand elsewhere
        Topic({0: [], 1: []}),
        Topic({}),
    ],
)
def test_a_ledger_of_another_topic_is_not_taken(monkeypatch: pytest.MonkeyPatch, topic: Topic) -> None:
    assert not judged(monkeypatch, written(), topic)


def test_a_ledger_without_acknowledged_records_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not judged(monkeypatch, written(acked=0), Topic(values()))
