"""Where another form has one value for several connectors: which it is, and for whom that is another one.

A value that changes what arrives is refused. Any other is told, and the export compared with what it makes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lab.errors import LabError
from lab.export.flow import PRODUCER, WHERE, Flow
from lab.export.meaning import CLASSES, CONVERTERS, DEFAULTS, reads
from lab.mm2 import CHECKPOINT, SOURCE, Connector

# A checkpoint connector makes checkpoints of what its source connector mirrors, whatever it selects besides.
SELECTING: Final = ("topics", "topics.exclude", "topics.blacklist")
# With another value of these other records arrive, under other names, or elsewhere.
_DECIDING: Final = (
    *("transforms", "predicates", *CONVERTERS, "errors.", "replication.policy.", "topic.creation."),
    *("topic.filter.", "offset-syncs.topic.location", "emit.offset-syncs.", "exactly.once.", "enabled"),
    *("source.cluster.", "target.cluster.", "source.consumer.isolation.", "consumer.isolation."),
    *(PRODUCER + what for what in WHERE),
)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A connector's value that becomes another one."""

    connector: str
    key: str
    was: str | None
    becomes: str

    @property
    def told(self) -> str:
        was = "MM2's default" if self.was is None else f'"{self.was}"'
        why = (
            "it makes checkpoints of what is mirrored, so nothing else arrives"
            if self.key in SELECTING
            else "one value holds for all connectors of a flow"
        )
        return f'{self.connector}: {self.key} becomes "{self.becomes}", here {was}: {why}'


def one_value(its: Mapping[str, Connector], keys: Iterable[str]) -> tuple[dict[str, str], list[Change]]:
    """Of a flow's connectors by class: each key's value for all who read it, and whom that changes."""
    values: dict[str, str] = {}
    changes: list[Change] = []
    for key in sorted(set(keys)):
        readers = [its[cls] for cls in CLASSES if cls in its and reads(cls, key)]
        having = [connector for connector in readers if key in connector.config]
        if not having:
            continue
        values[key] = value = having[0].config[key]
        for connector in readers:
            was = connector.config.get(key)
            if (DEFAULTS.get(key) if was is None else was) != value:
                if not may_change(connector, key, has_source=SOURCE in its):
                    raise _refusal(having[0], connector, key)
                changes.append(Change(connector=connector.name, key=key, was=was, becomes=value))
    return values, changes


def may_change(connector: Connector, key: str, *, has_source: bool) -> bool:
    if key in SELECTING:
        follows = has_source and connector.connector_class == CHECKPOINT
        return follows and connector.config.get(key) in (None, DEFAULTS.get(key))
    return not key.startswith(_DECIDING)


def _refusal(one: Connector, other: Connector, key: str) -> LabError:
    return LabError(
        f'"{one.name}" and "{other.name}" have not the same "{key}", and a dedicated MM2 has one for all '
        f"connectors of {one.source_alias}->{one.target_alias}",
        "give both the same value, export them one by one, or use --strimzi, which has a config for each",
    )


def changed(flow: Flow, changes: Iterable[Change]) -> Flow:
    """The flow as it then is."""
    found = {connector.name: connector for connector in flow.connectors}
    for change in changes:
        found[change.connector] = found[change.connector].with_overrides({change.key: change.becomes})
    return replace(flow, connectors=tuple(found.values()))
