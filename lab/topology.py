"""What exists in a lab: services, ports, clusters, workers. Read once from compose/<name>/, then frozen.

Compose YAML holds the containers, its extension key `x-lab` the roles. Everything that follows from
the containers (addresses, ports, memory) is derived from them here and written down nowhere else.
Clusters that the lab did not start are named by their addresses instead; nothing of them is derived.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from lab import client_properties
from lab.client_properties import ClientProperties
from lab.errors import BadInput, nearest
from lab.project import COMPOSE

_VARIABLE: Final = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")
_PUBLISHED: Final = re.compile(
    r"127\.0\.0\.1:\$\{(?P<variable>\w+_PORT):-(?P<default>\d+)\}:(?P<container>\d+)"
)
_SIZE: Final = re.compile(r"([0-9]+)([bkmg]?)", re.IGNORECASE)
_SIZES: Final = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}")
_BROKERS, _BY_ADDRESS = "<brokers>", "<external>"  # which of two forms a cluster has; no words of a file


class TopologyError(BadInput):
    """A topology's files do not say what a topology must say."""


def _specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f'not a version range such as ">=2.8,<4": "{text}"') from error
    return text


def _addresses(text: str) -> str:
    if not all(_ADDRESS.fullmatch(address) for address in text.split(",")):
        raise ValueError(f'not host:port, or several with commas between: "{text}"')
    return text


def _url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", text):
        raise ValueError(f'not an address such as http://connect:8083: "{text}"')
    return text


