"""Which record of the source a record of the target is."""

from collections.abc import Sequence

from lab.kafka import Record


def equal(record: Record, mirrored: Record) -> bool:
    same_time = mirrored.stamped_by_broker or record.timestamp_ms == mirrored.timestamp_ms
    return same_time and record.key == mirrored.key and record.value == mirrored.value


def younger(record: Record, mirrored: Record) -> bool:
    if mirrored.stamped_by_broker or record.timestamp_ms is None or mirrored.timestamp_ms is None:
        return False
    return record.timestamp_ms > mirrored.timestamp_ms


def aligned(
    candidates: Sequence[int], source: Sequence[Record], target: Sequence[Record], *, whole: bool
) -> tuple[int, bool]:
    """The candidate before which the most records are those before the target's last, and whether it is sure.

    With `whole` both sequences begin where their partitions do: of two that agree to the beginning of the
    target the earlier one is it.
    """
    place_of = {record.offset: index for index, record in enumerate(source)}
    lengths: dict[int, int] = {}
    for candidate in candidates:
        at, length = place_of[candidate], 0
        while length < len(target) and length <= at and equal(source[at - length], target[-1 - length]):
            length += 1
        lengths[candidate] = length
    longest = max(lengths.values())
    best = [candidate for candidate, length in lengths.items() if length == longest]
    return min(best), len(best) == 1 or (whole and longest == len(target))
