"""MM2's own records, byte by byte: what decodes, and what is refused with which words."""

import struct

import pytest

from lab.kafka import Record
from lab.mm2_records import (
    Checkpoint,
    Heartbeat,
    NotDecodable,
    OffsetSync,
    checkpoint,
    heartbeat,
    offset_sync,
)

SYNC_KEY = b"\x00\x06orders\x00\x00\x00\x07"
GROUP_KEY = b"\x00\x07billing\x00\x0dsource.orders\x00\x00\x00\x01"


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(partition=0, offset=12, timestamp_ms=1_700_000_000_000, key=key, value=value, headers=())


def test_an_offset_sync_is_a_pair_of_offsets_of_a_source_partition() -> None:
    value = b"\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00"

    assert offset_sync(record(SYNC_KEY, value)) == OffsetSync(
        topic="orders",
        partition=7,
        upstream=256,
        downstream=4_294_967_296,
        offset=12,
        written_ms=1_700_000_000_000,
    )


def test_a_checkpoint_has_a_version_before_its_offsets_and_metadata_after_them() -> None:
    value = b"\x00\x00" + struct.pack(">qq", 100, 93) + b"\x00\x04lab!"

    assert checkpoint(record(GROUP_KEY, value)) == Checkpoint(
        group="billing",
        topic="source.orders",
        partition=1,
        upstream=100,
        downstream=93,
        metadata="lab!",
        offset=12,
        written_ms=1_700_000_000_000,
    )


def test_a_heartbeat_carries_both_aliases_and_a_time() -> None:
    found = heartbeat(record(b"\x00\x01a\x00\x02bb", b"\x00\x00" + struct.pack(">q", 1_700_000_000_123)))

    assert found == Heartbeat(
        source="a",
        target="bb",
        timestamp_ms=1_700_000_000_123,
        offset=12,
        written_ms=1_700_000_000_000,
    )


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63), 2**32])
def test_offsets_are_signed_and_of_64_bits(number: int) -> None:
    sync = offset_sync(record(SYNC_KEY, struct.pack(">qq", number, -number - 1)))

    assert sync is not None
    assert (sync.upstream, sync.downstream) == (number, -number - 1)


def test_names_are_utf_8_and_their_length_is_in_bytes() -> None:
    name = "café-日本".encode()
    sync = offset_sync(record(struct.pack(">h", len(name)) + name + bytes(4), bytes(16)))

    assert sync is not None
    assert (sync.topic, sync.partition) == ("café-日本", 0)


@pytest.mark.parametrize("decode", [offset_sync, checkpoint, heartbeat])
def test_a_tombstone_is_none(decode: object) -> None:
    assert callable(decode)
    assert decode(record(GROUP_KEY, None)) is None


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"\x00\x01" + bytes(18), "has version 1, only version 0 is known"),
        (b"\xff\xff" + bytes(18), "has version -1, only version 0 is known"),
        (b"\x00\x00" + bytes(9), "ends after 11 bytes, within a field"),
        (b"\x00\x00" + bytes(16) + b"\x00\x05ab", "ends after 22 bytes, within a field"),
        (b"\x00\x00" + bytes(16) + b"\xff\xffab", "ends after 22 bytes, within a field"),
        (b"\x00\x00" + bytes(16) + b"\x00\x01\xff", "holds a name that is not UTF-8"),
        (b"", "ends after 0 bytes, within a field"),
    ],
)
def test_what_is_no_checkpoint_is_refused_with_its_place(value: bytes, told: str) -> None:
    with pytest.raises(NotDecodable) as caught:
        checkpoint(record(GROUP_KEY, value))

    assert caught.value.message == f"the checkpoint at partition 0, offset 12 {told}"
    assert caught.value.hint == "is this MM2's own topic, and a version of it we know?"


@pytest.mark.parametrize("key", [None, b"", b"\x00\x06ord", SYNC_KEY[:-1]])
def test_a_sync_without_its_whole_key_is_refused(key: bytes | None) -> None:
    with pytest.raises(NotDecodable, match="offset sync at partition 0, offset 12 ends after"):
        offset_sync(record(key, bytes(16)))