class External(BaseModel):
    """A cluster that the lab did not start: where it answers, and how its clients must speak."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bootstrap: Annotated[str, AfterValidator(_addresses)]
    properties: str | None = None  # a file of client properties, beside compose.yaml


class ByAddress(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    external: External


class Roles(BaseModel):
    """The extension key `x-lab`: what Compose cannot know about the services."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    teaches: str
    kafka: Annotated[str, AfterValidator(_specifier)] = ""
    declared: dict[
        str,
        Annotated[
            Annotated[list[str], Tag(_BROKERS)] | Annotated[ByAddress, Tag(_BY_ADDRESS)],
            Discriminator(lambda value: _BY_ADDRESS if isinstance(value, dict | ByAddress) else _BROKERS),
        ],
    ] = Field(default={}, alias="clusters", min_length=1)  # none at all, or at least one
    connect: list[str] = []
    connect_url: Annotated[str, AfterValidator(_url)] | None = None
    writable: bool = False

    @cached_property
    def clusters(self) -> dict[str, list[str]]:
        """Each cluster's brokers among the services: none of one that the lab did not start."""
        return {alias: [] if isinstance(c, ByAddress) else c for alias, c in self.declared.items()}

    @cached_property
    def external(self) -> dict[str, External]:
        return {alias: c.external for alias, c in self.declared.items() if isinstance(c, ByAddress)}

    @property
    def read_only(self) -> bool:
        return bool(self.external) and not self.writable

    def contradictions(self) -> Iterator[str]:
        """Keys that do not go together: clusters are all containers of the lab, or all known by address."""
        if not self.external:
            if not self.kafka:
                yield "x-lab.kafka: field required"
            for key in sorted({"connect_url", "writable"} & self.model_fields_set):
                yield f"x-lab.{key}: only where clusters are external"
            return
        for alias in self.declared.keys() - self.external.keys():
            yield f"x-lab.clusters.{alias}: has brokers of the lab, and others are external"
        if self.connect:
            yield "x-lab.connect: names services; where clusters are external it is connect_url"


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port published on 127.0.0.1 under a variable that can be leased another number."""

    service: str
    variable: str
    default: int
    container: int


@dataclass(frozen=True, kw_only=True)
class Service:
    name: str
    environment: Mapping[str, str]
    ports: tuple[Port, ...]
    memory_bytes: int
    image: str
    has_healthcheck: bool
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topology:
    name: str
    folder: Path
    roles: Roles
    services: Mapping[str, Service]
    optional: Mapping[str, Service] = field(default_factory=dict)  # those that only a profile starts
    clients: Mapping[str, ClientProperties] = field(default_factory=dict)  # of external clusters

    @property
    def reference(self) -> str:
        """What `load` finds it by: its name, or where it lies if that is not among the project's."""
        return self.name if self.folder.parent == COMPOSE else str(self.folder)

    @cached_property
    def profiles(self) -> tuple[str, ...]:
        return tuple(sorted({p for service in self.optional.values() for p in service.profiles}))

    def with_profile(self, profile: str) -> "Topology":
        """The topology as it is with a profile's services started too."""
        if profile not in self.profiles:
            raise BadInput(
                f'topology "{self.name}" has no profile "{profile}"', nearest(profile, list(self.profiles))
            )
        of_it = {name: s for name, s in self.optional.items() if profile in s.profiles}
        rest = {name: s for name, s in self.optional.items() if name not in of_it}
        return replace(self, services={**self.services, **of_it}, optional=rest)

    def without_services(self) -> "Topology":
        return replace(self, services={})

    @property
    def has_connect(self) -> bool:
        return bool(self.roles.connect or self.roles.connect_url)

    def client(self, alias: str) -> ClientProperties:
        return self.clients.get(alias, ClientProperties())

    def require_writable(self, doing: str) -> None:
        if self.roles.read_only:
            raise BadInput(
                f"{doing} would change clusters that the lab did not start: "
                f'topology "{self.name}" is read-only',
                f'"writable: true" under x-lab in {self.compose_file} permits it',
            )

    @property
    def compose_file(self) -> Path:
        return self.folder / "compose.yaml"

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        return tuple(port for service in self.services.values() for port in service.ports)

    @cached_property
    def memory_bytes(self) -> int:
        return sum(service.memory_bytes for service in self.services.values())

    def connector_files(self) -> dict[str, Path]:
        return {path.stem: path for path in sorted((self.folder / "connectors").glob("*.json"))}

    def bootstrap(self, alias: str, *, listener: str, ports: Mapping[str, int]) -> str:
        """Addresses of a cluster's brokers on one listener, e.g. "broker:29092"; an external one has one."""
        if alias in self.roles.external:
            return self.roles.external[alias].bootstrap
        brokers = self.roles.clusters[alias]
        return ",".join(self._advertised(broker, listener, ports) for broker in brokers)

    def _advertised(self, broker: str, listener: str, ports: Mapping[str, int]) -> str:
        advertised = self.services[broker].environment["KAFKA_ADVERTISED_LISTENERS"]
        for entry in interpolate(advertised, ports).split(","):
            name, _, address = entry.partition("://")
            if name == listener:
                return address
        raise TopologyError(
            f'broker "{broker}" of topology "{self.name}" advertises no listener "{listener}"',
            "KAFKA_ADVERTISED_LISTENERS needs one for containers, INTERNAL, and one for the host, EXTERNAL",
        )

    def alias_of(self, address: str) -> str | None:
        """The cluster that answers at an address inside the lab's network, if one does."""
        for alias, brokers in self.roles.clusters.items():
            if brokers and set(address.split(",")) & set(
                self.bootstrap(alias, listener="INTERNAL", ports={}).split(",")
            ):
                return alias
        return None

    def worker_setting(self, key: str) -> str | None:
        """A setting of the Connect workers, e.g. "header.converter"."""
        variable = "CONNECT_" + key.upper().replace("-", "___").replace(".", "_")
        for worker in self.roles.connect:
            return self.services[worker].environment.get(variable)
        return None

    def worker_bootstrap(self) -> str:
        """The cluster to which the Connect workers belong, and to which they produce by default."""
        return self.worker_setting("bootstrap.servers") or ""

    def check_kafka_version(self, version: str) -> None:
        if version not in SpecifierSet(self.roles.kafka):
            raise BadInput(
                f'topology "{self.name}" runs with Kafka {self.roles.kafka}, not with {version}',
                "Kafka 4 has no ZooKeeper" if version.startswith("4") else 'see "lab list"',
            )


def interpolate(text: str, values: Mapping[str, object]) -> str:
    """Compose's ${NAME:-default}, the only form that the topologies use."""
    return _VARIABLE.sub(lambda m: str(values.get(m["name"], m["default"] or "")), text)


def names() -> list[str]:
    return sorted(path.parent.name for path in COMPOSE.glob("*/compose.yaml") if path.parent.name != "images")


def load(name: str) -> Topology:
    """The named topology, or every problem of its files at once."""
    if (
        "/" in name
        and COMPOSE not in Path(name).resolve().parents
        and (Path(name) / "compose.yaml").is_file()
    ):
        return read(Path(name).resolve())
    if name not in names():
        raise BadInput(f'no topology named "{name}"', nearest(name, names(), more='"lab list" shows all'))
    return read(COMPOSE / name)


