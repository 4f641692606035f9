"""mm2 deploy, undeploy, redeploy, set, status, validate, diff: connectors as commands."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from lab.cli import console, mm2_export, mm2_states
from lab.cli.options import Connectors as Names
from lab.cli.options import Json, Name
from lab.errors import BadInput, LabError
from lab.harness import Lab
from lab.mm2 import Connector, Problem, Severity, read_connector
from lab.mm2_names import Names as ConnectorNames
from lab.mm2_plan import Plan, differences
from lab.mm2_status import Status
from lab.words import counted

app = typer.Typer(no_args_is_help=True)
mm2_states.register(app)
mm2_export.register(app)


def register(program: typer.Typer) -> None:
    program.add_typer(
        app, name="mm2", help="MM2's connectors on Connect: deploy, validate, change, pause, export them."
    )


Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the file; KEY= takes it away."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Deploy although validation objects, and wait for nothing.")
]


@app.command()
def deploy(
    names: Names = None, changes: Set = None, force: Force = False, name: Name = None, json: Json = False
) -> None:
    """Validate connectors, PUT those that differ from their files, and wait until their tasks run."""
    lab = Lab.attach(name)
    lab.topology.require_writable("deploying connectors")
    chosen = _chosen(lab, names, changes)
    if not force:
        _refuse(lab.connectors.problems(chosen))
    _deploy(lab, chosen, force=force, json=json)


@app.command()
def undeploy(names: Names = None, name: Name = None, json: Json = False) -> None:
    """Delete connectors from Connect; one that is not there is a warning, not an error."""
    lab = Lab.attach(name)
    lab.topology.require_writable("undeploying connectors")
    gone, absent = _undeploy(lab, lab.connectors.names.connectors(names, lab.connect.names()))

    def text() -> None:
        for connector in gone:
            console.line(f"{connector}: undeployed")
        for connector in absent:
            console.line(f"warning: {connector} was not deployed")

    console.show({"undeployed": gone, "not_there": absent}, as_json=json, text=text)


@app.command()
def redeploy(
    names: Names = None, changes: Set = None, force: Force = False, name: Name = None, json: Json = False
) -> None:
    """Delete connectors and deploy them again; they go on from where Connect last committed."""
    lab = Lab.attach(name)
    lab.topology.require_writable("redeploying connectors")
    chosen = _chosen(lab, names, changes)
    if not force:
        _refuse(lab.connectors.problems(chosen))
    _undeploy(lab, [connector.name for connector in chosen])
    _deploy(lab, chosen, force=force, json=json)


@app.command("set")
def set_(
    connector: Annotated[str, typer.Argument(metavar="NAME", help="A connector that is deployed.")],
    changes: Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="KEY= takes a key away.")],
    force: Force = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """Change keys of a connector as it is deployed, whatever its file says, and wait until it runs."""
    lab = Lab.attach(name)
    lab.topology.require_writable("changing connectors")
    overrides = _overrides(changes)
    chosen, *others = lab.connectors.named([connector])
    if others:
        raise BadInput(
            f'"{connector}" is {1 + len(others)} connectors: {", ".join((chosen, *others))}',
            "name one of them",
        )
    before = Connector(name=chosen, config=lab.connect.config(chosen))
    after = before.with_overrides(overrides)
    if not force:
        _refuse({chosen: lab.connectors.introduced(before, after)})
    _deploy(lab, [after], force=force, json=json)


@app.command()
def status(names: Names = None, name: Name = None, json: Json = False) -> None:
    """What the workers say of each connector and task. It is no evidence that records arrive."""
    lab = Lab.attach(name)
    there = {status.name: status for status in lab.statuses()}
    asked = ConnectorNames.of(lab.topology).connectors(names, there) if names else list(there)
    found = [there[one] for one in asked if one in there]
    absent = [one for one in asked if one not in there]
    data = {"connectors": mm2_states.as_data(found), "not_there": absent}
    console.show(data, as_json=json, text=lambda: mm2_states.table(found, absent))


@app.command()
def validate(names: Names = None, changes: Set = None, name: Name = None, json: Json = False) -> None:
    """Ask the worker, then look for what it misses: wrong cluster, replicas, converters, loops, …"""
    lab = Lab.attach(name)
    found = lab.connectors.problems(_chosen(lab, names, changes))

    def text() -> None:
        for connector, its in found.items():
            if not its:
                console.line(f"{connector}: nothing to object to")
            for problem in its:
                console.line(
                    f"{connector}: {problem.severity}: {problem.key}: {problem.message}\n    {problem.remedy}"
                )

    console.show({"connectors": found}, as_json=json, text=text)
    if any(_errors(its) for its in found.values()):
        raise typer.Exit(1)


@app.command()
def diff(names: Names = None, changes: Set = None, name: Name = None, json: Json = False) -> None:
    """Where a connector's file and its config on the workers differ; exit code 1 if they do."""
    lab = Lab.attach(name)
    chosen, live = _chosen(lab, names, changes), lab.connect.deployed()
    found = {c.name: differences(c, live[c.name].config) for c in chosen if c.name in live}
    absent = [connector.name for connector in chosen if connector.name not in live]
    shown = {
        connector: [dict(zip(("key", "file", "live"), (d.key, *d.shown), strict=True)) for d in its]
        for connector, its in found.items()
    }

    def text() -> None:
        for connector, its in found.items():
            rows = [(d.key, *d.shown) for d in its]
            console.table(connector, ("key", "file", "deployed"), rows, empty="as in its file")
        for connector in absent:
            console.line(f"{connector}: not deployed")

    console.show({"connectors": shown, "not_there": absent}, as_json=json, text=text)
    if absent or any(found.values()):
        raise typer.Exit(1)


