"""mm2 pause, resume, restart, stop, offsets: what a connector that is deployed does, and how far it got."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final

import typer

from lab.cli import console
from lab.cli.options import Connectors as Names
from lab.cli.options import Json, Name
from lab.errors import BadInput, LabError, nearest
from lab.harness import Lab
from lab.mm2_positions import Position
from lab.mm2_status import Status

_COLUMNS: Final = ("name", "state", "worker", "tasks")


def register(app: typer.Typer) -> None:
    for command in (pause, resume, restart, stop, offsets):
        app.command()(command)


def table(found: Sequence[Status], absent: Sequence[str] = ()) -> None:
    """One row per connector; errors below, since a column would fold them."""
    rows = [
        (s.name, s.state, s.worker, ", ".join(f"{t.id}: {t.state} on {t.worker}" for t in s.tasks) or "none")
        for s in found
    ]
    rows += [(name, "not deployed", "", "") for name in absent]
    console.table("Connectors", _COLUMNS, rows, empty="none is deployed")
    for status in found:
        if status.failure:
            console.line(f"{status.name}: {status.failure}")


def as_data(found: Sequence[Status]) -> list[dict[str, object]]:
    return [{**asdict(status), "failure": status.failure} for status in found]


def pause(names: Names = None, name: Name = None, json: Json = False) -> None:
    """Let tasks rest and keep them; what they had read is written before this ends."""
    lab, chosen = _chosen("pause", names, name)
    _each("pause", chosen, lab.connect.pause, _until(lab, "PAUSED"), json=json)


def resume(names: Names = None, name: Name = None, json: Json = False) -> None:
    """Let paused or stopped connectors go on, and wait until their tasks run."""
    lab, chosen = _chosen("resume", names, name)
    _each("resume", chosen, lab.connect.resume, lab.connectors.wait_for, json=json)


def restart(names: Names = None, name: Name = None, json: Json = False) -> None:
    """Restart connectors and all their tasks, and wait until they run."""
    lab, chosen = _chosen("restart", names, name)
    resting = {status.name: status for status in lab.statuses() if status.at_rest and status.name in chosen}
    for status in resting.values():
        if names:
            raise BadInput(
                f'connector "{status.name}" is {status.state}, and a restart leaves it so',
                f'"lab mm2 resume {status.name}" lets it go on',
            )
        console.remark(f"{status.name} is {status.state} and is left so")
    awake = [connector for connector in chosen if connector not in resting]
    wait = lab.connectors.wait_for
    _each("restart", awake, lab.connectors.restart, wait, others=[*resting.values()], json=json)


def stop(names: Names = None, name: Name = None, json: Json = False) -> None:
    """End all tasks and keep config and position (workers of Kafka 3.5 or later)."""
    lab, chosen = _chosen("stop", names, name)
    _each("stop", chosen, lab.connect.stop, _until(lab, "STOPPED"), json=json)


def _chosen(doing: str, names: list[str] | None, name: str | None) -> tuple[Lab, list[str]]:
    lab = Lab.attach(name)
    lab.topology.require_writable(f'"mm2 {doing}"')
    return lab, lab.connectors.named(names)


def _until(lab: Lab, state: str) -> Callable[[str], Status]:
    return lambda connector: lab.connect.wait_until_state(connector, state)


def _each(
    doing: str,
    chosen: Sequence[str],
    act: Callable[[str], None],
    wait: Callable[[str], Status],
    *,
    others: Sequence[Status] = (),
    json: bool,
) -> None:
    """All are asked first, so that they get there side by side; one that does not keeps no other from it."""
    failed: list[LabError] = []
    asked: list[str] = []
    for connector in chosen:
        with console.noted(failed):
            act(connector)
            asked.append(connector)
    done = [*others]
    steps = console.Steps()
    for connector in asked:
        with console.noted(failed), console.step(steps, f"{doing} {connector}"):
            done.append(wait(connector))
    console.show(
        {"connectors": as_data(done)},
        as_json=json,
        text=lambda: table(done) if done or not failed else None,
        error=console.first_of(failed),
    )


def offsets(
    names: Names = None,
    reset: Annotated[
        bool, typer.Option("--reset", help="Forget them: a stopped connector then mirrors everything again.")
    ] = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """What Connect has committed per source partition, beside the source's end (Kafka 3.5 or later)."""
    lab = Lab.attach(name)
    if reset:
        _reset(lab, names)
    found = _positions(lab, names)

    def shown(position: Position) -> dict[str, object]:
        return {**vars(position), "behind": position.behind}

    def text() -> None:
        for connector, its in found.items():
            if its is None:
                console.line(f"{connector}: keeps no position; only source connectors do")
                continue
            rows = [
                (p.topic, p.partition, *("-" if o is None else o for o in (p.committed, p.end, p.behind)))
                for p in its
            ]
            columns = ("topic", "partition", "committed", "source's end", "behind")
            console.table(connector, columns, rows, empty="nothing committed and no partition mirrored")
        console.suggest("lab lag", "counts records exactly; this is as of Connect's last offset.flush")

    data = {connector: None if its is None else [shown(p) for p in its] for connector, its in found.items()}
    console.show({"connectors": data}, as_json=json, text=text)


def _positions(lab: Lab, names: list[str] | None) -> Mapping[str, list[Position] | None]:
    """Of connectors; of a dedicated MM2, which has one source connector in each, of flows."""
    if not lab.topology.mirror_makers:
        return {connector: lab.connectors.positions(connector) for connector in lab.connectors.named(names)}
    flows = lab.dedicated.positions()
    for name in names or ():
        if name not in flows:
            raise BadInput(f'no flow "{name}"', nearest(name, list(flows)))
    return {flow: its for flow, its in flows.items() if not names or flow in names}


def _reset(lab: Lab, names: list[str] | None) -> None:
    lab.topology.require_writable("resetting offsets")
    if not names:
        raise BadInput(
            "--reset forgets how far a connector got: name it", "e.g. lab mm2 offsets NAME --reset"
        )
    asked = lab.connectors.named(names)
    for connector in asked:
        state = lab.connect.status(connector).state
        if state != "STOPPED":
            raise BadInput(
                f'connector "{connector}" is {state}; only a stopped one\'s offsets can be reset',
                f'"lab mm2 stop {connector}" first, and "lab mm2 resume {connector}" afterwards',
            )
    for connector in asked:
        lab.connect.reset_offsets(connector)
