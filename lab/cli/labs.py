"""list, up, logs, exec, open, down, prune: labs as a whole."""

import re
import webbrowser
from typing import Annotated

import typer

from lab import engine, harness, leases, topology
from lab.cli import console
from lab.cli.options import KAFKA_HELP, Json, Name, TopologyName
from lab.errors import BadInput, LabError, nearest
from lab.harness import Endpoint, Lab, Wish
from lab.interruption import ignore_interruptions
from lab.mm2 import SOURCE, aliases_of, read_connector
from lab.mm2_names import together
from lab.wait import SERVICES_HEALTHY_S


def register(app: typer.Typer) -> None:
    app.command("list")(list_)
    for command in (up, logs, open_, down, prune):
        app.command(command.__name__.rstrip("_"))(command)
    app.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(
        exec_
    )


def list_(json: Json = False) -> None:
    """Show the topologies, and the labs that are up."""
    found = [topology.load(name) for name in topology.names()]
    up_now = {name: leases.leased(name) or {} for name in leases.names()}
    data = {
        "topologies": [
            {
                "name": t.name,
                "title": t.roles.title,
                "teaches": t.roles.teaches,
                "kafka": t.roles.kafka,
                "clusters": t.roles.clusters,
                "memory_bytes": t.memory_bytes,
                "connectors": list(t.connector_files()),
            }
            for t in found
        ],
        "labs": [{"name": name, "topology": lease.get("LAB_TOPOLOGY")} for name, lease in up_now.items()],
    }

    def text() -> None:
        rows = [(t.name, t.roles.title, t.roles.kafka, f"{t.memory_bytes / 2**30:.1f} GiB") for t in found]
        console.table("Topologies", ("name", "what it is", "Kafka", "memory at most"), rows, empty="none")
        console.line("")
        running = [
            (name, lease.get("LAB_TOPOLOGY", ""), lease.get("KAFKA_VERSION", ""))
            for name, lease in up_now.items()
        ]
        console.table("Labs", ("name", "topology", "Kafka"), running, empty="none is up")
        if not running:
            console.suggest("lab up basic-mirror", "starts one")

    console.show(data, as_json=json, text=text)


def up(
    name_of_topology: TopologyName,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="LAB", envvar="LAB_NAME", help="The lab's name; the topology's if not given."
        ),
    ] = None,
    kafka: Annotated[str | None, typer.Option("--kafka", metavar="VERSION", help=KAFKA_HELP)] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(
            "--port", metavar="SERVICE=PORT", help="A host port, e.g. broker=19092; may be repeated."
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything in place when it fails.")] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=1, max=86_400, metavar="SECONDS", help="How long services may take."),
    ] = SERVICES_HEALTHY_S,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            "--profile",
            metavar="PROFILE",
            help="Also a profile's services, e.g. spark-cluster; may be repeated.",
        ),
    ] = None,
    variable: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="VARIABLE=VALUE", help="E.g. LAB_REBALANCE_DELAY_MS=5000; may be repeated."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Start a lab, or bring a half-started one into shape. Doing it twice changes nothing."""
    wish = Wish(
        topology=name_of_topology,
        name=name,
        kafka=kafka,
        ports=tuple(port or ()),
        keep=keep,
        timeout_s=timeout,
        profiles=tuple(profile or ()),
        variables=dict(_assignment(text) for text in variable or ()),
    )
    lab = Lab.up(wish, console.Steps())
    ignore_interruptions()  # it is up: a late Ctrl-C would leave it so and say that it was interrupted
    _tell_up(lab, as_json=json)


def _tell_up(lab: Lab, *, as_json: bool) -> None:
    data = {
        "name": lab.name,
        "topology": lab.topology.name,
        "kafka": lab.kafka_version,
        "endpoints": lab.endpoints(),
    }

    def text() -> None:
        _endpoints(lab.endpoints())
        option = f" --name {lab.name}" if len(leases.names()) > 1 else ""
        connectors = [read_connector(path) for path in lab.topology.connector_files().values()]
        for connector in [c for c in connectors if c.connector_class == SOURCE][:1]:
            topic, sources = connector.topic_patterns[0], aliases_of(lab.topology, "source")
            cluster = f" --cluster {connector.source_alias}" if len(sources) > 1 else ""
            if re.fullmatch(r"[\w-]+", topic):
                console.suggest(f"lab produce {topic}{cluster}{option}", "writes 1,000 records")
            only = f" {connector.name}" if len(connectors) == 1 or cluster else ""
            alternatives = together(lab.topology.connector_files().values())
            if len(alternatives) > 1 and not only:
                only = f" {' '.join(alternatives[0])}"
            console.suggest(f"lab mm2 deploy{only}{option}", "starts mirroring")
        console.suggest(f"lab status{option}", "shows every cluster on one screen")

    console.show(data, as_json=as_json, text=text)


def _assignment(text: str) -> tuple[str, str]:
    variable, equals, value = text.partition("=")
    if not equals or not variable or "\n" in value:
        raise BadInput(f'"{text}" is not VARIABLE=VALUE', "e.g. --set LAB_REBALANCE_DELAY_MS=5000")
    return variable, value


def _endpoints(endpoints: list[Endpoint]) -> None:
    console.table(
        "Endpoints",
        ("service", "what", "address"),
        [(e.service, e.what, e.address) for e in endpoints],
        empty="none",
    )


def logs(
    service: Annotated[str, typer.Argument(metavar="SERVICE", help="A service of the lab, e.g. connect.")],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on printing.")] = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """Print a service's log."""
    lab = Lab.attach(name)
    lab.require_service(service)
    if follow and json:
        raise BadInput("--follow and --json exclude each other", "leave one of them out")
    if follow:
        raise typer.Exit(lab.project.attach("logs", "--follow", "--no-log-prefix", service))
    box = next((box for box in lab.containers() if box.service == service), None)
    if box is None:
        raise LabError(
            f'service "{service}" of lab "{lab.name}" has no container', '"lab status" shows what runs'
        )
    written = engine.logs(box.id)
    data = {"service": service, "log": written.splitlines()}
    console.show(data, as_json=json, text=lambda: console.raw(written))


