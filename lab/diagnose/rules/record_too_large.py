"""A record is larger than MM2's producer sends, or than the target takes: its task FAILED, all stands still.

Sizes are judged before compression. With errors.tolerance=all the task goes on and drops the record.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Deployed, Observation
from lab.diagnose.places import setting

_CLIENT: Final = re.compile(r"RecordTooLargeException: The message is (\d+) bytes when serialized")
_BROKER: Final = re.compile(
    r"RecordTooLargeException: The request included a message larger than the max message size"
)
_ANY: Final = re.compile(f"{_CLIENT.pattern}|{_BROKER.pattern}")
_TOPIC: Final = re.compile(r"failed to send record to (?P<topic>\S+):")
_ROOM: Final = 2  # the next record may be larger still


def look(seen: Observation) -> Iterator[Finding]:
    for one, part, match in seen.failed(_ANY):
        yield _of_client(seen, one, part, int(match[1])) if match[1] else _of_broker(seen, one, part)


def _of_client(seen: Observation, one: Deployed, part: str, size_bytes: int) -> Finding:
    words, commands = setting(seen, one, "producer.override.max.request.size", str(size_bytes * _ROOM))
    return Finding(
        likelihood=Likelihood.CERTAIN,
        what=f'{part} of connector "{one.name}" FAILED on a record of {size_bytes:,} bytes, more than its '
        "producer sends",
        evidence=(f"{part}: RecordTooLargeException, max.request.size",),
        remedy=f"{words}; max.message.bytes of the remote topic must follow",
        commands=commands,
    )


def _of_broker(seen: Observation, one: Deployed, part: str) -> Finding:
    said = [s for s in seen.said(_TOPIC, within=None) if s.entry.connector in ("", one.name)]
    topic = f'topic "{said[0].match["topic"]}"' if said else "the remote topic"
    return Finding(
        likelihood=Likelihood.CERTAIN,
        what=f'{part} of connector "{one.name}" FAILED: {topic} of cluster '
        f'"{one.connector.target_alias}" takes '
        "no record as large as one that came",
        evidence=(f"{part}: RecordTooLargeException, max.message.bytes", *(str(s) for s in said[:1])),
        remedy=f"raise max.message.bytes of {topic} to that of the source topic (kafka-configs --alter "
        "--entity-type topics …), then restart the task",
        commands=() if seen.properties else (f"lab mm2 restart {one.name}",),
    )
