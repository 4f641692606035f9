"""What an application reads, as which group, and how often it commits."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lab.errors import BadInput

RESETS: Final = ("earliest", "latest", "error")
# These decide when offsets are committed, which is what the account tells of.
_OURS: Final = frozenset(("group.id", "enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset"))


@dataclass(frozen=True, kw_only=True)
class Subscription:
    """Topics by their names, or all whose whole name matches a pattern.

    A member with a pattern looks for new topics every `refresh_topics_s`; Kafka's clients do it every 5
    minutes. `client` are more settings, in librdkafka's words.
    """

    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    commit_every_s: float = 5.0
    auto_offset_reset: str = "earliest"
    refresh_topics_s: float = 5.0
    client: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ours = sorted(_OURS & self.client.keys())
        rules = [
            (bool(self.group), "a group needs a name"),
            (bool(self.topics) != bool(self.pattern), "topics or a pattern: one of them, and not both"),
            (0 <= self.commit_every_s < math.inf, f"{self.commit_every_s} seconds are no interval"),
            (0 < self.refresh_topics_s < math.inf, f"{self.refresh_topics_s} seconds are no interval"),
            (self.auto_offset_reset in RESETS, f'auto.offset.reset is no "{self.auto_offset_reset}"'),
            (not ours, f"the application itself sets {', '.join(ours)}"),
        ]
        if wrong := [what for fine, what in rules if not fine]:
            raise BadInput("; ".join(wrong), f"auto.offset.reset is one of {', '.join(RESETS)}")

    @property
    def subscribed(self) -> list[str]:
        """For librdkafka, to which a name that begins with ^ is a pattern, matched anywhere after that."""
        return [f"^({self.pattern})$"] if self.pattern else list(self.topics)

    @property
    def config(self) -> dict[str, object]:
        return {
            "group.id": self.group,
            "enable.auto.commit": False,
            "auto.offset.reset": self.auto_offset_reset,
            "topic.metadata.refresh.interval.ms": round(self.refresh_topics_s * 1000),
            "allow.auto.create.topics": False,
            **self.client,
        }
