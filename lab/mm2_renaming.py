"""Connectors whose topics have names on the target that only Java code knows, or that drop records.

What the lab says of the wrong topic is worse than no answer: every record would be missing there.
"""

from collections.abc import Iterable
from typing import Final

from lab.errors import NotEnough
from lab.mm2 import POLICIES, SOURCE, Connector

_APACHE: Final = "org.apache.kafka.connect.transforms."
# Kafka's own that change a record, or only look at it. Each other one may rename its topic or drop it.
_KEEPING: Final = frozenset(
    f"{_APACHE}{name}"
    for name in (
        *("Cast$Key", "Cast$Value", "DropHeaders", "ExtractField$Key", "ExtractField$Value", "Flatten$Key"),
        *("Flatten$Value", "HeaderFrom$Key", "HeaderFrom$Value", "HoistField$Key", "HoistField$Value"),
        *("InsertField$Key", "InsertField$Value", "InsertHeader", "MaskField$Key", "MaskField$Value"),
        *("ReplaceField$Key", "ReplaceField$Value", "SetSchemaMetadata$Key", "SetSchemaMetadata$Value"),
        *("TimestampConverter$Key", "TimestampConverter$Value", "ValueToKey"),
    )
)


def require_known_names(connectors: Iterable[Connector]) -> None:
    """Refuse to judge what source connectors mirror under names that the lab cannot know."""
    for connector in connectors:
        if connector.connector_class != SOURCE:
            continue
        if connector.policy not in POLICIES:
            known = ", ".join(policy.rpartition(".")[2] for policy in POLICIES)
            raise NotEnough(
                f'connector "{connector.name}" names topics by "{connector.policy}", a replication policy '
                "that the lab does not know: under which name a topic is on the target is not known",
                f"only topics that one of these policies names can be judged: {known}",
            )
        if found := _renaming(connector):
            named = ", ".join(f'"{name}" ({kind})' for name, kind in found)
            raise NotEnough(
                f'connector "{connector.name}" has transforms that may rename topics or drop records: {named}'
                "; which records must be on the target, and where, is not known",
                'verify a connector without them: "lab mm2 set" takes the key "transforms" away',
            )


def _renaming(connector: Connector) -> list[tuple[str, str]]:
    """Name and class of each transform that may send a record elsewhere, or nowhere."""
    names = (name.strip() for name in connector.config.get("transforms", "").split(","))
    chosen = ((name, connector.config.get(f"transforms.{name}.type", "")) for name in names if name)
    return [(name, kind) for name, kind in chosen if kind not in _KEEPING]
