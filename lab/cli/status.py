"""status: a lab on one screen, also when parts of it do not answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from lab.cli import console
from lab.cli.data import leaderless
from lab.cli.options import Json, Name
from lab.errors import LabError
from lab.harness import Lab
from lab.harness.overview import Overview, overview

if TYPE_CHECKING:
    from lab.kafka import Topic
    from lab.mm2_status import Status


def register(app: typer.Typer) -> None:
    app.command("status")(status)


def status(name: Name = None, json: Json = False) -> None:
    """Every cluster, connectors with their tasks, and topics with record counts, on one screen."""
    lab = Lab.attach(name)
    seen = overview(lab)
    silent = None
    if seen.errors:
        silent = LabError(
            f"not answering: {', '.join(seen.errors)}", '"lab logs SERVICE" or "lab diagnose" tells why'
        )
    console.show(_data(lab, seen), as_json=json, text=lambda: _text(lab, seen), error=silent)


def _data(lab: Lab, seen: Overview) -> dict[str, Any]:
    return {
        "name": lab.name,
        "topology": lab.topology.name,
        "kafka": lab.kafka_version,
        "services": seen.services,
        "endpoints": lab.endpoints(),
        "connectors": seen.connectors,
        "topics": {
            alias: [
                {
                    "name": t.name,
                    "partitions": t.partitions,
                    "replicas": t.replicas,
                    "leaderless": t.leaderless,
                    "records": t.count,
                    "internal": t.internal,
                }
                for t in found
            ]
            for alias, found in seen.topics.items()
        },
        "not_answering": seen.errors,
    }


def _text(lab: Lab, seen: Overview) -> None:
    known = "known by addresses" if lab.topology.roles.external else f"Kafka {lab.kafka_version}"
    console.line(f"lab {lab.name}: {lab.topology.roles.title} ({known})\n")
    addresses = {e.service: e.address for e in lab.endpoints()}
    what = {e.service: e.what for e in lab.endpoints()}
    rows = [
        (b.service, what.get(b.service, ""), b.health or b.state, addresses.get(b.service, ""))
        for b in seen.services
    ]
    console.table("Services", ("service", "what", "state", "address"), rows, empty="none")
    console.line("")
    for who, error in seen.errors.items():
        console.line(f"{who}: not answering: {error}")
    if seen.connectors is not None:
        _connectors(seen.connectors)
    for alias, found in seen.topics.items():
        console.line("")
        _topics(alias, found)


def _connectors(found: "Sequence[Status]") -> None:
    rows = [
        (
            c.name,
            c.connector_class,
            c.state,
            ", ".join(f"{t.id}: {t.state}" for t in c.tasks) or "none",
            c.topics,
        )
        for c in found
    ]
    console.table("Connectors", ("name", "class", "state", "tasks", "topics"), rows, empty="none is deployed")
    for connector in found:
        if connector.failure:
            console.line(f"  {connector.name}: {connector.failure}")


def _topics(alias: str, found: "Sequence[Topic]") -> None:
    shown = [(t.name, t.partitions, t.replicas, t.count) for t in found if not t.internal]
    hidden = len(found) - len(shown)
    title = f"Topics of {alias}" + (f" (and {hidden:,} internal)" if hidden else "")
    console.table(title, ("topic", "partitions", "replicas", "records"), shown, empty="none")
    leaderless(found)
