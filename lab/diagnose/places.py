"""Which cluster an address in a log belongs to, and how a key is set where MM2 runs."""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.observation import Deployed, Observation, Said

# As Kafka's clients name whom they cannot speak to: "node -1 (host/10.0.0.1:9092)".
_NODE: Final = re.compile(r"node -?\d+ \((?P<host>[^/()\s]*)/?(?P<ip>[^()\s]*?):(?P<port>\d+)\)")
_OVERRIDE: Final = "producer.override."


def addresses(seen: Observation) -> Iterator[tuple[str, str]]:
    """Each address that MM2 was given, with its cluster's alias."""
    for one in seen.deployed:
        for side, alias in (("source", one.connector.source_alias), ("target", one.connector.target_alias)):
            for address in one.connector.config.get(f"{side}.cluster.bootstrap.servers", "").split(","):
                yield address.strip(), alias
    for key, value in seen.properties.items():
        if key.endswith(".bootstrap.servers") and "->" not in key:
            for address in value.split(","):
                yield address.strip(), key.removesuffix(".bootstrap.servers")


def address_in(text: str) -> str | None:
    """Of the node that a line is about."""
    found = _NODE.search(text)
    return f"{found['host'] or found['ip']}:{found['port']}" if found else None


def cluster_of(seen: Observation, said: Said) -> str:
    """As a sentence names it: by its alias, or by the address that the log has."""
    address = _nearest_address(said)
    if address is None:
        return "a cluster"
    alias = dict(addresses(seen)).get(address)
    return f'cluster "{alias}" ({address})' if alias else f"the broker at {address}"


def _nearest_address(said: Said) -> str | None:
    """In the line itself, or in the last one before it that names a node: a trace follows its connection."""
    entries = said.service.entries
    for entry in reversed(entries[: entries.index(said.entry) + 1][-20:]):
        if found := address_in(entry.text):
            return found
    return None


def setting(seen: Observation, one: Deployed, key: str, value: str) -> tuple[str, tuple[str, ...]]:
    """How a connector gets another setting: what to do in words, and the commands for it."""
    if not seen.properties:
        return f"set {key}={value}", (f"lab mm2 set {one.name} {key}={value}",)
    connector = one.connector
    whose = f"{connector.source_alias}->{connector.target_alias}"
    if key.startswith(_OVERRIDE):  # a dedicated MM2 has one producer for each cluster it writes to
        whose, key = f"{connector.target_alias}.producer", key.removeprefix(_OVERRIDE)
    return f"write {whose}.{key}={value} in MM2's properties and restart it", ()
