"""Options that many commands share, and what a shell completes for them."""

import re
from typing import Annotated, Final

import typer

from lab import leases, topology
from lab.errors import BadInput
from lab.mm2_names import Names
from lab.project import versions


def _labs(incomplete: str) -> list[str]:
    return [name for name in leases.names() if name.startswith(incomplete)]


def _topologies(incomplete: str) -> list[str]:
    return [name for name in topology.names() if name.startswith(incomplete)]


def _connectors(context: typer.Context, incomplete: str) -> list[str]:
    """Files and source aliases of the lab that is named, or of the only one."""
    known = leases.names()
    name = context.params.get("name") or (known[0] if len(known) == 1 else "")
    if name not in known:
        return []
    lease = leases.leased(name) or {}
    names = Names.of(topology.load(lease["LAB_TOPOLOGY"]))
    return [known for known in (*names.files, *names.aliases) if known.startswith(incomplete)]


KAFKA_HELP: Final = f"Kafka's version, e.g. {versions()['KAFKA_VERSION']}, the default."
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="LAB",
        envvar="LAB_NAME",
        help="The lab; needed when several are up.",
        autocompletion=_labs,
    ),
]
Connectors = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        help="A connector, a JSON file, or a source cluster's alias for all of its connectors.",
        autocompletion=_connectors,
    ),
]
TopologyName = Annotated[
    str, typer.Argument(metavar="TOPOLOGY", help='One of "lab list".', autocompletion=_topologies)
]

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")


def seconds(text: str, *, unit: str = "") -> float:
    """A duration in seconds; `unit` is what a number without one is in, where that is allowed."""
    match = _DURATION.fullmatch(text + unit if text.isdecimal() else text)
    if match is None or float(match[1]) <= 0:
        raise BadInput(f'"{text}" is not a duration', "a positive number with s, m or h, e.g. 90s")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