def exec_(
    service: Annotated[str, typer.Argument(metavar="SERVICE", help="A service of the lab, e.g. broker.")],
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="What to run there.")],
    name: Name = None,
) -> None:
    """Run a command in a service's container, e.g. `lab exec broker kafka-topics --list …`."""
    lab = Lab.attach(name)
    lab.require_service(service)
    state = next((box.state for box in lab.containers() if box.service == service), "not there")
    if state != "running":
        raise LabError(
            f'service "{service}" of lab "{lab.name}" is {state}',
            f'"{lab.up_again}" brings it back; "lab logs {service}" shows what it wrote',
        )
    raise typer.Exit(lab.project.attach("exec", *console.terminal_option(), service, *command))


def open_(
    what: Annotated[
        str | None,
        typer.Argument(metavar="SERVICE", help="One with a web address; all are listed if not given."),
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Print a lab's addresses, and open one of them in a browser."""
    lab = Lab.attach(name)
    endpoints = lab.endpoints()
    if what is not None:
        endpoints = [e for e in endpoints if e.service == what]
        if not endpoints:
            raise BadInput(
                f'nothing to open as "{what}"', nearest(what, [e.service for e in lab.endpoints()])
            )
        if endpoints[0].address.startswith("http"):
            webbrowser.open(endpoints[0].address)
    console.show({"endpoints": endpoints}, as_json=json, text=lambda: _endpoints(endpoints))


def down(
    name: Name = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Remove nothing, only forget it: its Docker engine is no more.")
    ] = False,
    json: Json = False,
) -> None:
    """Remove a lab: containers, network, volumes, ports. Doing it twice is fine."""
    known = leases.names()
    if name is None and len(known) > 1:
        raise BadInput(f"several labs are up: {', '.join(known)}", "choose one with --name")
    chosen = name or (known[0] if known else None)
    end = harness.forget if forget else harness.bring_down
    removed = end(chosen) if chosen else None
    others = [each for each in known if each != chosen]

    def text() -> None:
        if removed:
            console.line(f"lab {chosen} is down: {removed} removed")
        elif chosen in known and forget:
            console.line(f"lab {chosen} is forgotten")
        elif chosen in known:
            console.line(f"lab {chosen} is down: it had no containers")
        elif chosen and others:
            console.line(f'nothing was up as "{chosen}"; up: {", ".join(others)}')
        else:
            console.line("nothing was up")

    console.show({"name": chosen, "removed": removed, "still_up": others}, as_json=json, text=text)


def prune(json: Json = False) -> None:
    """Remove ALL labs on this Docker engine, running ones too; touches nothing else."""
    removed = harness.prune()
    console.show(
        {"removed": removed},
        as_json=json,
        text=lambda: console.line(f"{removed} removed" if removed else "nothing to remove"),
    )
