"""The files of a lab whose listeners ask for TLS or a password: kept while they are good, renewed when old.

    <state>/labs/<name>/security/
        ca.crt ca.key              the lab's authority; its key is never mounted
        <broker>/                  what one broker may read: its key store, the authority, its logins
        clients/                   what clients may read: trust stores, the password, files for Kafka's tools

Everything is readable by one user only, the one that the containers run as.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509

from lab import client_properties, leases
from lab.client_properties import ClientProperties
from lab.errors import LabError
from lab.security import certificates
from lab.security.certificates import Signed
from lab.topology import Service, Topology

USER: Final = "token"  # as IBM's Event Streams calls whoever shows an API key
AUTHORITY_VALID: Final = timedelta(days=365)
VALID: Final = timedelta(days=90)
RENEW: Final = timedelta(days=7)  # before they end
CLIENTS: Final = "clients"
_MOUNTED: Final = "/run/secrets"  # where a container sees its folder
_IMAGES_USER: Final = 1000  # in the lab's own images
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
# Servers that no client should trust, each for a reason of its own: for showing that none does.
FLAWED: Final = ("expired", "stranger", "misnamed")


@dataclass(frozen=True, kw_only=True)
class Material:
    """What was written; `renewed` are the services whose certificates were replaced."""

    made: bool = False
    renewed: tuple[str, ...] = field(default=())


def folder(lab: str) -> Path:
    return leases.env_file(lab).parent / "security"


def settings(lab: str) -> dict[str, str]:
    """For Compose: the folder that is mounted, and the user who can read it."""
    return {"LAB_SECURITY": str(folder(lab)), "LAB_USER": str(_reader())}


def write(lab: str, topology: Topology, *, now: datetime | None = None) -> Material:
    """Before the containers start. What is there and good for another week stays as it is."""
    servers = [name for name, s in topology.services.items() if "SSL" in s.protocols.values()]
    if not servers:
        return Material()
    now = now or datetime.now(UTC)
    place = folder(lab)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _authority(place, now)
    made = authority is None
    if authority is None:
        authority = _new_authority(place, lab, now)
    if made or not (place / CLIENTS / "secrets.properties").exists():
        _write_secrets(place, authority)
    renewed = [s for s in servers if _renew(place / s, s, authority, now, anew=made)]
    for service in servers:
        _write(place / service / "broker.properties", f"jaas={_logins(place)}\n")
        _write_flawed(place / service, topology.services[service], authority, now)
    for alias in topology.roles.clusters:
        _write_tools(place, topology, alias)
    return Material(made=made, renewed=() if made else tuple(renewed))


def client(lab: str, protocol: str) -> ClientProperties:
    """How the lab's own clients speak to a listener of that protocol."""
    if protocol == "PLAINTEXT":
        return ClientProperties()
    place = folder(lab)
    try:
        properties = {
            "security.protocol": protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": (place / "ca.crt").read_text(),
        }
        if protocol == "SASL_SSL":
            properties |= {"sasl.mechanism": "PLAIN", "sasl.jaas.config": _login(_secrets(place)["api.key"])}
    except OSError as error:
        raise LabError(
            f"{error.filename}: {error.strerror}", f'"lab up --name {lab}" makes it anew'
        ) from error
    found, problems = client_properties.translate(properties, place)
    if problems:
        raise AssertionError(problems)
    return found


# -- the authority and what it signs -------------------------------------------------------------------


def _authority(place: Path, now: datetime) -> Signed | None:
    """The lab's, unless it will soon be none."""
    try:
        found = Signed.read((place / "ca.crt").read_text(), (place / "ca.key").read_text())
    except (OSError, ValueError):
        return None
    return found if found.certificate.not_valid_after_utc - now > VALID else None


def _new_authority(place: Path, lab: str, now: datetime) -> Signed:
    made = certificates.authority(f"lab {lab}", now=now, valid=AUTHORITY_VALID)
    _write(place / "ca.key", made.key_pem, owned=False)
    _write(place / "ca.crt", made.certificate_pem)
    return made


def _renew(place: Path, service: str, authority: Signed, now: datetime, *, anew: bool) -> bool:
    """Whether the service's certificate had to be made."""
    hosts = _hosts(service)
    if not anew and _is_good(place / "keystore.pem", set(hosts), now):
        return False
    signed = certificates.issue(authority, hosts, now=now, until=now + VALID)
    _write(place / "keystore.pem", signed.key_store_pem)
    _write(place / "ca.crt", authority.certificate_pem)
    return True


