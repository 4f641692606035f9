"""A topology's folder, compose/<name>/, read and checked as a whole."""

from collections.abc import Iterator
from pathlib import Path

from lab import client_properties
from lab.client_properties import ClientProperties
from lab.errors import BadInput, nearest
from lab.project import COMPOSE
from lab.topology import roles as x_lab
from lab.topology import services
from lab.topology.document import mapping
from lab.topology.model import Topology, TopologyError
from lab.topology.roles import Roles


def names() -> list[str]:
    return sorted(path.parent.name for path in COMPOSE.glob("*/compose.yaml") if path.parent.name != "images")


def load(name: str) -> Topology:
    """The named topology, or every problem of its files at once."""
    if "/" in name and COMPOSE not in Path(name).resolve().parents:
        if not (Path(name) / "compose.yaml").is_file():
            raise BadInput(
                f'"{name}" is no folder with a compose.yaml', 'a name that "lab list" shows, or such a folder'
            )
        return read(Path(name).resolve())
    if name not in names():
        raise BadInput(f'no topology named "{name}"', nearest(name, names(), more='"lab list" shows all'))
    return read(COMPOSE / name)


def read(folder: Path) -> Topology:
    path = folder / "compose.yaml"
    document = mapping(path)
    roles, problems = x_lab.read(document.get("x-lab", {}))
    bodies = document.get("services")
    if bodies is None and (roles is None or roles.external):
        bodies = {}
    if not isinstance(bodies, dict):
        problems.append("services: not a mapping")
        bodies = {}
    found, unreadable = services.read(bodies, folder)
    problems += unreadable
    clients: dict[str, ClientProperties] = {}
    if roles is not None:
        problems += roles.contradictions()
        always = [s for s in bodies if s not in found or not found[s].profiles]
        problems += _unknown_services(roles, always, list(bodies))
        if roles.external:
            problems += [
                f"services.{s}: only spark, where clusters are external" for s in {*bodies} - {"spark"}
            ]
        clients, unreadable = _clients(roles, folder)
        problems += unreadable
    if problems or roles is None:
        raise TopologyError(f'topology "{folder.name}" is not valid: {"; ".join(problems)}', f"mend {path}")
    started = {name: s for name, s in found.items() if not s.profiles}
    optional = {name: s for name, s in found.items() if s.profiles}
    return Topology(folder.name, folder, roles, started, optional, clients)


def _clients(roles: Roles, folder: Path) -> tuple[dict[str, ClientProperties], list[str]]:
    clients, problems = {}, []
    for alias, external in roles.external.items():
        if external.properties is not None:
            try:
                clients[alias] = client_properties.read(folder / external.properties)
            except BadInput as error:
                problems.append(f"x-lab.clusters.{alias}.external.properties: {error.message}")
    return clients, problems


def _unknown_services(roles: Roles, always: list[str], services: list[str]) -> Iterator[str]:
    """A cluster is always there as a whole, and so is one worker; a profile may add others."""
    named = [(f"clusters.{alias}", b, always) for alias, bs in roles.clusters.items() for b in bs]
    workers = [
        (key, worker, services if n else always)
        for key, named_so in (("connect", roles.connect), ("mirror_maker", roles.mirror_maker))
        for n, worker in enumerate(named_so)
    ]
    links = [("link", roles.link, always)] if roles.link else []
    for where, service, known in [*named, *workers, *links]:
        if service not in known:
            yield f'x-lab.{where}: no service named "{service}" ({nearest(service, known)})'
