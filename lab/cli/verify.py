"""verify: what MM2 did with every record of a topic, as a table of verdicts."""

import json as json_
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import console
from lab.cli.options import Json, Name
from lab.errors import BadInput, Interrupted, nearest
from lab.harness import Lab, breaking
from lab.harness.no_verdict import no_verdict_if_it_fails
from lab.run import Run
from lab.verify.verdict import Outcome, Verdict
from lab.wait import RECORDS_ARRIVE_S

if TYPE_CHECKING:
    from lab.kafka import Cluster
    from lab.verify.verification import Judged


def register(app: typer.Typer) -> None:
    app.command("verify")(verify)


def verify(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="The topic, by its name in the source cluster.")
    ],
    checks: Annotated[
        str | None,
        typer.Option(
            metavar="CHECKS", help="Only these, separated by commas, and reading; all if not given."
        ),
    ] = None,
    allow_duplicates: Annotated[
        bool,
        typer.Option("--allow-duplicates", help="Records that arrive twice are counted and do not fail."),
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="ALIAS", help="Its source, where several have a topic of that name."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="ALIAS", help="Its target, where it is mirrored to several."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(min=1, max=86_400, metavar="SECONDS", help="How long the target may take to catch up."),
    ] = RECORDS_ARRIVE_S,
    name: Name = None,
    json: Json = False,
) -> None:
    """Let Spark judge what MM2 did with every record of a topic.

    Exit code 0 PASS, 1 FAIL and nothing else, 3 UNKNOWN, or no verdict since something failed.
    """
    doing = f'verifying "{topic}"'
    with no_verdict_if_it_fails(doing):
        lab = Lab.attach(name)
        wanted = _known(checks)
        source = _source(lab, topic, cluster, target)
        lab.run = run = Run.open(f"verify-{topic}", console.Steps(), topology=lab.topology.name, lab=lab.name)
    try:
        with no_verdict_if_it_fails(doing, run), run.step(f'verify "{topic}"') as step:
            judged = lab.verify(
                topic,
                source=source.alias,
                target=target,
                only=wanted,
                allow_duplicates=allow_duplicates,
                timeout_s=timeout,
                say=step.say,
            )
            step.note = judged.outcome
    except KeyboardInterrupt as interruption:
        run.close("interrupted")
        raise Interrupted(f"{doing} was interrupted", "nothing was changed; verify again") from interruption
    except BaseException as error:
        run.close(f"failed: {error}" if str(error) else f"failed: {type(error).__name__}")
        raise
    with no_verdict_if_it_fails(doing, run):
        run.close(judged.outcome)
        _show(topic, judged, run, as_json=json)
    raise typer.Exit(judged.outcome.exit_code)


def _source(lab: Lab, topic: str, cluster: str | None, target: str | None) -> "Cluster":
    """The cluster that has the topic, once it is clear that there is something to judge."""
    breaking.require_whole(lab.name, f'verifying "{topic}"')
    for alias in filter(None, (cluster, target)):
        lab.cluster(alias)
    source, _ = lab.ends(lab.flows.mirroring(topic, source=cluster, target=target))
    if not source.has_topic(topic):
        raise BadInput(f'cluster "{source.alias}" has no topic "{topic}"', '"lab topics" lists them')
    return source


def _show(topic: str, judged: "Judged", run: Run, *, as_json: bool) -> None:
    data = {
        "outcome": judged.outcome,
        "source": judged.source,
        "target": judged.target,
        "run": str(run.path),
        "file": judged.saved,
        "verdicts": judged.verdicts,
        "stages": judged.stages,
        "notes": judged.notes,
    }

    def text() -> None:
        console.table(
            f"What MM2 did with {topic}, {judged.source} → {judged.target}",
            ("check", "verdict", "what it means"),
            [(v.check, v.outcome, v.meaning) for v in judged.verdicts], empty="no checks",
        )  # fmt: skip
        for verdict in judged.verdicts:
            _first(verdict)
        for note in judged.notes:
            console.line(f"\n{note}")
        page = judged.saved.with_suffix(".html") if judged.saved else run.path
        console.line(f"\n{judged.outcome}; with plots in {page}")

    console.show(data, as_json=as_json, text=text)


def _known(checks: str | None) -> list[str] | None:
    from lab.verify.verification import (
        check_names,  # loads Spark's client, which most mistakes need not wait for
    )

    wanted = [part.strip() for part in checks.split(",")] if checks else None
    for check in wanted or ():
        if check not in check_names():
            raise BadInput(f'no check named "{check}"', nearest(check, check_names()))
    return wanted


def _first(verdict: Verdict) -> None:
    """The first coordinates of what is not PASS."""
    if verdict.outcome is not Outcome.PASS and verdict.first:
        console.line(f"\n{verdict.check}, first of them:")
        for coordinates in verdict.first[:5]:
            console.line(f"    {json_.dumps(coordinates)}")
