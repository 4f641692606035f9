"""Options that many commands share, and what a shell completes for them."""

from typing import Annotated

import typer

from lab import leases, topology


def _labs(incomplete: str) -> list[str]:
    return [name for name in leases.names() if name.startswith(incomplete)]


def _topologies(incomplete: str) -> list[str]:
    return [name for name in topology.names() if name.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Name = Annotated[
    str | None,
    typer.Option(
        "--name", envvar="LAB_NAME", help="The lab; needed when several are up.", autocompletion=_labs
    ),
]
TopologyName = Annotated[
    str, typer.Argument(metavar="TOPOLOGY", help='One of "lab list".', autocompletion=_topologies)
]