def _chosen(lab: Lab, names: list[str] | None, changes: list[str] | None) -> list[Connector]:
    overrides = _overrides(changes or ())
    chosen = [read_connector(path).with_overrides(overrides) for path in lab.connectors.names.paths(names)]
    if not chosen:
        raise BadInput(f'topology "{lab.topology.name}" has no connector files', "name a JSON file")
    return chosen


def _overrides(changes: Sequence[str]) -> dict[str, str | None]:
    overrides: dict[str, str | None] = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key:
            raise BadInput(f'"{change}" is not KEY=VALUE', "e.g. tasks.max=2, or tasks.max= to take it away")
        overrides[key] = value or None
    return overrides


def _undeploy(lab: Lab, asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that are gone now, and those that were not there."""
    there = lab.connect.names()
    steps = console.Steps()
    for connector in asked:
        if connector in there:
            with console.step(steps, f"undeploy {connector}"):
                lab.connect.delete(connector)
                lab.connect.wait_until_gone(connector)
    return [c for c in asked if c in there], [c for c in asked if c not in there]


def _deploy(lab: Lab, chosen: Sequence[Connector], *, force: bool, json: bool) -> None:
    """All are begun before any is waited for, so that they start side by side."""
    steps = console.Steps()
    failed: list[LabError] = []
    begun: list[Plan] = []
    for plan in lab.connectors.plans(chosen):
        with console.noted(failed):
            lab.connectors.carry_out(plan)
            begun.append(plan)
    rows: list[tuple[Plan, Status | None, str]] = []
    for plan in begun:
        connector = plan.connector
        if force:
            rows.append((plan, None, "not waited for"))
            continue
        with console.noted(failed):
            with console.step(steps, f"{connector.name} runs"):
                running = lab.connectors.wait(connector, changed=plan.changed)
            note = "" if running.tasks else (lab.connectors.why_idle(connector) or "")
            rows.append((plan, running, note))
    data = [
        {
            **(asdict(running) if running else {"name": plan.connector.name}),
            "done": plan.said,
            "changed": plan.changed,
            "note": note,
        }
        for plan, running, note in rows
    ]

    def text() -> None:
        for plan, running, note in rows:
            tasks = "" if running is None else f" ({counted(len(running.tasks), 'task')})"
            console.line(f"{plan.connector.name}: {plan.said}{tasks}" + (f"; {note}" if note else ""))
        if not failed:
            _suggest(chosen)

    console.show({"connectors": data}, as_json=json, text=text, error=console.first_of(failed))


def _suggest(chosen: Sequence[Connector]) -> None:
    for connector in chosen:
        topic = connector.config.get("topics", "").split(",")[0]
        if topic.isidentifier():
            console.suggest(
                f"lab consume {connector.remote_topic(topic)} --cluster {connector.target_alias}",
                "reads what arrives",
            )
            return


def _errors(found: Sequence[Problem]) -> list[Problem]:
    return [problem for problem in found if problem.severity is Severity.ERROR]


def _refuse(found: Mapping[str, Sequence[Problem]]) -> None:
    """Before any of them is deployed."""
    for connector, its in found.items():
        if errors := _errors(its):
            first = errors[0]
            more = [key for key in dict.fromkeys(problem.key for problem in errors) if key != first.key]
            others = f" (also: {', '.join(more)})" if more else ""
            raise BadInput(
                f'connector "{connector}": {first.key}: {first.message}{others}',
                f"{first.remedy}; --force deploys it all the same",
            )
