"""A dedicated MirrorMaker 2 that is started anew with another properties file, as `lab up --set` does it."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lab.client_properties import parse
from lab.engine import EngineError
from lab.harness import Lab, Wish
from lab.kafka import ClusterError
from lab.project import COMPOSE
from lab.topology import MM2_PROPERTIES
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, NotYet, wait_until

FILES = COMPOSE / "dedicated-tls/mirror-maker"
DEFAULT = FILES / "strimzi-mm2.properties"


def start_with(lab: Lab, path: Path, *, profiles: tuple[str, ...] = (), **variables: str) -> None:
    """Only what has other properties or variables than before is started anew."""
    wish = Wish(
        topology=lab.topology.name,
        name=lab.name,
        kafka=lab.kafka_version,
        profiles=profiles,
        variables={MM2_PROPERTIES: str(path), **variables},
    )
    Lab.up(wish).close()


def changed(path: Path, changes: Mapping[str, str | None], into: Path) -> Path:
    """A copy of a properties file with some keys changed; None takes one away."""
    lines = [line for line in path.read_text().splitlines() if not set(parse(line)) & changes.keys()]
    lines += [f"{key}={value}" for key, value in changes.items() if value is not None]
    into.write_text("\n".join(lines) + "\n")
    into.chmod(0o644)  # a container's user reads it
    return into


def wait_until_committed(lab: Lab, topic: str) -> int:
    """MM2 has kept how far it came, to the topic's end: started anew it mirrors nothing twice.

    Gives the number of the partitions that it mirrors.
    """

    def observe() -> int | NotYet:
        found = [p for flow in lab.dedicated.positions().values() for p in flow if p.topic == topic]
        return len(found) if found and all(p.behind == 0 for p in found) else NotYet(str(found))

    return wait_until(
        observe,
        timeout_s=RECORDS_ARRIVE_S,
        what=f'offsets of all partitions of "{topic}"',
        transient=(ClusterError,),
        pause_s=0.5,
    )


def restart(lab: Lab) -> None:
    """MM2 reads its file when it starts. With a file that does not work it may end at once."""
    lab.project.stop("mirror-maker")
    with suppress(EngineError):
        lab.project.start("mirror-maker", timeout_s=SERVICES_HEALTHY_S)
