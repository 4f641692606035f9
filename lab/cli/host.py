"""doctor and images: what the lab needs of this machine."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from lab import images, leases, setup, topology
from lab.cli import console
from lab.cli.options import KAFKA_HELP, Json
from lab.errors import HostNotReady
from lab.harness import build_images
from lab.project import kafka_version
from lab.setup import Status, Wanted

images_app = typer.Typer(invoke_without_command=True)


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)
    app.add_typer(images_app, name="images", help="Build the lab's images, or carry them to other machines.")


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended: on Debian, as root.")] = False,
    json: Json = False,
) -> None:
    """Check whether this machine can run the lab, and say what mends what is missing."""
    largest = max((topology.load(name) for name in topology.names()), key=lambda t: t.memory_bytes)
    ports = tuple(sorted({port.default for port in largest.ports} - leases.ports_of_others()))
    wanted = Wanted(memory_bytes=largest.memory_bytes, ports=ports)
    changed: list[str] = []
    if fix:
        steps = console.Steps()

        def report(name: str) -> AbstractContextManager[object]:
            return console.step(steps, name)

        changed = setup.mend(report, wanted)
    findings = setup.examine(wanted)
    missing = [f for f in findings if f.status is Status.MISSING]

    def text() -> None:
        marks = {Status.OK: "✓", Status.NOTE: "i", Status.MISSING: "✗"}
        rows = [(marks[f.status], f.name, f.found, f.needed, f.remedy or "") for f in findings]
        console.table(
            "This machine", ("", "what", "found", "needed", "mended by"), rows, empty="nothing was checked"
        )
        if fix:
            console.line(f"\nchanged: {', '.join(changed)}" if changed else "\nchanged: nothing")

    lacks = None
    if missing:
        names = ", ".join(finding.name for finding in missing)
        lacks = HostNotReady(f"this machine lacks: {names}", missing[0].remedy or 'see "lab doctor"')
    data = {"findings": findings, "changed": changed, "ready": not missing}
    console.show(data, as_json=json, text=text, error=lacks)
    if not json:
        console.suggest("lab up basic-mirror", "starts a lab")


@images_app.callback()
def build(
    context: typer.Context,
    kafka: Annotated[str | None, typer.Option("--kafka", metavar="VERSION", help=KAFKA_HELP)] = None,
    json: Json = False,
) -> None:
    """Build the images that are missing or older than their sources."""
    if context.invoked_subcommand is not None:
        return
    version = kafka_version(kafka)
    stale = build_images(version, console.Steps())
    data = {
        "images": [image.tag for image in images.wanted(version)],
        "built": [image.tag for image in stale],
    }
    text = f"built {', '.join(data['built'])}" if stale else f"up to date: {', '.join(data['images'])}"
    console.show(data, as_json=json, text=lambda: console.line(text))


@images_app.command()
def save(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A tar archive; written anew.")],
    json: Json = False,
) -> None:
    """Write all of the lab's images into one file, for machines without a network."""
    setup.require_engine()
    with console.step(console.Steps(), f"save images to {file}") as step:
        tags = images.save(file, step)
    console.show(
        {"images": tags, "file": str(file)},
        as_json=json,
        text=lambda: console.line(f"{file}: {', '.join(tags)}"),
    )


@images_app.command()
def load(
    file: Annotated[Path, typer.Argument(metavar="FILE", help='What "lab images save" wrote.')],
    json: Json = False,
) -> None:
    """Read images from a file that `lab images save` wrote."""
    setup.require_engine()
    with console.step(console.Steps(), f"load images from {file}") as step:
        tags = images.load(file, step)
    console.show({"images": tags}, as_json=json, text=lambda: console.line(", ".join(tags)))