def _is_good(path: Path, hosts: set[str], now: datetime) -> bool:
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return False
    return found.not_valid_after_utc - now > RENEW and certificates.hosts_of(found) == hosts


def _hosts(service: str) -> tuple[str, ...]:
    """In the lab's network by the service's name, on this host by its address."""
    return service, "localhost", "127.0.0.1"


def _write_flawed(place: Path, service: Service, authority: Signed, now: datetime) -> None:
    """What the service's settings name of them."""
    wanted = [f for f in FLAWED if any(f"{f}.pem" in value for value in service.environment.values())]
    if not wanted or all((place / f"{flaw}.pem").exists() for flaw in wanted):
        return
    until, hosts = now + AUTHORITY_VALID, _hosts(service.name)
    stranger = certificates.authority("somebody else", now=now, valid=AUTHORITY_VALID)
    flawed = {
        "expired": certificates.issue(authority, hosts, now=now, until=now - timedelta(days=1)),
        "stranger": certificates.issue(stranger, hosts, now=now, until=until),
        "misnamed": certificates.issue(authority, ("elsewhere.example",), now=now, until=until),
    }
    for flaw in wanted:
        _write(place / f"{flaw}.pem", flawed[flaw].key_store_pem)


# -- secrets and the files that hold them --------------------------------------------------------------


def _write_secrets(place: Path, authority: Signed) -> None:
    """One trust store for both ways in which people have it: as PEM, and as a store with a password."""
    clients = place / CLIENTS
    password, api_key = secrets.token_urlsafe(18), secrets.token_urlsafe(24)
    _write(clients / "ca.crt", authority.certificate_pem)
    _write_bytes(clients / "truststore.jks", certificates.trust_store(authority.certificate, password))
    _write(clients / "truststore.password", password)
    _write(
        clients / "secrets.properties",
        f"# Referred to as ${{file:{_MOUNTED}/secrets.properties:KEY}}\n"
        f"truststore.password={password}\napi.key={api_key}\n",
    )


def _secrets(place: Path) -> dict[str, str]:
    return client_properties.parse((place / CLIENTS / "secrets.properties").read_text())


def _login(api_key: str) -> str:
    return f'{_PLAIN} username="{USER}" password="{api_key}";'


def _logins(place: Path) -> str:
    """Who may log in at a broker."""
    return f'{_PLAIN} user_{USER}="{_secrets(place)["api.key"]}";'


def _write_tools(place: Path, topology: Topology, alias: str) -> None:
    """What kafka-topics.sh and its kin take with --command-config, one file per secured listener."""
    for listener, protocol in topology.protocols(alias).items():
        bootstrap = topology.bootstrap(alias, listener=listener, ports={})
        if protocol in ("SSL", "SASL_SSL") and "127.0.0.1" not in bootstrap:
            name = f"{alias}-{'tls' if protocol == 'SSL' else 'sasl'}.properties"
            _write(place / CLIENTS / name, _lines(_tool(_secrets(place), protocol, bootstrap)))
            if listener == "INTERNAL":  # as the exporter looks for it
                pem = client(place.parent.name, protocol).java
                _write(place / CLIENTS / f"{alias}.properties", _lines(pem))


def _tool(known: Mapping[str, str], protocol: str, bootstrap: str) -> dict[str, str]:
    properties = {
        "bootstrap.servers": bootstrap,
        "security.protocol": protocol,
        "ssl.truststore.location": f"{_MOUNTED}/truststore.jks",
        "ssl.truststore.password": known["truststore.password"],
    }
    if protocol == "SASL_SSL":
        properties |= {"sasl.mechanism": "PLAIN", "sasl.jaas.config": _login(known["api.key"])}
    return properties


def _lines(properties: Mapping[str, str]) -> str:
    """As java.util.Properties reads it, where a line break within a value is an escape."""
    escaped = {key: value.replace("\n", "\\n") for key, value in properties.items()}
    return "".join(f"{key}={value}\n" for key, value in escaped.items())


# -- files ---------------------------------------------------------------------------------------------


def _reader() -> int:
    """The user in the containers who can read what the lab's user wrote for nobody else; never root."""
    return os.getuid() or _IMAGES_USER


def _write(path: Path, text: str, *, owned: bool = True) -> None:
    _write_bytes(path, text.encode(), owned=owned)


def _write_bytes(path: Path, content: bytes, *, owned: bool = True) -> None:
    """Never readable by others, not even for a moment; all at once."""
    path.parent.mkdir(exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    if os.getuid() == 0 and owned:
        os.chown(temporary, _reader(), -1)
        if path.parent.name != "security":
            os.chown(path.parent, _reader(), -1)
    temporary.replace(path)
