"""mm2 export: what runs, in the forms in which others run it."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from lab import api_check
from lab.cli import console
from lab.cli.options import Connectors as Names
from lab.cli.options import Json, Name
from lab.errors import BadInput, LabError
from lab.export import Export
from lab.export.forms import Form, export
from lab.harness import Lab
from lab.harness.exporting import running_flow, values
from lab.setup import require_engine

_ALL: Final = ", ".join(f"--{form}" for form in Form)


def register(app: typer.Typer) -> None:
    app.command("export")(export_)


def export_(
    names: Names = None,
    strimzi: Annotated[bool, typer.Option("--strimzi", help="A KafkaMirrorMaker2 for Strimzi.")] = False,
    configmap: Annotated[
        bool, typer.Option("--configmap", help="A ConfigMap with the properties of a dedicated MM2.")
    ] = False,
    pod: Annotated[bool, typer.Option("--pod", help="A Pod that runs them.")] = False,
    secret: Annotated[
        bool,
        typer.Option("--secret", help="The Secrets that both need, with this lab's values; a file only."),
    ] = False,
    properties: Annotated[
        bool, typer.Option("--properties", help="The file of connect-mirror-maker.sh.")
    ] = False,
    image: Annotated[
        str | None, typer.Option("--image", metavar="IMAGE", help="Of the Pod; Kafka's own if not given.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there, not to stdout.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Read it back with the classes of Strimzi's API.")
    ] = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """Write what runs as a resource of Strimzi, as objects of Kubernetes, or as a properties file."""
    asked = (secret, configmap, pod, strimzi, properties)
    forms = [form for form, wanted in zip(Form, asked, strict=True) if wanted]
    _require_sense(forms, output, image, check=check)
    lab = Lab.attach(name)
    made = export(
        running_flow(lab, names),
        forms,
        name=lab.name,
        image=image or f"apache/kafka:{lab.kafka_version}",
        values=values(lab),
    )
    if check:
        _check(made)
    if output is not None:
        _write(output, made.text, secret=Form.SECRET in forms)
    shown = None if output is not None else made.text
    data = {"forms": forms, "text": shown, "output": output, "told": made.told, "secrets": made.secrets}
    console.show({**data, "checked": check}, as_json=json, text=lambda: _tell(made, output))


def _require_sense(forms: Sequence[Form], output: Path | None, image: str | None, *, check: bool) -> None:
    if not forms:
        raise BadInput("no form is asked for", f"one of {_ALL}")
    if Form.PROPERTIES in forms and len(forms) > 1:
        raise BadInput("--properties is no YAML and goes with no other form", "--configmap has it as YAML")
    if Form.PROPERTIES in forms and check:
        raise BadInput("--check is for YAML, not for --properties", "--configmap has them as YAML")
    if Form.POD not in forms and image is not None:
        raise BadInput("--image is for --pod", "leave it out")
    if Form.SECRET in forms and output is None:
        raise BadInput(
            "--secret has passwords in it, and is never printed",
            "name a file, which you alone can read: --output secrets.yaml",
        )


def _check(made: Export) -> None:
    require_engine()
    steps = console.Steps()
    with console.step(steps, "check with Strimzi's API") as say:
        api_check.build(say)
        found = api_check.problems(made.text)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise LabError(
            f"Strimzi's API refuses the export: document {found[0]}{more}",
            "give what it names another name, or report a bug of the lab",
        )


def _write(path: Path, text: str, *, secret: bool) -> None:
    """All at once; a file with secrets never readable by others, not even for a moment."""
    try:
        if path.exists() and not stat.S_ISREG(path.lstat().st_mode):
            raise BadInput(f'"{path}" is no plain file', "name one, or a new one")
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        mode = 0o600 if secret else 0o666
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        raise BadInput(
            f"{path}: {error.strerror}", "name a file in a folder that you may write to"
        ) from error


def _tell(made: Export, output: Path | None) -> None:
    """The document is the only thing on stdout, so that kubectl can read it from there."""
    if output is None:
        console.raw(made.text)
    else:
        console.remark(f"written to {output}")
    for line in made.told:
        console.remark(line)
    if made.secrets:
        told = ", ".join(f"{secret} ({', '.join(keys)})" for secret, keys in made.secrets.items())
        console.remark(f"Secrets that it refers to: {told}")
        console.suggest("lab mm2 export --secret --output secrets.yaml", "writes them with this lab's values")
