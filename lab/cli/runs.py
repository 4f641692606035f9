"""runs, report: what earlier commands, scenarios and verifications left behind."""

import webbrowser
from datetime import UTC
from typing import Annotated, Any

import typer

from lab import past_runs
from lab.cli import console
from lab.cli.options import Json
from lab.past_runs import PastRun
from lab.verify import report as pages


def register(app: typer.Typer) -> None:
    app.command()(runs)
    app.command()(report)


def run_names(incomplete: str) -> list[str]:
    return [
        name
        for name in (past_runs.LAST, *(run.name for run in past_runs.all_runs()))
        if name.startswith(incomplete)
    ]


def runs(
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="How many to show.")] = 20,
    json: Json = False,
) -> None:
    """Show what was run, the newest first: when, what, how it ended, and where its evidence lies."""
    found = past_runs.all_runs()
    shown = found[:limit]
    data = {"runs": [_summary(run) for run in shown], "left_off": len(found) - len(shown)}

    def text() -> None:
        rows = [
            (_when(run), run.what, _first_line(run.outcome), _took(run.seconds), run.name) for run in shown
        ]
        console.table("Runs", ("when", "what", "outcome", "seconds", "folder"), rows, empty="none yet")
        if len(found) > len(shown):
            console.line(f"{len(found) - len(shown):,} older ones; --limit shows more")
        if shown:
            console.suggest(f"lab report {past_runs.LAST}", "shows what the newest one saved")

    console.show(data, as_json=json, text=text)


def report(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help='A folder of "lab runs", its beginning, or "last".', autocompletion=run_names
        ),
    ],
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    json: Json = False,
) -> None:
    """Write a verification's HTML page from what it saved; of any other run, show steps and files."""
    found = past_runs.find(run)
    written = [pages.write(verdict) for verdict in found.verdicts]
    if show:
        for page in written:
            webbrowser.open(page.as_uri())
    data = _summary(found) | {"pages": written, "steps": found.steps, "files": found.files}

    def text() -> None:
        for page in written:
            console.line(str(page))
        if not written:
            _evidence(found)

    console.show(data, as_json=json, text=text)


def _evidence(run: PastRun) -> None:
    took = f" after {run.seconds:,.1f} s" if run.seconds is not None else ""
    console.line(f"{run.what}: {run.outcome}{took}")
    console.line(f"{run.folder}")
    console.line("")
    steps = [(step.name, _took(step.seconds), _first_line(step.outcome), step.note) for step in run.steps]
    console.table("Steps", ("step", "seconds", "outcome", "note"), steps, empty="none ended")
    console.line("")
    console.table("Files", ("file", "bytes"), list(run.files.items()), empty="none")


def _summary(run: PastRun) -> dict[str, Any]:
    return {
        "name": run.name,
        "what": run.what,
        "started": run.started.isoformat() if run.started else None,
        "outcome": run.outcome,
        "seconds": run.seconds,
        "folder": run.folder,
    }


def _when(run: PastRun) -> str:
    return f"{run.started.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if run.started else "?"


def _took(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:,.1f}"


def _first_line(outcome: str) -> str:
    """An error's first line, shortened: a table is for finding the run, its report for reading it."""
    first = outcome.partition("\n")[0]
    return first if len(first) <= 60 else f"{first[:59]}…"
