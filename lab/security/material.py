"""The files of a lab whose listeners ask for TLS or a password: kept while they are good, renewed when old.

<state>/labs/<name>/security/
    ca.crt ca.key              the lab's authority; its key is never mounted
    <broker>/                  what one broker may read: its key store, the authority, its logins
    clients/                   what clients may read: trust stores, the password, files for Kafka's tools
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

from cryptography import x509

from lab.client_properties import property_line
from lab.security import certificates, files
from lab.security.certificates import Signed
from lab.security.files import CLIENTS, KEY_STORE, USER
from lab.topology import Service, Topology

AUTHORITY_VALID: Final = timedelta(days=365)
VALID: Final = timedelta(days=90)
RENEW: Final = timedelta(days=7)  # before they end
_MOUNTED: Final = "/run/secrets"  # where a container sees its folder
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
# Servers that no client should trust, each for a reason of its own: for showing that none does.
FLAWED: Final = ("expired", "stranger", "misnamed")


def write(lab: str, topology: Topology, *, now: datetime | None = None) -> None:
    """Before the containers start. What is there and good for another week stays as it is."""
    servers = topology.secured
    now = now or datetime.now(UTC)
    place = files.folder(lab)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _authority(place, now)
    made = authority is None
    if authority is None:
        authority = _new_authority(place, lab, now)
    if made or not (place / CLIENTS / "secrets.properties").exists():
        _write_secrets(place, authority)
    for service in servers:
        _renew(place / service, service, authority, now, anew=made)
        files.write(place / service / "broker.properties", f"jaas={_logins(place)}\n")
        _write_flawed(place / service, topology.services[service], authority, now)
    for alias in topology.roles.clusters:
        _write_tools(place, topology, alias)


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
    files.write(place / "ca.key", made.key_pem, owned=False)
    files.write(place / "ca.crt", made.certificate_pem)
    return made


def _renew(place: Path, service: str, authority: Signed, now: datetime, *, anew: bool) -> None:
    hosts = _hosts(service)
    if not anew and _is_good(place / KEY_STORE, set(hosts), now):
        return
    signed = certificates.issue(authority, hosts, now=now, until=now + VALID)
    files.write(place / KEY_STORE, signed.key_store_pem)
    files.write(place / "ca.crt", authority.certificate_pem)


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
        files.write(place / f"{flaw}.pem", flawed[flaw].key_store_pem)


# -- secrets and the files that hold them --------------------------------------------------------------


def _write_secrets(place: Path, authority: Signed) -> None:
    """One trust store for both ways in which people have it: as PEM, and as a store with a password."""
    clients = place / CLIENTS
    password, api_key = token_urlsafe(18), token_urlsafe(24)
    files.write(clients / "ca.crt", authority.certificate_pem)
    files.write_bytes(clients / "truststore.jks", certificates.trust_store(authority.certificate, password))
    files.write(clients / "truststore.password", password)
    files.write(
        clients / "secrets.properties",
        f"# Referred to as ${{file:{_MOUNTED}/secrets.properties:KEY}}\n"
        f"truststore.password={password}\napi.key={api_key}\n",
    )


def _logins(place: Path) -> str:
    """Who may log in at a broker."""
    return f'{_PLAIN} user_{USER}="{files.secrets(place)["api.key"]}";'


def _write_tools(place: Path, topology: Topology, alias: str) -> None:
    """What kafka-topics.sh and its kin take with --command-config, one file per secured listener."""
    for listener, protocol in topology.protocols(alias).items():
        bootstrap = topology.bootstrap(alias, listener=listener, ports={})
        if protocol in ("SSL", "SASL_SSL") and "127.0.0.1" not in bootstrap:
            name = f"{alias}-{'tls' if protocol == 'SSL' else 'sasl'}.properties"
            files.write(place / CLIENTS / name, _lines(_tool(files.secrets(place), protocol, bootstrap)))
            if listener == "INTERNAL":  # as the exporter looks for it
                pem = files.client(place.parent.name, protocol).java
                files.write(place / CLIENTS / f"{alias}.properties", _lines(pem))


def _tool(known: Mapping[str, str], protocol: str, bootstrap: str) -> dict[str, str]:
    properties = {
        "bootstrap.servers": bootstrap,
        "security.protocol": protocol,
        "ssl.truststore.location": f"{_MOUNTED}/truststore.jks",
        "ssl.truststore.password": known["truststore.password"],
    }
    if protocol == "SASL_SSL":
        properties |= files.login(known["api.key"])
    return properties


def _lines(properties: Mapping[str, str]) -> str:
    return "".join(f"{property_line(key, value)}\n" for key, value in properties.items())
