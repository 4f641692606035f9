"""MM2's own records, decoded one by one: whose checkpoint it is, and when a heartbeat was made.

lab.offsets knows these formats too, and brings Spark along, which the exporter's image has not.
"""

import struct

from lab.kafka import Record


def checkpoint_group(record: Record) -> str | None:
    """The consumer group of a checkpoint; None for what is none, or takes one back."""
    if record.key is None or record.value is None:
        return None
    return _text(record.key)  # the version stands in the value alone


def heartbeat_ms(record: Record) -> int | None:
    """When a heartbeat was made, in the cluster that it came from; None for what is none."""
    if record.value is None or len(record.value) != 10:
        return None
    version, timestamp_ms = struct.unpack(">hq", record.value)
    return int(timestamp_ms) if version == 0 else None


def _text(data: bytes) -> str | None:
    """A string behind its size in two bytes."""
    if len(data) < 2:
        return None
    (size,) = struct.unpack_from(">h", data)
    text = data[2 : 2 + size]
    try:
        return text.decode() if len(text) == size else None
    except UnicodeDecodeError:
        return None
