"""What an export needs of a running lab: its flow as it runs, and the values of its secrets."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import client_properties, leases, mm2_dedicated, security
from lab.errors import BadInput, LabError, nearest
from lab.export import Flow
from lab.export.flow import Worker, flow_of, meet
from lab.export.kubernetes import Values
from lab.export.meaning import CONVERTERS, STORAGE
from lab.mm2 import BYTES_CONVERTER, Connector
from lab.security.files import CLIENTS

if TYPE_CHECKING:
    from lab.harness.lab import Lab

# Of the workers in the lab's image; for headers Connect's own default stands.
_CONVERTERS: Final = {
    **dict.fromkeys(CONVERTERS, BYTES_CONVERTER),
    "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
}
_STORAGE: Final = {f"{kind}replication.factor": "1" for kind in STORAGE}


def running_flow(lab: Lab, names: list[str] | None) -> Flow:
    """The connectors that are deployed, all or those named; of a dedicated MM2 also by flow or source."""

    def one_cluster(some: str, others: str) -> bool:
        alias = lab.topology.alias_of(some)
        return meet(some, others) or (alias is not None and alias == lab.topology.alias_of(others))

    if lab.topology.mirror_makers:
        path = lab.topology.mm2_properties(leases.leased(lab.name) or {})
        properties = mm2_dedicated.read(path)
        return flow_of(
            _chosen(mm2_dedicated.connectors(properties), names),
            settings={key: value for key, value in properties.items() if key.startswith(STORAGE)},
            nodes=len(lab.topology.mirror_makers),
            file=path.name,
            one_cluster=one_cluster,
        )
    wanted = lab.connectors.named(names)
    deployed = lab.connect.deployed()
    flow = flow_of(
        [Connector(name=name, config=deployed[name].config) for name in wanted],
        worker=_worker(lab),
        nodes=len(lab.topology.workers) or 1,
        one_cluster=one_cluster,
    )
    at_rest = {c.name: s.state for c in flow.connectors if (s := deployed[c.name].status) and s.at_rest}
    told = (f'"{name}" is {state}; whatever takes the export runs it' for name, state in at_rest.items())
    return replace(flow, told=(*flow.told, *told))


def _chosen(connectors: Sequence[Connector], names: list[str] | None) -> list[Connector]:
    def called(connector: Connector) -> tuple[str, ...]:
        direction = f"{connector.source_alias}->{connector.target_alias}"
        return connector.name, direction, connector.source_alias

    known = {name for connector in connectors for name in called(connector)}
    for name in names or ():
        if name not in known:
            raise BadInput(f'no flow and no connector "{name}" runs', nearest(name, sorted(known)))
    return [c for c in connectors if not names or set(called(c)) & set(names)]


def _worker(lab: Lab) -> Worker:
    if not lab.topology.workers:  # somebody else's, of which REST tells no settings
        return Worker()
    told = lab.topology.worker_settings(*CONVERTERS, *STORAGE)
    converters = {key: value for key, value in told.items() if key.startswith(CONVERTERS)}
    storage = {key: told.get(key, default) for key, default in _STORAGE.items()}
    return Worker(
        bootstrap=lab.topology.worker_bootstrap(), converters=_CONVERTERS | converters, settings=storage
    )


def values(lab: Lab) -> Values:
    """Of the secrets that `lab up` made: what containers see under /run/secrets."""
    folder = security.folder(lab.name) / CLIENTS

    def value(path: str, key: str) -> str:
        known = client_properties.parse(_content(folder, path).decode())
        if key not in known:
            raise LabError(f'"{path}" of this lab has no "{key}"', f"known: {', '.join(known)}")
        return known[key]

    return Values(
        content=lambda path: _content(folder, path),
        authority=lambda _: _content(folder, "ca.crt").decode(),
        value=value,
    )


def _content(folder: Path, path: str) -> bytes:
    name = posixpath.basename(path)
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise LabError(
            f'this lab made no "{name}", and knows no other',
            f"make the Secret from yours: kubectl create secret generic NAME --from-file={name}=FILE",
        ) from error
