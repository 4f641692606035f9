"""Record lag on two clusters that are lists: what is exact, what is at most, and what is not known."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import pytest

from lab.kafka import Cluster, Offsets, Place, Record
from lab.lag import Backlog, LagWatcher, Mirrored, Sample, aligned

NOW_S = 1_000.0


def record(offset: int, value: str, timestamp_ms: int | None = None, *, stamped: bool = False) -> Record:
    return Record(
        partition=0,
        offset=offset,
        timestamp_ms=offset * 10 if timestamp_ms is None else timestamp_ms,
        key=None,
        value=value.encode(),
        headers=(),
        stamped_by_broker=stamped,
    )


class Lists:
    """A cluster of one partition per topic, and the reader of it."""

    def __init__(self, **topics: list[Record]) -> None:
        self.topics = topics
        self.bounds: dict[str, tuple[int, int]] = {}
        self.reads = 0
        self.most = 10**9  # records that one reading gives

    def offsets_of(self, topics: Iterable[str], *, isolation: str) -> dict[Place, Offsets]:
        assert isolation in ("read_uncommitted", "read_committed")
        return {(t, 0): self._offsets(t) for t in topics if t in self.topics}

    def _offsets(self, topic: str) -> Offsets:
        end = self.topics[topic][-1].offset + 1 if self.topics[topic] else 0
        start, end = self.bounds.get(topic, (0, end))
        return Offsets(start=start, end=end)

    def offsets_at(self, timestamps_ms: Mapping[Place, int]) -> dict[Place, int | None]:
        return {
            place: next((r.offset for r in self.topics[place[0]] if (r.timestamp_ms or 0) >= ms), None)
            for place, ms in timestamps_ms.items()
        }

    def read(
        self,
        ranges: Mapping[Place, tuple[int, int]],
        take: Callable[[Place, Record], bool],
        *,
        timeout_s: float,
    ) -> dict[Place, int]:
        self.reads += 1
        read = {}
        for place, (start, stop) in ranges.items():
            wanted = [r for r in self.topics[place[0]] if start <= r.offset < stop]
            read[place] = stop if len(wanted) <= self.most else wanted[self.most].offset
            for found in wanted[: self.most]:
                if not take(place, found):
                    read[place] = found.offset + 1
                    break
        return read

    def close(self) -> None:
        """Nothing to close."""


def watcher(source: Lists, target: Lists) -> LagWatcher:
    return LagWatcher(
        cast(Cluster, source),
        cast(Cluster, target),
        [Mirrored(topic="t", remote="source.t")],
        clock=lambda: NOW_S,
        reader=lambda cluster, _: cast(Lists, cluster),
    )


def clusters(source: list[Record], target: list[Record] | None) -> tuple[Lists, Lists]:
    return Lists(t=source), Lists(**({} if target is None else {"source.t": target}))


def sampled(source: list[Record], target: list[Record] | None) -> Sample:
    (sample,) = watcher(*clusters(source, target)).sample()
    return sample


SOURCE = [record(n, f"v{n}") for n in range(10)]


def mirrored(*numbers: int) -> list[Record]:
    """These records of the source, at offsets of the target's own."""
    return [record(place, f"v{n}", n * 10) for place, n in enumerate(numbers)]


@pytest.mark.parametrize(
    ("target", "lag"),
    [
        (None, 10),
        ([], 10),
        (mirrored(0, 1, 2), 7),
        (mirrored(*range(10)), 0),
        (mirrored(0, 1, 0, 1, 2), 7),
        (mirrored(5, 6), 3),
    ],
    ids=["no topic", "empty", "some", "all", "twice", "not from the beginning"],
)
def test_the_lag_is_what_stands_after_the_last_mirrored_record(target: list[Record] | None, lag: int) -> None:
    sample = sampled(SOURCE, target)

    assert (sample.lag, sample.exact, sample.reason) == (lag, True, "")
    assert (sample.source_end, sample.mirrored_to) == (10, 10 - lag)


def test_the_age_is_that_of_the_oldest_record_that_is_not_mirrored() -> None:
    assert sampled(SOURCE, mirrored(0, 1, 2)).oldest_unmirrored_age_s == pytest.approx(NOW_S - 0.03)
    assert sampled(SOURCE, mirrored(*range(10))).oldest_unmirrored_age_s == 0


def test_offsets_without_records_are_not_counted() -> None:
    source = [r for r in SOURCE if r.offset not in (3, 5, 6)]
    source_lists, target = clusters(source, mirrored(0, 1, 2))
    source_lists.bounds["t"] = (0, 12)  # two markers at the end

    (sample,) = watcher(source_lists, target).sample()

    assert (sample.lag, sample.mirrored_to, sample.source_end) == (4, 4, 12)


def test_markers_after_the_last_record_are_no_lag() -> None:
    source, target = clusters(SOURCE, mirrored(*range(10)))
    source.bounds["t"], target.bounds["source.t"] = (0, 11), (0, 40)

    (sample,) = watcher(source, target).sample()

    assert (sample.lag, sample.exact, sample.mirrored_to) == (0, True, 11)


