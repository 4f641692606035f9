"""A lab is broken on purpose: a fault as a block of a scenario, and what a fault in force forbids.

Faults are imported where they are used: they load every client, which `up` need not wait for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lab import images, leases
from lab.errors import BadInput, LabError
from lab.harness.parts import Parts
from lab.interruption import uninterruptible
from lab.run import Run

if TYPE_CHECKING:
    from lab.faults import Fault, Injected


def inject(lab: Parts, fault: Fault, *, limit_s: float, run: Run) -> Injected:
    """Make a fault and prove it, once what it runs in has been built."""
    from lab import faults

    if not lab.topology.services or lab.topology.roles.external:
        raise BadInput(f'lab "{lab.name}" did not start its clusters', "faults hit what the lab has started")
    for image in {*fault.images}:
        if not (tool := images.tool(image)).is_current():
            with run.step(f"build image {tool.tag}") as step:
                images.build(tool, step.say)
    with run.step(f"inject {fault.name}") as step:
        injected = faults.inject(lab, fault, limit_s=limit_s)
        step.note = injected.proof
    return injected


@contextmanager
def injected(lab: Parts, fault: Fault, *, limit_s: float, run: Run) -> Iterator[Injected]:
    """A fault for as long as the block; at its end it is proved once more, and undone in any case."""
    broken = inject(lab, fault, limit_s=limit_s, run=run)
    try:
        yield broken
        with run.step(f"still in force: {broken.what}") as step:
            step.note = broken.prove()
    except BaseException as error:
        with uninterruptible():
            try:
                end(broken, run)
            except LabError as left:  # the time limit goes on trying; what ended the block is told
                error.add_note(f'fault "{broken.what}" is not undone: {left}')
        raise
    with uninterruptible():
        end(broken, run)


def end(broken: Injected, run: Run) -> None:
    """Undo a fault; what its journal says of it stays with the run."""
    with run.step(f"heal {broken.what}") as step:
        step.note = broken.heal("end of the block")
    run.save(f"faults/{broken.id}.jsonl", broken.entry.path.read_bytes())


def heal(lab: Parts, who: str) -> list[dict[str, Any]]:
    """Undo what an open journal says."""
    from lab import faults

    with uninterruptible():
        return [{"id": e.id, "what": e.what, "proof": by} for e, by in faults.heal(lab, who)]


@contextmanager
def healed_around(lab: Parts, run: Run) -> Iterator[None]:
    """A lab is not brought into shape around a fault; what only a running one lets undo is undone then."""
    from lab import faults

    if not _were_any(lab.name) or not _open(lab.name):
        yield
        return
    with run.step("clear faults away") as step, uninterruptible():
        try:
            step.note = ", ".join(entry.what for entry in faults.clear(lab.name))
        except LabError as error:
            step.note = error.message
    yield
    with run.step("what was broken is whole again") as step:
        step.note = ", ".join(found["what"] for found in heal(lab, "lab up"))
        faults.wait_until_in_sync(lab)


def spans(lab: str, series: dict[str, list[list[int]]]) -> list[dict[str, Any]]:
    """For a report: the faults since the first record that it draws."""
    from lab import faults

    seconds = [at for points in series.values() for at, *_ in points]
    if not seconds or not _were_any(lab):
        return []
    found = faults.spans(lab, since=min(seconds))
    return [{"name": span.name, "from": span.begin, "to": span.end} for span in found]


def require_whole(lab: str, doing: str) -> None:
    """Before what a fault in force would spoil."""
    if _were_any(lab) and (found := _open(lab)):
        raise BadInput(
            f'{doing} while a fault may be in force in lab "{lab}": {", ".join(found)}',
            f'"lab fault heal --name {lab}" undoes it',
        )


def _were_any(lab: str) -> bool:
    return leases.faults_folder(lab).is_dir()


def _open(lab: str) -> list[str]:
    from lab import faults

    return [entry.what for entry in faults.open_entries(lab)]
