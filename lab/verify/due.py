"""How long MM2 may take for what it does besides mirroring: its connectors' intervals, with MM2's defaults.

What was changed a moment ago is owed only after the interval, so a difference is judged once it has stood for
that long. Where that is short somebody who waits sees the end of it; else the verdict says when to come back.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lab.mm2 import Connector

SHORT_S: Final = 20.0  # what a verification waits for by itself
PATIENCE_S: Final = 10.0  # beyond the intervals, for a slow machine
SYNC_ROUNDS: Final = 3  # of group offsets: one sees that nobody reads, one writes, and one for good measure
_DEFAULTS_S: Final = {
    "refresh.topics": 600.0,
    "sync.topic.configs": 600.0,
    "sync.topic.acls": 600.0,
    "refresh.groups": 600.0,
    "emit.checkpoints": 60.0,
    "sync.group.offsets": 60.0,
}


@dataclass(frozen=True, kw_only=True)
class Due:
    """After how long something is owed, and by which keys of the connector's config."""

    interval_s: float
    why: str

    @classmethod
    def of(cls, connector: Connector, *tasks: str, rounds: int = 1) -> "Due":
        """The sum over what MM2 does one after the other, e.g. "refresh.groups", then "emit.checkpoints"."""
        config = connector.config
        keys = {task: f"{task}.interval.seconds" for task in tasks}
        off = [task for task in tasks if config.get(f"{task}.enabled") == "false"]
        if off:
            return cls(interval_s=math.inf, why=f"{off[0]}.enabled is false")
        each = {key: float(config.get(key, _DEFAULTS_S[task])) for task, key in keys.items()}
        named = ", ".join(f"{key} is {seconds:g}" for key, seconds in each.items())
        return cls(interval_s=rounds * sum(each.values()), why=named)

    @property
    def after_s(self) -> float:
        return self.interval_s + PATIENCE_S

    @property
    def short(self) -> bool:
        """Whether it is worth waiting for."""
        return self.interval_s <= SHORT_S

    def passed(self, since_ms: int, now_ms: int) -> bool:
        return now_ms - since_ms >= self.after_s * 1000

    def later(self, since_ms: int) -> str:
        """When what was seen first at this time will be judged."""
        if math.isinf(self.after_s):
            return f"MM2 looks only when its connector starts ({self.why})"
        at = datetime.fromtimestamp(since_ms / 1000 + self.after_s, UTC)
        return f"will be judged after {at:%H:%M:%S} UTC ({self.why})"


@dataclass(frozen=True, kw_only=True)
class Dues:
    """Of one flow."""

    topics: Due
    configs: Due
    acls: Due
    covered: Due  # a checkpoint of a group that MM2 has yet to find
    emitted: Due  # a checkpoint of one that it knows
    synced: Due  # a group's offset on the target

    @classmethod
    def of(cls, connector: Connector, checkpointer: Connector) -> "Dues":
        return cls(
            topics=Due.of(connector, "refresh.topics"),
            configs=Due.of(connector, "sync.topic.configs"),
            acls=Due.of(connector, "sync.topic.acls"),
            covered=Due.of(checkpointer, "refresh.groups", "emit.checkpoints"),
            emitted=Due.of(checkpointer, "emit.checkpoints"),
            synced=Due.of(checkpointer, "sync.group.offsets", rounds=SYNC_ROUNDS),
        )
