"""mm2 pause, resume, restart, stop, offsets: what a connector that is deployed does, and how far it got."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final

import typer

from lab.cli import console
from lab.cli.options import Connectors as Names
from lab.cli.options import Json, Name
from lab.errors import BadInput, nearest
from lab.harness import Lab
from lab.mm2 import Connector
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

    def act(lab: Lab, connector: str) -> Status:
        lab.connect.pause(connector)
        return lab.connect.wait_until_state(connector, "PAUSED")

    _each("pause", act, names, name, json=json)


def resume(names: Names = None, name: Name = None, json: Json = False) -> None:
    """Let paused or stopped connectors go on, and wait until their tasks run."""

    def act(lab: Lab, connector: str) -> Status:
        lab.connect.resume(connector)
        return lab.connectors.wait(Connector(name=connector, config=lab.connect.config(connector)))

    _each("resume", act, names, name, json=json)


def restart(names: Names = None, name: Name = None, json: Json = False) -> None:
    """Restart connectors and all their tasks, and wait until they run."""
    _each("restart", lambda lab, connector: lab.connectors.restart(connector), names, name, json=json)


def stop(names: Names = None, name: Name = None, json: Json = False) -> None:
    """End all tasks and keep config and position (workers of Kafka 3.5 or later)."""

    def act(lab: Lab, connector: str) -> Status:
        lab.connect.stop(connector)
        return lab.connect.wait_until_state(connector, "STOPPED")

    _each("stop", act, names, name, json=json)


def _each(
    doing: str,
    act: Callable[[Lab, str], Status],
    names: list[str] | None,
    name: str | None,
    *,
    json: bool,
) -> None:
    lab = Lab.attach(name)
    lab.topology.require_writable(f'"mm2 {doing}"')
    done: list[Status] = []
    steps = console.Steps()
    for connector in lab.connectors.named(names):
        with console.step(steps, f"{doing} {connector}"):
            done.append(act(lab, connector))
    console.show({"connectors": as_data(done)}, as_json=json, text=lambda: table(done))


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
