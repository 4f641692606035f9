"""What the last verdicts saw of a topic besides its records: what was there before, and since when.

One file per flow and topic in the lab's folder of state, so gone with the lab. A topic that was created anew
under its name is another one: what was seen of the first is forgotten.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.kafka import Acl

Committed = Mapping[str, Mapping[int, int]]  # group → partition → offset


@dataclass(frozen=True, kw_only=True)
class Before:
    """What the target had when it was looked at last."""

    at_ms: int
    acls: Sequence[Acl] | None = None
    configs: Mapping[str, str | None] | None = None  # what the topic itself has set
    groups: Committed | None = None  # of groups without members


@dataclass
class Seen:
    """`since` takes each value of a look; what a look did not have is forgotten by `save`."""

    ids: Sequence[str]
    before: Before | None = None
    path: Path | None = None  # None: nothing is kept beyond this verdict
    looks: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._touched: set[str] = set()

    @classmethod
    def load(cls, path: Path | None, ids: Sequence[str]) -> "Seen":
        try:
            kept = json.loads(path.read_text()) if path else {}
        except (FileNotFoundError, ValueError):  # a file that is cut short is none
            kept = {}
        if kept.get("ids") != list(ids):
            return cls(ids, path=path)
        looks = {key: [(at, value) for at, value in values] for key, values in kept["looks"].items()}
        return cls(ids, before=_before(kept["before"]), path=path, looks=looks)

    def new_look(self) -> None:
        self._touched.clear()

    def since(self, key: str, value: object, now_ms: int) -> int:
        """Since when each look has seen this value."""
        self._touched.add(key)
        values = self.looks.setdefault(key, [])
        if not values or values[-1][1] != value:
            values.append((now_ms, value))
        return values[-1][0]

    def first(self, key: str) -> int:
        """Since when there has been any value."""
        return self.looks[key][0][0]

    def at(self, key: str, ms: float) -> Any:
        """The last value that was seen by a time; None if nobody had looked."""
        return next((value for at, value in reversed(self.looks.get(key, [])) if at <= ms), None)

    def save(self, now: Before, *, keep_ms: float) -> None:
        """For the next verdict, to which values older than the last one before `keep_ms` say nothing more."""
        if self.path is None:
            return
        looks = {key: _recent(self.looks[key], keep_ms) for key in sorted(self._touched)}
        kept = {"ids": list(self.ids), "before": asdict(now), "looks": looks}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(kept))
        temporary.replace(self.path)


def _recent(values: list[tuple[int, Any]], keep_ms: float) -> Iterable[tuple[int, Any]]:
    """The first of all stays too: since when there has been any."""
    old = [n for n, (at, _) in enumerate(values) if at <= keep_ms]
    from_here = old[-1] if old else 0
    return values[:1] + values[max(1, from_here) :]


def _before(kept: Mapping[str, Any]) -> Before:
    acls, groups = kept["acls"], kept["groups"]
    return Before(
        at_ms=kept["at_ms"],
        acls=None if acls is None else [Acl(**acl) for acl in acls],
        configs=kept["configs"],
        groups=groups and {group: {int(p): at for p, at in of.items()} for group, of in groups.items()},
    )
