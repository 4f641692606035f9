"""A flow as the properties file of connect-mirror-maker.sh, and such a file as connectors.

It has one value for all connectors between two clusters. MM2 starts all three there; what a flow lacks of
them is switched off, and so are the heartbeats that MM2 would send everywhere else.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import Final

from lab import client_properties, mm2_dedicated
from lab.errors import LabError
from lab.export.clusters import Cluster, clusters, own
from lab.export.flow import Export, Flow, Pair, holds_secret
from lab.export.meaning import IDENTITY, differing
from lab.export.shared import Change, changed, one_value
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE, SWITCHES, Connector

_PROVIDERS: Final = "config.providers"
Lines = Iterator[tuple[str, str]]


def write(flow: Flow) -> Export:
    _refuse_secrets(flow)
    known = clusters(flow)
    blocks, changes = [list(_clusters(flow, known))], []
    for pair in flow.pairs:
        lines, its = _pair(flow, pair, known)
        blocks.append(lines)
        changes += its
    silent = (pair for pair in permutations(flow.aliases, 2) if pair not in flow.pairs)
    blocks.append([(f"{'->'.join(pair)}.{SWITCHES[HEARTBEAT]}", "false") for pair in silent])
    blocks += [sorted(flow.settings.items()), sorted(_providers(flow).items())]
    text = "\n".join(
        "".join(f"{client_properties.property_line(key, value)}\n" for key, value in block)
        for block in blocks
        if block
    )
    told = tuple(change.told for change in changes)
    _require_same(changed(flow, changes), text)
    return Export(text=text, told=told)


def read(text: str) -> list[Connector]:
    """The connectors that MM2 would run with a file, without those that have nothing to do."""
    connectors = mm2_dedicated.connectors(client_properties.parse(text))
    return [connector for connector in connectors if connector.switched_off_by is None]


def _clusters(flow: Flow, known: dict[str, Cluster]) -> Lines:
    yield "clusters", ", ".join(flow.aliases)
    for alias in flow.aliases:
        first = ("bootstrap.servers", "security.protocol")
        settings = known[alias].settings
        for key in sorted(settings, key=lambda k: (first.index(k) if k in first else len(first), k)):
            yield f"{alias}.{key}", settings[key]


def _pair(flow: Flow, pair: Pair, known: dict[str, Cluster]) -> tuple[list[tuple[str, str]], list[Change]]:
    """What one direction runs: without a source connector heartbeats at most."""
    direction, its = "->".join(pair), flow.pairs[pair]
    if CHECKPOINT in its and SOURCE not in its:
        raise LabError(
            f'"{its[CHECKPOINT].name}" is without a source connector, and a dedicated MM2 makes checkpoints '
            "only of what it mirrors itself",
            "name its source connector too, or use --strimzi",
        )
    lines = [(f"{direction}.enabled", "true")] if SOURCE in its else []
    lines += [(f"{direction}.{switch}", "false") for cls, switch in SWITCHES.items() if cls not in its]
    mine = {cls: own(connector, known) for cls, connector in its.items()}
    keys = {key for connector in mine.values() for key in connector.config}
    values, changes = one_value(mine, (key for key in keys if key not in IDENTITY and _PROVIDERS not in key))
    lines += [(f"{direction}.{key}", value) for key, value in values.items()]
    return lines, changes


def _providers(flow: Flow) -> dict[str, str]:
    """What resolves references to secrets stands for the file as a whole."""
    found: dict[str, str] = {}
    for connector in flow.connectors:
        for key, value in connector.config.items():
            if key.startswith(_PROVIDERS) and found.setdefault(key, value) != value:
                raise LabError(
                    f'connectors have not the same "{key}", and a properties file has one for all',
                    "give all of them the same value, or name those that are to be exported",
                )
    return found


def _refuse_secrets(flow: Flow) -> None:
    for connector in flow.connectors:
        for key, value in connector.config.items():
            if holds_secret(key, value):
                raise LabError(
                    f'connector "{connector.name}" has a secret in its config, in "{key}"; none is exported',
                    "refer to it: ${file:/run/secrets/secrets.properties:KEY}, with config.providers=file",
                )


def _require_same(flow: Flow, text: str) -> None:
    """Nothing leaves that would not do the same."""
    if others := differing(flow.connectors, read(text)):
        raise LabError(
            f"a properties file cannot say this flow: {', '.join(others)}",
            "name the connectors that are to be exported, or use --strimzi",
        )
