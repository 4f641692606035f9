"""A log as entries: a line of Kafka's with its level and speaker, and the trace below it.

Logs come as the engine tells them, with its own time before each line, or as they are in a file of
somebody's.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

_ENGINE: Final = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT[\d:.]+Z) ?(?P<rest>.*)")
_KAFKA: Final = re.compile(
    r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?P<level>[A-Z]+) "
    r"(?:\[(?P<connector>[^]|]+)\|(?:worker|task-\d+)(?:\|offsets)?\] )?(?P<text>.*)"
)
_TRACE: Final = re.compile(r"\s|Caused by: |Suppressed: |[\w.$]+\.\w*(?:Exception|Error)\b")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that was logged."""

    text: str
    at: datetime | None = None
    level: str = ""  # none of what is not Kafka's own, such as a shell's complaint
    connector: str = ""  # for which a worker spoke
    trace: tuple[str, ...] = ()

    @cached_property  # each rule looks at it
    def whole(self) -> str:
        return "\n".join((self.text, *self.trace))

    @property
    def shown(self) -> str:
        """The line, and what its trace says last of the cause."""
        causes = [line.strip() for line in self.trace if line.strip().startswith("Caused by: ")]
        return " … ".join([self.text, *causes[-1:]])


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    at: datetime | None = None
    found: Entry | None = None
    trace: list[str] = []

    def ended() -> Iterator[Entry]:
        if found is not None:
            yield replace(found, trace=tuple(trace))

    for raw in lines:
        line = raw.rstrip("\r\n")
        if stamped := _ENGINE.fullmatch(line):
            at, line = moment(stamped["at"]), stamped["rest"]
        kafka = _KAFKA.match(line)
        if not line:
            continue
        if kafka is None and found is not None and (trace or _TRACE.match(line)):
            trace.append(line)
            continue
        yield from ended()
        trace = []
        if kafka is None:
            found = Entry(text=line, at=at)
        else:
            found = Entry(
                text=kafka["text"],
                at=at if stamped else moment(kafka["at"].replace(",", ".") + "Z"),
                level=kafka["level"],
                connector=kafka["connector"] or "",
            )
    yield from ended()


def moment(text: str) -> datetime:
    """The engine tells nanoseconds, which are more than Python takes."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{seconds}.{fraction[:6]:0<6}").replace(tzinfo=UTC)
