"""A worker cannot write its offsets in time: after a crash MM2 would repeat what it mirrored since.

Records may flow all the while. Until Kafka 2.8 the flush waited for the records too, and said so ("Failed
to flush, timed out while waiting for producer to flush outstanding … messages"). Kafka 3.9 may hang in one
flush for ever, where only its producer tells why.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation

_SAID: Final = re.compile(
    r"Timed out waiting to flush offsets to storage"
    r"|Timed out while waiting for previous offset flush to complete"
    r"|Failed to flush, timed out while waiting for producer to flush outstanding"
    r"|Failed to (?:flush offsets to storage|commit offsets|flush offsets and/or records)"
    r"|Got error produce response .* on topic-partition (?:mm2-offsets\..+\.internal|connect-offsets)-\d+,"
)
_OFFSETS: Final = re.compile(r"mm2-offsets\..+\.internal|connect-offsets")
_KEY: Final = "offset.flush.interval.ms"
_INTERVAL_MS: Final = 60_000  # Connect's default
_LATE: Final = timedelta(seconds=15)


def look(seen: Observation) -> Iterator[Finding]:
    # Each interval says it once; what was not said in two of them is over.
    within = 2 * timedelta(milliseconds=_interval_ms(seen)) + _LATE
    said = seen.said(_SAID, within=within)
    if not said:
        return
    reasons = list(_reasons(seen))
    yield Finding(
        likelihood=Likelihood.CERTAIN if reasons else Likelihood.LIKELY,
        what="MM2 cannot write how far it is: the target does not take its offsets in time",
        evidence=(str(said[0]), f"{len(said)} times in the last {within.seconds} s", *reasons),
        remedy="see that every partition of the worker's offsets topic has a leader and enough replicas "
        "in sync "
        "(start the brokers that are down), then whether the target is overloaded or has a quota for MM2; "
        "offset.flush.timeout.ms says how long is too long",
        commands=tuple(f"lab logs {s.name}" for s in seen.services if s.kind == "broker" and not s.runs),
    )


def _interval_ms(seen: Observation) -> int:
    given = [
        value
        for settings in (seen.properties, *(one.setting or {} for one in seen.deployed))
        for key, value in settings.items()
        if key.endswith(_KEY) and value.isdecimal()
    ]
    return max(map(int, given), default=_INTERVAL_MS)


def _reasons(seen: Observation) -> Iterator[str]:
    for cluster in seen.clusters.values():
        for name, topic in cluster.topics.items():
            if topic.leaderless and _OFFSETS.fullmatch(name):
                yield f"{cluster.alias}: nobody leads {topic.leaderless} of {topic.partitions} "
                f"partitions of {name}"
    for service in seen.services:
        if service.kind == "broker" and not service.runs:
            yield f"{service.name} is {service.state}"
