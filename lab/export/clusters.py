"""What a flow's connectors say of a cluster: where it is, whom they trust there, as whom they log in.

Every other form says that once for each cluster, and not for each connector.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from lab import client_properties
from lab.errors import LabError
from lab.export.flow import WHERE, Flow
from lab.export.meaning import SIDES
from lab.mm2 import Connector

STORE: Final = ("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type")
CERTIFICATES: Final = "ssl.truststore.certificates"
_LOGIN: Final = ("sasl.mechanism", "sasl.jaas.config")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, kw_only=True)
class Login:
    mechanism: str
    username: str
    password: str  # a reference to it, or itself: never shown


@dataclass(frozen=True)
class Cluster:
    """A cluster and the settings that all connectors give to their clients there."""

    alias: str
    settings: Mapping[str, str]

    @property
    def bootstrap(self) -> str:
        return self.settings["bootstrap.servers"]

    @property
    def protocol(self) -> str:
        protocol = self.settings.get("security.protocol", "PLAINTEXT").upper()
        if protocol not in _PROTOCOLS:
            raise LabError(
                f'cluster "{self.alias}": security.protocol "{protocol}" is none that is known',
                f"one of {', '.join(_PROTOCOLS)}",
            )
        return protocol

    @property
    def tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def trusts_store(self) -> bool:
        """Whether it has a trust store of its own; without one Java's own authorities are trusted."""
        return self.tls and any(key in self.settings for key in (STORE[0], CERTIFICATES))

    @property
    def login(self) -> Login | None:
        if not self.protocol.startswith("SASL_"):
            return None
        mechanism = self.settings.get("sasl.mechanism", "GSSAPI")
        try:
            options = client_properties.login_options(self.settings.get("sasl.jaas.config", ""), mechanism)
            return Login(mechanism=mechanism, username=options["username"], password=options["password"])
        except (ValueError, KeyError) as error:
            raise LabError(
                f'cluster "{self.alias}": its login is none with a user and a password ({error})',
                "write its authentication by hand; name the other connectors to export them",
            ) from error

    @property
    def others(self) -> dict[str, str]:
        """Settings that are neither address nor trust nor login."""
        taken = ("bootstrap.servers", "security.protocol", CERTIFICATES, *STORE, *_LOGIN)
        return {key: value for key, value in self.settings.items() if key not in taken}


def clusters(flow: Flow) -> dict[str, Cluster]:
    """By alias. Connectors that reach or trust a cluster in different ways are refused."""
    found: dict[str, dict[str, str]] = {}
    first: dict[str, str] = {}
    for connector in flow.connectors:
        for side, alias in zip(SIDES, (connector.source_alias, connector.target_alias), strict=True):
            its = _under(connector, side)
            if "bootstrap.servers" not in its:
                raise LabError(
                    f'connector "{connector.name}" has no address of cluster "{alias}"',
                    f"{side}.cluster.bootstrap.servers=host:port",
                )
            known = found.setdefault(alias, its)
            for key in sorted({*known, *its}):
                if key.startswith(WHERE) and known.get(key) != its.get(key):
                    raise LabError(
                        f'"{first[alias]}" and "{connector.name}" have not the same "{key}" for cluster '
                        f'"{alias}", and every other form has one for all connectors',
                        "give both the same value, or name those that are to be exported",
                    )
            found[alias] = {key: value for key, value in known.items() if its.get(key) == value}
            first.setdefault(alias, connector.name)
    return {alias: Cluster(alias, settings) for alias, settings in found.items()}


def _under(connector: Connector, side: str) -> dict[str, str]:
    prefix = f"{side}.cluster."
    return {
        key.removeprefix(prefix): value
        for key, value in connector.config.items()
        if key.startswith(prefix) and key != f"{prefix}alias"
    }


def own(connector: Connector, known: Mapping[str, Cluster]) -> Connector:
    """Without what its clusters say for all."""
    said = {
        f"{side}.cluster.{key}"
        for side, alias in zip(SIDES, (connector.source_alias, connector.target_alias), strict=True)
        for key in known[alias].settings
    }
    return replace(connector, config={k: v for k, v in connector.config.items() if k not in said})


def by_reference(connector: Connector) -> Connector:
    """Without where its secrets stand: only that there is a trust store, and who logs in how."""
    config = dict(connector.config)
    for side in SIDES:
        prefix = f"{side}.cluster."
        cluster = Cluster(side, _under(connector, side))
        for key in (CERTIFICATES, *STORE, *_LOGIN):
            config.pop(prefix + key, None)
        if cluster.trusts_store:
            config[f"{prefix}ssl.truststore"] = "one of its own"
        if (login := cluster.login) is not None:
            config[f"{prefix}sasl"] = f"{login.mechanism} {login.username}"
    return replace(
        connector, config={k: v for k, v in config.items() if not k.startswith("config.providers")}
    )


_REFERENCE: Final = re.compile(r"\$\{(?P<provider>[^:}]+):(?P<path>[^:}]+):(?P<key>[^}]+)\}")


def reference(value: str) -> tuple[str, str] | None:
    """The file and the key that `${file:PATH:KEY}` names."""
    match = _REFERENCE.fullmatch(value)
    return (match["path"], match["key"]) if match else None
