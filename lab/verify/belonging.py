"""Whether a ledger is of the topic that is there, where no topic id says so: one of its records decides."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.kafka import Cluster, Offsets, Place, Reader, Record
from lab.lag.arrivals import READ_S
from lab.ledger import ACKED, Summary
from lab.records import identity_in

_COLUMNS: Final = ("producer", "sequence", "outcome", "partition", "offset")
_TRIED: Final = 100  # of each row group: some may be tombstones, or aborted, which tell nothing


def belongs(ledger: Summary, cluster: Cluster) -> bool:
    """Whether the topic has a record of the ledger at the very offset where it was acknowledged."""
    topic = ledger.heading.topic
    there = {p: offsets for (_, p), offsets in cluster.offsets_of([topic]).items()}
    for rows in _acked(ledger):
        wanted = {
            ((topic, row["partition"]), row["offset"]): (
                ledger.heading.run,
                row["producer"],
                row["sequence"],
            )
            for row in rows
            if _holds(there.get(row["partition"]), row["offset"])
        }
        if wanted and _any_stands_there(wanted, cluster):
            return True
    return False


def _acked(ledger: Summary) -> Iterator[list[dict[str, int]]]:
    """Some of the acknowledged records of each part of the file, the newest part first."""
    with pq.ParquetFile(ledger.path) as file:
        for group in reversed(range(file.num_row_groups)):
            rows: pa.Table = file.read_row_group(group, columns=list(_COLUMNS))
            rows = rows.filter(pc.and_(pc.equal(rows["outcome"], ACKED), pc.is_valid(rows["offset"])))
            yield rows.slice(max(0, len(rows) - _TRIED)).to_pylist()


def _holds(offsets: Offsets | None, offset: int) -> bool:
    return offsets is not None and offsets.start <= offset < offsets.end


def _any_stands_there(wanted: dict[tuple[Place, int], tuple[str, int, int]], cluster: Cluster) -> bool:
    """Reads from the first to the last of them in each partition, until one is found."""
    ranges: dict[Place, tuple[int, int]] = {}
    for place, offset in wanted:
        first, stop = ranges.get(place, (offset, offset + 1))
        ranges[place] = min(first, offset), max(stop, offset + 1)
    found = False

    def take(place: Place, record: Record) -> bool:
        nonlocal found
        identity = identity_in(record.value, record.headers)
        found = found or (identity is not None and identity == wanted.get((place, record.offset)))
        return not found

    with closing(Reader(cluster)) as reader:
        reader.read(ranges, take, timeout_s=READ_S)
    return found
