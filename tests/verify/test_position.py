"""What MM2's position says: passed only where it is known, and of the topic that is there now."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from lab.kafka import Cluster, Offsets, Place, Record
from lab.mm2 import SOURCE, Connector
from lab.verify.flow import Flow
from lab.verify.position import partitions_behind

OWED = {0: Offsets(start=0, end=10), 1: Offsets(start=4, end=8), 2: Offsets(start=5, end=5)}
ENDS = {0: 12, 1: 8, 2: 5}


class Source:
    """One topic, of which only some offsets hold a record that the connector can read."""

    alias = "source"

    def __init__(self, records: Mapping[int, set[int]], *, reads: bool = True) -> None:
        self._records, self._reads = records, reads

    def offsets_of(self, topics: list[str]) -> dict[Place, Offsets]:
        assert topics == ["orders"]
        return {("orders", p): Offsets(start=0, end=end) for p, end in ENDS.items()}

    def reader(self, _: Cluster, isolation: str) -> "Source":
        assert isolation == "read_committed"
        return self

    def read(
        self,
        ranges: Mapping[Place, tuple[int, int]],
        take: Callable[[Place, Record], bool],
        *,
        timeout_s: float,
    ) -> dict[Place, int]:
        if not self._reads:
            return {place: start for place, (start, _) in ranges.items()}
        read = {}
        for place, (start, stop) in ranges.items():
            read[place] = stop
            for offset in sorted(self._records.get(place[1], set()) & set(range(start, stop))):
                if not take(place, cast(Record, None)):
                    read[place] = offset + 1
                    break
        return read

    def close(self) -> None:
        pass


def behind(
    positions: Mapping[int, int | None] | None,
    records: Mapping[int, set[int]] | None = None,
    *,
    reads: bool = True,
) -> list[int] | None:
    source = Source(records or {0: set(range(10)), 1: set(range(8))}, reads=reads)
    flow = Flow(
        topic="orders",
        connector=Connector(
            name="mirror",
            config={"connector.class": SOURCE, "source.consumer.isolation.level": "read_committed"},
        ),
        source=cast(Cluster, source),
        target=cast(Cluster, source),
        bootstraps={},
        positions=lambda: positions,
    )
    return partitions_behind(flow, OWED, reader=source.reader)


@pytest.mark.parametrize(
    ("positions", "found"),
    [
        ({0: 10, 1: 8}, []),
        ({0: 12, 1: 8}, []),
        ({0: 9, 1: 8}, [0]),
        ({0: 0, 1: 3}, [0, 1]),
        ({0: 10}, [1]),
        ({0: 10, 1: None}, [1]),
        ({}, [0, 1]),
    ],
)
def test_each_partition_with_owed_records_must_be_passed(
    positions: dict[int, int | None], found: list[int]
) -> None:
    assert behind(positions) == found


def test_a_position_beyond_the_sources_end_is_of_an_earlier_topic() -> None:
    assert behind({0: 13, 1: 8}) == [0]


def test_markers_and_aborted_records_at_the_end_are_no_records() -> None:
    """The connector never reads them, so its position stays before them."""
    assert behind({0: 7, 1: 8}, {0: set(range(7))}) == []
    assert behind({0: 7, 1: 8}, {0: {*range(7), 9}}) == [0]


def test_what_was_not_read_in_time_may_hold_records() -> None:
    assert behind({0: 7, 1: 8}, {0: set(range(7))}, reads=False) == [0]


def test_where_nobody_keeps_a_position_it_is_not_known() -> None:
    assert behind(None) is None
