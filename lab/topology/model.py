"""A topology as frozen data: services, ports, roles, and what follows from them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from packaging.specifiers import SpecifierSet

from lab.client_properties import ClientProperties
from lab.errors import BadInput, nearest
from lab.project import COMPOSE
from lab.topology.roles import Roles

MM2_PROPERTIES: Final = "LAB_MM2_PROPERTIES"  # a service's variable that names its properties file
MM2_DIGEST: Final = "LAB_MM2_DIGEST"  # of what is in that file: services with another one are made anew
LINK: Final = "LINK"  # the listener that brokers advertise at the service `link`
_SIZE: Final = re.compile(r"([0-9]+)([bkmg]?)", re.IGNORECASE)
_SIZES: Final = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_VARIABLE: Final = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")


class TopologyError(BadInput):
    """A topology's files do not say what a topology must say."""


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
    memory: str  # the limit as it is written, which may name a variable
    memory_bytes: int  # with the variable's default
    image: str
    has_healthcheck: bool
    profiles: tuple[str, ...] = ()

    @property
    def protocols(self) -> dict[str, str]:
        """Of a broker: how clients speak to each listener, e.g. {"EXTERNAL": "SASL_SSL"}."""
        entries = self.environment.get("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "").split(",")
        return dict(entry.strip().split(":", 1) for entry in entries if ":" in entry)


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
    def workers(self) -> list[str]:
        """The Connect workers that are started; a profile may add more of those that the roles name."""
        return [worker for worker in self.roles.connect if worker in self.services]

    @property
    def mirror_makers(self) -> list[str]:
        """The dedicated nodes of MM2 that are started."""
        return [node for node in self.roles.mirror_maker if node in self.services]

    @property
    def secured(self) -> list[str]:
        """The brokers that speak TLS, each with a certificate of its own."""
        return [name for name, service in self.services.items() if "SSL" in service.protocols.values()]

    def mm2_properties(self, variables: Mapping[str, str]) -> Path:
        """The file that dedicated nodes of MM2 get: the topology's, or the one that was chosen at `up`."""
        written = self.services[self.mirror_makers[0]].environment[MM2_PROPERTIES]
        return self.folder / interpolate(written, variables)

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
    def variables(self) -> dict[str, str]:
        """What may be chosen when a lab starts, with its default: services say `${NAME:-default}`."""
        texts = (
            text
            for service in self.services.values()
            for text in (service.memory, *service.environment.values())
        )
        found = (match for text in texts for match in _VARIABLE.finditer(text))
        of_the_lab = ("_PORT", MM2_DIGEST)
        return {m["name"]: m["default"] or "" for m in found if not m["name"].endswith(of_the_lab)}

    @cached_property
    def memory_bytes(self) -> int:
        return sum(service.memory_bytes for service in self.services.values())

    def memory_bytes_with(self, variables: Mapping[str, str]) -> int:
        """What all services may take together with limits that were chosen at `up`."""
        return sum(size_bytes(interpolate(service.memory, variables)) for service in self.services.values())

    def connector_files(self) -> dict[str, Path]:
        return {path.stem: path for path in sorted((self.folder / "connectors").glob("*.json"))}

    def bootstrap(self, alias: str, *, listener: str, ports: Mapping[str, int]) -> str:
        """Addresses of a cluster's brokers on one listener, e.g. "broker:29092"; an external one has one."""
        if alias in self.roles.external:
            return self.roles.external[alias].bootstrap
        brokers = self.roles.clusters[alias]
        return ",".join(self._advertised(broker, listener, ports) for broker in brokers)

    def _advertised(self, broker: str, listener: str, ports: Mapping[str, int]) -> str:
        addresses = self._listeners(broker, ports)
        if listener in addresses:
            return addresses[listener]
        raise TopologyError(
            f'broker "{broker}" of topology "{self.name}" advertises no listener "{listener}"',
            "KAFKA_ADVERTISED_LISTENERS needs one for containers, INTERNAL, and one for the host, EXTERNAL",
        )

    def _listeners(self, broker: str, ports: Mapping[str, int]) -> dict[str, str]:
        """What a broker advertises: listener → address."""
        advertised = self.services[broker].environment["KAFKA_ADVERTISED_LISTENERS"]
        entries = (entry.partition("://") for entry in interpolate(advertised, ports).split(","))
        return {name: address for name, _, address in entries}

    def protocols(self, alias: str) -> dict[str, str]:
        """How clients speak to each listener that a cluster's brokers advertise; an external one has none."""
        return {
            listener: self.services[broker].protocols.get(listener, "PLAINTEXT")
            for broker in self.roles.clusters[alias][:1]
            for listener in self._listeners(broker, {})
        }

    def listener_of(self, alias: str, addresses: str) -> str:
        """On which of a cluster's listeners these addresses are; the one for containers if on none."""
        asked = set(addresses.split(","))
        for broker in self.roles.clusters[alias]:
            for listener, address in self._listeners(broker, {}).items():
                if address in asked:
                    return listener
        return "INTERNAL"

    def direct_listener_of(self, alias: str, addresses: str) -> str:
        """The listener of these addresses, unless they lead through the link: then the one for containers."""
        listener = self.listener_of(alias, addresses)
        return "INTERNAL" if self.roles.link and listener == LINK else listener

    @cached_property
    def proxies(self) -> dict[str, Port]:
        """By broker, the port of the link that leads to it."""
        if self.roles.link is None:
            return {}
        at = {f"{self.roles.link}:{port.container}": port for port in self.services[self.roles.link].ports}
        brokers = [broker for brokers in self.roles.clusters.values() for broker in brokers]
        found = {broker: self._listeners(broker, {}).get(LINK) for broker in brokers}
        return {broker: at[address] for broker, address in found.items() if address in at}

    def alias_of(self, address: str) -> str | None:
        """The cluster that answers at an address inside the lab's network, if one does."""
        asked = set(address.split(","))
        for alias, brokers in self.roles.clusters.items():
            if any(asked & set(self._listeners(broker, {}).values()) for broker in brokers):
                return alias
        return None

    def known_as(self, alias: str, address: str) -> str:
        """A cluster's alias here: the one given, else that of the cluster at the address, if there is one."""
        return alias if alias in self.roles.clusters else self.alias_of(address) or alias

    def worker_setting(self, key: str, variables: Mapping[str, str] | None = None) -> str | None:
        """A setting of the Connect workers, e.g. "header.converter", with what was chosen at `up`."""
        variable = "CONNECT_" + key.upper().replace("-", "___").replace(".", "_")
        for worker in self.workers:
            written = self.services[worker].environment.get(variable)
            return None if written is None else interpolate(written, variables or {})
        return None

    def worker_settings(self, *prefixes: str) -> dict[str, str]:
        """The settings of the Connect workers whose keys begin so, as their variables say them."""
        environment = self.services[self.workers[0]].environment if self.workers else {}
        told = {
            _dotted(n.removeprefix("CONNECT_")): v for n, v in environment.items() if n.startswith("CONNECT_")
        }
        return {key: value for key, value in told.items() if key.startswith(prefixes)}

    def worker_bootstrap(self) -> str:
        """The cluster to which the Connect workers belong, and to which they produce by default."""
        return self.worker_setting("bootstrap.servers") or ""

    def check_kafka_version(self, version: str) -> None:
        if version not in SpecifierSet(self.roles.kafka):
            raise BadInput(
                f'topology "{self.name}" runs with Kafka {self.roles.kafka}, not with {version}',
                "Kafka 4 has no ZooKeeper" if version.startswith("4") else 'see "lab list"',
            )


def _dotted(variable: str) -> str:
    """The key that a variable stands for, as in the images that people know: `_` is a dot, `__` is `_`."""
    words = variable.lower().replace("___", "-").split("__")
    return "_".join(word.replace("_", ".") for word in words)


def size_bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f'mem_limit "{text}" is not a size such as 512m')
    return int(match[1]) * _SIZES[match[2].lower()]


def interpolate(text: str, values: Mapping[str, object]) -> str:
    """Compose's ${NAME:-default}, the only form that the topologies use."""
    return _VARIABLE.sub(lambda m: str(values.get(m["name"], m["default"] or "")), text)
