"""mm2 deploy, undeploy, status, validate: connectors as commands."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import console
from lab.cli.options import Json, Name
from lab.connect import Status
from lab.errors import BadInput, LabError, nearest
from lab.harness import Lab
from lab.mm2 import Connector, Problem, Severity, nothing_to_mirror, problems, read_connector

app = typer.Typer(no_args_is_help=True)


def register(program: typer.Typer) -> None:
    program.add_typer(app, name="mm2", help="MM2's connectors on Connect.")


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="A connector of the topology or a JSON file; all of the topology's if not given.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the file; KEY= takes it away."),
]


@app.command()
def deploy(
    names: Names = None,
    changes: Set = None,
    force: Annotated[
        bool, typer.Option("--force", help="Deploy although validation objects, and wait for nothing.")
    ] = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """Validate connectors, PUT them to Connect and wait until their tasks run."""
    lab = Lab.attach(name)
    lab.topology.require_writable("deploying connectors")
    steps = console.Steps()
    chosen = _chosen(lab, names, changes)
    if not force:
        for connector in chosen:
            _refuse(connector, _problems(lab, connector))
    deployed: list[Status] = []
    for connector in chosen:
        with console.step(steps, f"deploy {connector.name}"):
            deployed.append(lab.deploy(connector, wait=not force))
    console.show({"connectors": deployed}, as_json=json, text=lambda: _table(deployed))
    if not json:
        first = chosen[0]
        topic = first.config.get("topics", "").split(",")[0]
        if topic.isidentifier():
            console.suggest(
                f"lab consume {first.remote_topic(topic)} --cluster {first.target_alias}",
                "reads what arrives",
            )


@app.command()
def undeploy(names: Names = None, name: Name = None, json: Json = False) -> None:
    """Delete connectors from Connect; one that is not there is said, not an error."""
    lab = Lab.attach(name)
    lab.topology.require_writable("undeploying connectors")
    there = lab.connect.names()
    asked = [_name(lab, text) for text in names or lab.topology.connector_files()]
    for connector in asked:
        if connector in there:
            lab.connect.delete(connector)
    data = {"undeployed": [n for n in asked if n in there], "not_there": [n for n in asked if n not in there]}

    def text() -> None:
        for connector in asked:
            console.line(f"{connector} {'undeployed' if connector in there else 'was not deployed'}")

    console.show(data, as_json=json, text=text)


@app.command()
def status(name: Name = None, json: Json = False) -> None:
    """What the worker says of each connector and task. It is no evidence that records arrive."""
    found = Lab.attach(name).connect.statuses()
    console.show({"connectors": found}, as_json=json, text=lambda: _table(found))


@app.command()
def validate(names: Names = None, changes: Set = None, name: Name = None, json: Json = False) -> None:
    """Ask the worker, then look for what it misses: keys nobody knows, records in the wrong cluster, …"""
    lab = Lab.attach(name)
    found = {connector.name: _problems(lab, connector) for connector in _chosen(lab, names, changes)}

    def text() -> None:
        for connector, its in found.items():
            if not its:
                console.line(f"{connector}: nothing to object to")
            for problem in its:
                console.line(
                    f"{connector}: {problem.severity}: {problem.key}: {problem.message}\n    {problem.remedy}"
                )

    console.show({"connectors": found}, as_json=json, text=text)
    if any(problem.severity is Severity.ERROR for its in found.values() for problem in its):
        raise typer.Exit(1)


def _chosen(lab: Lab, names: list[str] | None, changes: list[str] | None) -> list[Connector]:
    overrides: dict[str, str | None] = {}
    for change in changes or ():
        key, equals, value = change.partition("=")
        if not equals or not key:
            raise BadInput(
                f'"{change}" is not KEY=VALUE', "e.g. --set tasks.max=2, or --set tasks.max= to take it away"
            )
        overrides[key] = value or None
    files = lab.topology.connector_files()
    chosen = []
    for text in names or list(files):
        path = files.get(text) or Path(text)
        if text not in files and not path.is_file():
            raise BadInput(f'no connector and no file named "{text}"', nearest(text, list(files)))
        chosen.append(read_connector(path).with_overrides(overrides))
    if not chosen:
        raise BadInput(f'topology "{lab.topology.name}" has no connector files', "name a JSON file")
    return chosen


def _name(lab: Lab, text: str) -> str:
    """A connector's own name, whether it was given by name or by file."""
    path = lab.topology.connector_files().get(text) or Path(text)
    return read_connector(path).name if path.is_file() else text


def _problems(lab: Lab, connector: Connector) -> list[Problem]:
    own = problems(connector, lab.topology)
    if connector.source_alias in lab.topology.roles.clusters:
        own += nothing_to_mirror(connector, lab.cluster(connector.source_alias).topic_names())
    objections = lab.connect.validate(connector)
    return [
        *(
            Problem(severity=Severity.ERROR, key=o.key, message=o.message, remedy="the worker refuses it")
            for o in objections
        ),
        *own,
    ]


def _refuse(connector: Connector, found: list[Problem]) -> None:
    errors = [problem for problem in found if problem.severity is Severity.ERROR]
    if errors:
        first, more = errors[0], len(errors) - 1
        others = f' (and {more} more: "lab mm2 validate {connector.name}")' if more else ""
        raise LabError(
            f'connector "{connector.name}": {first.key}: {first.message}{others}',
            f"{first.remedy}; --force deploys it all the same",
        )


def _table(statuses: list[Status]) -> None:
    rows = [
        (s.name, s.state, ", ".join(f"{t.id} {t.state}" for t in s.tasks) or "none", s.failure or "")
        for s in statuses
    ]
    console.table("Connectors", ("name", "state", "tasks", "error"), rows, empty="none is deployed")
