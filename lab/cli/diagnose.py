"""diagnose: what is wrong with an MM2 that does not do what it should, the likeliest first."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import past_runs
from lab.cli import console
from lab.cli.options import Json, Name
from lab.cli.runs import run_names
from lab.diagnose import RULES, Finding, Observation
from lab.diagnose import diagnose as judge
from lab.errors import BadInput, NotEnough
from lab.harness import Lab
from lab.harness.observing import observe, read_logs, read_run

_WIDTH = 400  # of a line of a log: traces' causes may be long


def register(app: typer.Typer) -> None:
    app.command()(diagnose)


def diagnose(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Look at what a run saved, not at a running lab.",
            autocompletion=run_names,
        ),
    ] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option(
            "--log", metavar="FILE", help="Look at the log of an MM2 that runs elsewhere; may be repeated."
        ),
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Look at logs, connectors, topics, groups and settings, and say what is wrong and what mends it."""
    # a name may also come from LAB_NAME, which is about other commands
    source = context.get_parameter_source("name")
    named = source is not None and source.name == "COMMANDLINE"
    if sum((run is not None, bool(log), named)) > 1:
        raise BadInput("--run, --log and --name exclude each other", "choose one of them")
    lab = None if run is not None or log else Lab.attach(name)
    seen = _saved(run, log) if lab is None else observe(lab)
    if not seen.anything:
        raise NotEnough(
            "there is no MM2 to look at: no worker, no connector", '"lab mm2 deploy" deploys what a lab has'
        )
    found = judge(seen)
    if log and not found and not any(e.level for service in seen.services for e in service.entries):
        raise NotEnough(
            f'"{", ".join(map(str, log))}" has no line of a Kafka log',
            "give the log of the Connect worker or of MM2",
        )
    # A command without a name starts a lab of the topology's name, or means the only lab that is up.
    option = f" --name {lab.name}" if lab and (name or lab.name != lab.topology.name) else ""
    data: dict[str, Any] = {
        "findings": [{**asdict(one), "likelihood": one.likelihood.word} for one in found],
        "looked_at": _looked_at(seen),
    }
    console.show(data, as_json=json, text=lambda: _text(seen, found, option))
    if lab is not None and not found and not json:
        if seen.deployed:
            console.suggest(f"lab verify TOPIC{option}", "proves what arrived")
        else:
            console.suggest(
                f"lab mm2 deploy{option}", "deploys a connector: there is none, and nothing is mirrored"
            )
    if found:
        raise typer.Exit(1)


def _saved(run: str | None, log: list[Path] | None) -> Observation:
    return read_logs(log) if log else read_run(past_runs.find(str(run)).folder)


def _looked_at(seen: Observation) -> dict[str, int]:
    return {
        "rules": len(RULES),
        "connectors": len(seen.deployed),
        "services": len(seen.services),
        "log_entries": sum(len(service.entries) for service in seen.services),
        "clusters": sum(not cluster.error for cluster in seen.clusters.values()),
    }


def _text(seen: Observation, found: list[Finding], option: str) -> None:
    for number, one in enumerate(found, 1):
        console.line(f"{number}. {one.what} ({one.likelihood.word}; {one.rule})")
        for evidence in one.evidence:
            shown = evidence if len(evidence) <= _WIDTH else f"{evidence[:_WIDTH]}…"
            console.line(f"   seen: {shown}")
        console.line(f"   do:   {one.remedy}")
        for command in one.commands:
            console.line(f"         {command}{option}")
    looked = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in _looked_at(seen).items())
    if not found:
        console.line(f"nothing found ({looked})")
    for cluster in seen.clusters.values():
        if cluster.error:
            console.line(f"not looked at: {cluster.error}")