def read(folder: Path) -> Topology:
    path = folder / "compose.yaml"
    document = _mapping(path)
    problems: list[str] = []
    roles: Roles | None = None
    try:
        roles = Roles.model_validate(document.get("x-lab", {}))
    except ValidationError as error:
        problems += [f"x-lab.{_where(e['loc'])}: {_plain(e)}" for e in error.errors()]
    services: dict[str, Service] = {}
    bodies = document.get("services")
    if bodies is None and (roles is None or roles.external):
        bodies = {}
    if not isinstance(bodies, dict):
        problems.append("services: not a mapping")
        bodies = {}
    for service, body in bodies.items():
        try:
            services[service] = _service(service, _extended(body, folder))
        except ValueError as error:
            problems.append(f"services.{service}: {error}")
    clients: dict[str, ClientProperties] = {}
    if roles is not None:
        problems += roles.contradictions()
        problems += _unknown_services(
            roles, [s for s in bodies if s not in services or not services[s].profiles]
        )
        if roles.external:
            problems += [
                f"services.{s}: only spark, where clusters are external" for s in {*bodies} - {"spark"}
            ]
        for alias, external in roles.external.items():
            if external.properties is not None:
                try:
                    clients[alias] = client_properties.read(folder / external.properties)
                except BadInput as error:
                    problems.append(f"x-lab.clusters.{alias}.external.properties: {error.message}")
    if problems or roles is None:
        raise TopologyError(f'topology "{folder.name}" is not valid: {"; ".join(problems)}', f"mend {path}")
    started = {name: s for name, s in services.items() if not s.profiles}
    optional = {name: s for name, s in services.items() if s.profiles}
    return Topology(folder.name, folder, roles, started, optional, clients)


def _where(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if part not in (_BROKERS, _BY_ADDRESS))


def _plain(error: Any) -> str:
    return "no such key" if error["type"] == "extra_forbidden" else str(error["msg"]).lower()


def _unknown_services(roles: Roles, services: list[str]) -> Iterator[str]:
    named = [(f"clusters.{alias}", b) for alias, brokers in roles.clusters.items() for b in brokers]
    for where, service in [*named, *(("connect", worker) for worker in roles.connect)]:
        if service not in services:
            yield f'x-lab.{where}: no service named "{service}" ({nearest(service, services)})'


def _service(name: str, body: dict[str, Any]) -> Service:
    ports = []
    if not isinstance(body.get("ports", []), list):
        raise ValueError("ports is not a list")
    for text in body.get("ports", []):
        match = _PUBLISHED.fullmatch(str(text))
        if match is None:
            raise ValueError(f'port "{text}" is not written as 127.0.0.1:${{NAME_PORT:-default}}:container')
        ports.append(
            Port(
                service=name,
                variable=match["variable"],
                default=int(match["default"]),
                container=int(match["container"]),
            )
        )
    environment = body.get("environment", {})
    if not isinstance(environment, dict):
        raise ValueError("environment is a list; quotes in a list become part of the value, use a mapping")
    return Service(
        name=name,
        environment={key: str(value) for key, value in environment.items()},
        ports=tuple(ports),
        memory_bytes=_size(str(body.get("mem_limit", "0"))),
        image=str(body.get("image", "")),
        has_healthcheck="healthcheck" in body,
        profiles=tuple(body.get("profiles", ())),
    )


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f'mem_limit "{text}" is not a size such as 512m')
    return int(match[1]) * _SIZES[match[2].lower()]


def _extended(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A service with its fragment's keys beneath its own, as Compose's `extends` merges mappings."""
    if not isinstance(body, dict):
        raise ValueError("not a mapping")
    reference = body.get("extends")
    if reference is None:
        return body
    if not isinstance(reference, dict) or not {"file", "service"} <= set(reference):
        raise ValueError("extends is not written as {file: …, service: …}")
    path = folder / reference["file"]
    fragment = _mapping(path).get("services", {}).get(reference["service"])
    if fragment is None:
        raise ValueError(f'{path.name} has no service "{reference["service"]}" to extend')
    below = _extended(fragment, path.parent)
    merged = {**below, **body}
    for key in ("environment", "healthcheck"):
        if isinstance(below.get(key), dict) and isinstance(body.get(key), dict):
            merged[key] = {**below[key], **body[key]}
    return merged


def _mapping(path: Path) -> dict[str, Any]:
    try:
        document = yaml.load(path.read_text(), _UniqueKeys)  # noqa: S506 - a SafeLoader with one more check
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        place = f"{path}:{where.line + 1}:{where.column + 1}" if where else str(path)
        told = " ".join(str(getattr(error, "problem", None) or error).split())
        raise TopologyError(f"{place}: {told}", "mend the YAML") from error
    except OSError as error:
        raise TopologyError(f"{path}: {error.strerror}", "restore the file") from error
    if not isinstance(document, dict):
        raise TopologyError(f"{path}: not a mapping", "a Compose file starts with `services:`")
    return document


class _UniqueKeys(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys and says nothing; here that is an error."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Looked at as written: once merge keys are resolved, an overridden key does stand there twice."""
        node = super().compose_mapping_node(anchor)
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue  # the constructor refuses it, and says where
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    problem=f'key "{key.value}" stands twice, first in line {seen[key.value]}',
                    problem_mark=key.start_mark,
                )
            seen[key.value] = key.start_mark.line + 1
        return node