def test_a_replay_makes_nothing_unmirrored() -> None:
    source, target = clusters(SOURCE, mirrored(*range(8)))
    watching = watcher(source, target)
    assert watching.sample()[0].lag == 2

    target.topics["source.t"] = mirrored(*range(8), 3, 4)

    assert (watching.sample()[0].lag, watching.sample()[0].exact) == (2, True)


def test_when_nothing_changes_nothing_is_read() -> None:
    source, target = clusters(SOURCE, mirrored(0, 1, 2))
    watching = watcher(source, target)
    watching.sample()
    before = (source.reads, target.reads)

    assert watching.sample()[0].lag == 7
    assert (source.reads, target.reads) == before


def test_the_age_on_arrival_is_known_for_what_arrived_while_watched() -> None:
    source, target = clusters(SOURCE, mirrored(0, 1, 2))
    watching = watcher(source, target)
    assert watching.sample()[0].arrival_s is None

    target.topics["source.t"] = mirrored(0, 1, 2, 3, 4)

    assert watching.sample()[0].arrival_s == pytest.approx(NOW_S - 0.04)


def test_a_large_backlog_is_at_most_that_until_it_is_counted() -> None:
    source, target = clusters([r for r in SOURCE if r.offset != 8], mirrored(0, 1))
    watching = watcher(source, target)
    source.most = 3

    samples = [watching.sample()[0] for _ in range(3)]

    assert [s.lag for s in samples] == [8, 7, 7]
    assert [s.exact for s in samples] == [False, False, True]
    assert samples[0].reason == "the backlog is still being counted"


def test_a_foreign_last_record_leaves_the_lag_unknown() -> None:
    sample = sampled(SOURCE, [*mirrored(0, 1), record(2, "foreign", 15)])

    assert (sample.lag, sample.mirrored_to, sample.exact) == (None, None, False)
    assert sample.reason == "the last record of the target was not found in the source"


def test_after_a_foreign_record_it_is_at_most_what_it_was() -> None:
    source, target = clusters(SOURCE, mirrored(0, 1))
    watching = watcher(source, target)
    watching.sample()
    target.topics["source.t"].append(record(2, "foreign", 15))

    (sample,) = watching.sample()

    assert (sample.lag, sample.exact) == (8, False)


def test_a_search_that_was_cut_short_is_repeated() -> None:
    source, target = clusters(SOURCE, mirrored(0, 1, 2))
    watching = watcher(source, target)
    source.most = 0
    assert watching.sample()[0].lag is None

    source.most = 100

    assert watching.sample()[0].lag == 7


def test_of_a_target_that_was_emptied_nobody_knows() -> None:
    source, target = clusters(SOURCE, [])
    target.bounds["source.t"] = (5, 5)

    (sample,) = watcher(source, target).sample()

    assert (sample.lag, sample.reason) == (None, "nothing is left on the target of what was mirrored")


def test_a_target_that_stamps_records_itself_is_searched_for_by_content() -> None:
    stamped = [record(n, f"v{n}", 999_999, stamped=True) for n in range(4)]

    sample = sampled(SOURCE, stamped)

    assert (sample.lag, sample.exact) == (6, True)


def test_a_topic_that_was_made_anew_is_looked_at_anew() -> None:
    source, target = clusters(SOURCE, mirrored(*range(10)))
    watching = watcher(source, target)
    assert watching.sample()[0].lag == 0

    source.topics["t"], target.topics["source.t"] = SOURCE[:4], mirrored(0)

    assert (watching.sample()[0].lag, watching.sample()[0].source_end) == (3, 4)


def test_equal_records_are_told_apart_by_those_before() -> None:
    source = [record(0, "first"), *(record(n, "equal", 50) for n in range(1, 9))]
    target = [record(0, "first"), *(record(n, "equal", 50) for n in range(1, 4))]

    sample = sampled(source, target)

    assert (sample.lag, sample.exact) == (5, True)


def test_a_partition_of_equal_records_begins_where_the_target_does() -> None:
    equal = [record(n, "equal", 50) for n in range(8)]

    sample = sampled(equal, equal[:3])

    assert (sample.lag, sample.exact) == (5, True)


def test_what_cannot_be_told_apart_is_not_sure() -> None:
    equal = [record(n, "equal", 50) for n in range(8)]

    assert aligned([3, 4, 5], equal, equal[:2], whole=False) == (3, False)
    assert aligned([1, 3], equal, equal[:2], whole=True) == (1, True)


def test_a_backlog_counts_records_and_forgets_what_is_before() -> None:
    backlog = Backlog()
    backlog.begin_at(10)
    for offset in (11, 12, 15):
        backlog.add(record(offset, "v"))
    backlog.reached(20)

    found: list[Any] = [backlog.count(20), backlog.count(25)]
    backlog.begin_at(13)

    assert found == [3, 8]
    assert (backlog.count(20), backlog.end, backlog.first) == (1, 20, None)
    backlog.begin_at(30)
    assert (backlog.count(35), backlog.end) == (5, 30)
