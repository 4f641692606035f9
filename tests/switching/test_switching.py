"""Two clusters that are lists: what a switch would read again or skip, exactly, at most, or not known."""

from typing import Any, cast

import pytest

from lab.kafka import Cluster, GroupOffset, Record
from lab.lag import Mirrored
from lab.mm2_records import Checkpoint, OffsetSync
from lab.switching import Standing, Switch, Switching, compare
from tests.test_lag import Lists, record

Records = list[Record]


def records(*places: int, shift: int = 0, stamped: bool = False) -> Records:
    """Record number n, written at n * 10 ms, stands at `places[n]`."""
    return [
        record(place, f"v{n}", 10_000 + n if stamped else n * 10, stamped=stamped)
        for n, place in enumerate(places, start=shift)
    ]


def sync(upstream: int, downstream: int) -> OffsetSync:
    return OffsetSync(
        topic="t", partition=0, upstream=upstream, downstream=downstream, offset=0, written_ms=0
    )


def switching(source: Records, target: Records, *syncs: OffsetSync) -> Switching:
    here, there = cast(Cluster, Lists(t=source)), cast(Cluster, Lists(**{"a.t": target}))
    return Switching(here, there, syncs, reader=lambda cluster, _: cast(Any, cluster))


def judged(source: Records, target: Records, *syncs: OffsetSync, committed: int, starts_at: int) -> Switch:
    standing = Standing(topic="t", remote="a.t", partition=0, committed=committed, starts_at=starts_at)
    (switch,) = switching(source, target, *syncs).judge([standing])
    return switch


TEN = records(*range(10))


@pytest.mark.parametrize(
    ("committed", "starts_at", "again", "skipped"),
    [(6, 6, 0, 0), (6, 2, 4, 0), (6, 9, 0, 3), (10, 10, 0, 0), (10, 0, 10, 0), (0, 0, 0, 0), (0, 4, 0, 4)],
)
def test_where_offsets_are_the_same_it_is_their_difference(
    committed: int, starts_at: int, again: int, skipped: int
) -> None:
    found = judged(TEN, TEN, committed=committed, starts_at=starts_at)

    assert found == Switch(again=again, skipped=skipped, exact=True)


def test_holes_on_either_side_are_no_records() -> None:
    """Transactions' markers stand at 3 and 7 of the source, and others at 2 and 5 of the target."""
    source = records(0, 1, 2, 4, 5, 6, 8, 9)
    target = records(0, 1, 3, 4, 6, 7, 8, 9)

    assert judged(source, target, committed=7, starts_at=1) == Switch(again=5, skipped=0, exact=True)
    assert judged(source, target, committed=8, starts_at=7) == Switch(again=1, skipped=0, exact=True)
    assert judged(source, target, committed=3, starts_at=7) == Switch(again=0, skipped=2, exact=True)


def test_where_nothing_before_the_group_is_left_the_next_record_tells() -> None:
    source = records(4, 5, 6, shift=4)
    target = records(*range(7))

    assert judged(source, target, committed=4, starts_at=3) == Switch(again=1, skipped=0, exact=True)
    assert judged(source, target, committed=4, starts_at=6) == Switch(again=0, skipped=2, exact=True)


def test_a_target_that_stamps_records_itself_is_searched_by_key_and_value() -> None:
    target = records(*range(10), stamped=True)

    assert judged(TEN, target, committed=6, starts_at=5) == Switch(again=1, skipped=0, exact=True)


@pytest.mark.parametrize(
    ("starts_at", "again", "skipped"),
    [(4, 4, 0), (3, 5, 0), (9, 4, 5)],
)
def test_what_is_not_mirrored_yet_is_bounded_by_the_sync_before_it(
    starts_at: int, again: int, skipped: int
) -> None:
    found = judged(TEN, TEN[:7], sync(0, 0), sync(4, 4), sync(9, 9), committed=8, starts_at=starts_at)

    assert (found.again, found.skipped, found.exact) == (again, skipped, False)
    assert (
        found.reason
        == "its last record is not on the target (yet), equals others there, or its search was cut short"
    )


