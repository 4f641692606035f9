"""The journal of a lab's faults: a file for each, written before anything is done, closed when it is undone.

    <state>/labs/<lab>/faults/<id>.jsonl   {"event": "opened", what, settings, inverse, limit_s, at}
                                           {"event": "proved", by, at}   at its begin, and at its end
                                           {"event": "healed", by, who, at}

A file without "healed" is a fault that may be in force. Whoever makes or heals it holds the file's lock, so
that of the process that makes the fault, its time limit and `lab fault heal` only one is at work, and the
others see it done.
The journal goes with the lab: `down` removes all that a fault can have left.
"""

import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from lab import leases
from lab.faults.inverse import Inverse, decode, encode

Event = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Span:
    """When a fault was in force, in seconds since 1970; without an end it still is."""

    name: str
    begin: float
    end: float | None


@dataclass(frozen=True)
class Entry:
    """One fault's file."""

    path: Path

    @classmethod
    def open(
        cls, lab: str, fault_id: str, *, what: str, settings: dict[str, Any], inverse: Inverse, limit_s: float
    ) -> Self:
        """On disk when this returns."""
        folder(lab).mkdir(parents=True, exist_ok=True)
        entry = cls(folder(lab) / f"{fault_id}.jsonl")
        entry.path.touch(exist_ok=False)
        entry.write("opened", what=what, settings=settings, inverse=encode(inverse), limit_s=limit_s)
        descriptor = os.open(folder(lab), os.O_RDONLY)
        try:
            os.fsync(descriptor)  # the name, too
        finally:
            os.close(descriptor)
        return entry

    def write(self, event: str, **said: Any) -> None:
        """On a line of its own, also behind one whose writer was killed in the midst of it."""
        line = json.dumps({"event": event, "at": round(time.time(), 6), **said}) + "\n"
        with self.path.open("ab+") as file:
            if size := file.seek(0, os.SEEK_END):
                file.seek(size - 1)
                line = line if file.read(1) == b"\n" else "\n" + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def events(self) -> list[Event]:
        """What was written whole; none of an entry that went away with its lab."""
        try:
            lines = self.path.read_text().splitlines()
        except FileNotFoundError:
            return []
        found: list[Event] = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:  # the process that wrote it was killed
                continue
        return found

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def opened(self) -> Event | None:
        return next((event for event in self.events() if event["event"] == "opened"), None)

    @property
    def what(self) -> str:
        return str((self.opened or {}).get("what", self.id))

    @property
    def is_open(self) -> bool:
        """Whether something may be in force. Nothing is done before the first line is whole."""
        events = [event["event"] for event in self.events()]
        return "opened" in events and "healed" not in events

    @property
    def span(self) -> Span | None:
        """From its proof on; a fault that was never proved was not in force."""
        events = self.events()
        begin = next((e["at"] for e in events if e["event"] == "proved"), None)
        end = next((e["at"] for e in events if e["event"] == "healed"), None)
        return None if begin is None else Span(name=self.what, begin=begin, end=end)

    def heal(self, who: str) -> str | None:
        """Undo it and prove that, unless that was done; what proved it, now or then. None: it is gone."""
        with self.held() as there:
            if not there or (opened := self.opened) is None:
                return None
            for event in self.events():
                if event["event"] == "healed":
                    return str(event["by"])
            inverse = decode(opened["inverse"])
            inverse.undo()
            by = inverse.prove()
            self.write("healed", by=by, who=who)
            return by

    def clear(self) -> None:
        """Before the lab starts; it stays open until that was done to the end, and proved."""
        with self.held() as there:
            if there and self.is_open and (opened := self.opened):
                decode(opened["inverse"]).clear()

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Nobody else makes or heals it meanwhile; whether it is there."""
        try:
            file = self.path.open("r+")
        except FileNotFoundError:
            yield False
            return
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield self.path.exists()  # while it was waited for, the lab may have gone


def folder(lab: str) -> Path:
    return leases.faults_folder(lab)


def new_id() -> str:
    return uuid.uuid4().hex[:8]


def entries(lab: str) -> list[Entry]:
    """Every fault of a lab since it came up, in the order in which they were opened."""
    found = [Entry(path) for path in folder(lab).glob("*.jsonl")]
    return sorted(found, key=lambda entry: (entry.opened or {}).get("at", 0.0))


def open_entries(lab: str) -> list[Entry]:
    return [entry for entry in entries(lab) if entry.is_open]


def spans(lab: str, *, since: float) -> list[Span]:
    """The faults that were in force at some time after a moment."""
    found = [span for entry in entries(lab) if (span := entry.span) is not None]
    return [span for span in found if span.end is None or span.end >= since]
