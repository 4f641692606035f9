"""What people write instead: one Python process that reads both topics and compares sets.

Run as `python -m lab.bench.plain_reader SOURCE_BOOTSTRAP TOPIC TARGET_BOOTSTRAP REMOTE`; it says on
stdout what it found, as JSON. It counts loss, duplicates, order and damaged payloads, and no more.
"""

import hashlib
import json
import resource
import sys
from collections.abc import Iterator

from lab.kafka import Cluster, Record


def compare(source: Cluster, topic: str, target: Cluster, remote: str) -> dict[str, int]:
    sent: dict[bytes, tuple[int, int]] = {}
    for record in _records(source, topic):
        sent[_digest(record)] = (record.partition, record.offset)
    seen: set[bytes] = set()
    reached: dict[int, int] = {}
    found = {"records": len(sent), "duplicates": 0, "inversions": 0, "phantoms": 0}
    for record in _records(target, remote):
        digest = _digest(record)
        if digest in seen:
            found["duplicates"] += 1
        elif digest not in sent:
            found["phantoms"] += 1
        else:
            partition, offset = sent[digest]
            found["inversions"] += offset < reached.get(partition, -1)
            reached[partition] = max(offset, reached.get(partition, -1))
        seen.add(digest)
    return {
        **found,
        "lost": len(sent.keys() - seen),
        "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def _records(cluster: Cluster, topic: str) -> Iterator[Record]:
    left = sum(offsets.count for offsets in cluster.offsets(topic).values())
    for record in cluster.read(topic, from_start=True):
        yield record
        left -= 1
        if left == 0:
            return


def _digest(record: Record) -> bytes:
    return hashlib.blake2b(record.value or b"", key=(record.key or b"")[:64], digest_size=16).digest()


def main() -> str:
    source, topic, target, remote = sys.argv[1:]
    return json.dumps(compare(Cluster("source", source), topic, Cluster("target", target), remote))