def test_syncs_from_before_mm2_went_back_are_of_no_use() -> None:
    """As those of an earlier flow into another topic, which was further there."""
    now = (sync(0, 0), sync(4, 4))

    found = judged(TEN, TEN[:7], sync(0, 2), sync(7, 6), *now, committed=8, starts_at=4)

    assert found == judged(TEN, TEN[:7], *now, committed=8, starts_at=4)
    assert found != judged(TEN, TEN[:7], *now, sync(7, 6), committed=8, starts_at=4)


def test_equal_records_are_not_told_apart() -> None:
    same = [record(n, "equal", 10) for n in range(5)]

    assert not judged(same, same, sync(0, 0), committed=3, starts_at=2).exact
    assert judged(same, same, committed=3, starts_at=2).again is None


def cut_short(source: Records, target: Records, *, here: int = 10**9, there: int = 10**9) -> Switch:
    """A group at 6 of both, judged by readings that end after so many records."""
    clusters = Lists(t=source), Lists(**{"a.t": target})
    clusters[0].most, clusters[1].most = here, there
    on_source, on_target = (cast(Cluster, cluster) for cluster in clusters)
    standing = Standing(topic="t", remote="a.t", partition=0, committed=6, starts_at=6)
    to_judge = Switching(on_source, on_target, [sync(0, 0)], reader=lambda cluster, _: cast(Any, cluster))
    return to_judge.judge([standing])[0]


EXACTLY_THERE = Switch(again=0, skipped=0, exact=True)


def test_the_last_record_of_a_reading_that_was_cut_short_is_not_the_groups_last() -> None:
    """It would count from record 3. The next one, which the group has not read, tells as well."""
    assert cut_short(TEN, TEN) == EXACTLY_THERE
    assert cut_short(TEN, TEN, here=4) == EXACTLY_THERE


def test_a_search_that_was_cut_short_may_have_missed_another_that_is_equal() -> None:
    stamped = records(*range(10), stamped=True)  # no time of these tells that all others are younger

    assert cut_short(TEN, stamped) == EXACTLY_THERE
    found = cut_short(TEN, stamped, there=8)
    assert (found.again, found.skipped, found.exact) == (6, 6, False)
    assert found.reason.endswith("or its search was cut short")
    assert cut_short(TEN, TEN, there=8) == EXACTLY_THERE


def test_a_source_that_is_empty_now_tells_nothing() -> None:
    found = judged([], TEN, committed=5, starts_at=5)

    assert (found.again, found.reason) == (
        None,
        "none of the records around its offset is left on the source",
    )


class Groups(Lists):
    """A cluster with groups."""

    def __init__(self, alias: str, groups: dict[str, dict[tuple[str, int], int]], **topics: Records) -> None:
        super().__init__(**topics)
        self.alias, self.groups = alias, groups

    def offsets_of(self, topics: Any, *, isolation: str = "read_uncommitted") -> Any:
        return super().offsets_of(topics, isolation=isolation)

    def group_states(self) -> dict[str, str]:
        return dict.fromkeys(self.groups, "empty")

    def group_offsets(self, group: str) -> dict[tuple[str, int], GroupOffset]:
        return {place: GroupOffset(offset=offset) for place, offset in self.groups[group].items()}


def test_groups_of_both_clusters_stand_side_by_side() -> None:
    source = Groups("a", {"app": {("t", 0): 6}, "new": {("t", 0): 1}, "far": {("other", 0): 1}}, t=TEN)
    target = Groups("b", {"app": {("a.t", 0): 4}, "there": {("a.t", 0): 9}}, **{"a.t": TEN})
    checkpoint = Checkpoint(
        group="new", topic="a.t", partition=0, upstream=1, downstream=0, metadata="", offset=0, written_ms=0
    )

    def both(groups: list[str] | None = None) -> dict[str, tuple[object, ...]]:
        clusters = cast(Cluster, source), cast(Cluster, target)
        judge = Switching(*clusters, (), reader=lambda cluster, _: cast(Any, cluster))
        rows = compare(*clusters, [Mirrored(topic="t", remote="a.t")], [checkpoint], judge, groups=groups)
        return {
            r.group: (r.source.lag, r.target.lag, r.target.state, r.starts_at, r.switch and r.switch.again)
            for r in rows
        }

    assert both() == {
        "app": (4, 6, "empty", 4, 2),
        "new": (9, None, "absent", 0, 1),
        "there": (None, 1, "empty", 9, None),
    }
    assert list(both(["app", "gone"])) == ["app"]
