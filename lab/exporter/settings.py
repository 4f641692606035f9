"""What the exporter is told about the world: from the environment, as Compose gives it.

EXPORTER_CLUSTERS    alias=host:port,host:port, separated by white space
EXPORTER_CONNECT     the Connect workers' addresses, separated by white space
EXPORTER_MM2_PROPERTIES, EXPORTER_KAFKA_VERSION
                     where a dedicated MirrorMaker 2 does the work: the file that it was started with
EXPORTER_INTERVAL_S  seconds from one collection to the next
EXPORTER_CLIENTS     a folder with a file of client properties, <alias>.properties, per cluster that needs one
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lab import client_properties, mm2_dedicated
from lab.errors import BadInput
from lab.mm2 import Connector

PORT: Final = 9400
INTERVAL_S: Final = 5.0
CLIENTS: Final = "/etc/mirror-lab/clients"


@dataclass(frozen=True, kw_only=True)
class Settings:
    clusters: Mapping[str, str]  # alias -> bootstrap servers
    workers: tuple[str, ...] = ()
    connectors: tuple[Connector, ...] = ()  # of a dedicated MM2, which no worker tells
    kafka_version: str = ""
    interval_s: float = INTERVAL_S
    properties: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict, repr=False
    )  # may hold passwords


def read(environment: Mapping[str, str]) -> Settings:
    clusters = {}
    for entry in environment.get("EXPORTER_CLUSTERS", "").split():
        alias, equals, bootstrap = entry.partition("=")
        if not (alias and equals and bootstrap):
            raise BadInput(f'EXPORTER_CLUSTERS: "{entry}" is no cluster', "write alias=host:port,host:port")
        clusters[alias] = bootstrap
    if not clusters:
        raise BadInput("EXPORTER_CLUSTERS names no cluster", "write alias=host:port for each")
    folder = Path(environment.get("EXPORTER_CLIENTS", CLIENTS))
    files = {alias: folder / f"{alias}.properties" for alias in clusters}
    return Settings(
        clusters=clusters,
        workers=tuple(environment.get("EXPORTER_CONNECT", "").split()),
        connectors=_dedicated(environment.get("EXPORTER_MM2_PROPERTIES")),
        kafka_version=environment.get("EXPORTER_KAFKA_VERSION", ""),
        interval_s=interval("EXPORTER_INTERVAL_S", environment.get("EXPORTER_INTERVAL_S") or str(INTERVAL_S)),
        properties={
            alias: client_properties.read(path).librdkafka for alias, path in files.items() if path.exists()
        },
    )


def _dedicated(path: str | None) -> tuple[Connector, ...]:
    return tuple(mm2_dedicated.connectors(mm2_dedicated.read(Path(path)))) if path else ()


def interval(variable: str, text: str) -> float:
    """In seconds."""
    try:
        interval_s = float(text)
    except ValueError:
        interval_s = 0.0
    if not 0.1 <= interval_s <= 3_600:
        raise BadInput(f'{variable}: "{text}" is not a number of seconds', "e.g. 5; 0.1 to 3600")
    return interval_s
