"""What of `lab mm2 export` needs no lab: which forms go together, and how files are written."""

import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab import api_check
from lab.cli import mm2_export
from lab.cli.program import exit_code
from lab.export import documents
from lab.export.kubernetes import Values
from lab.harness import Lab
from tests.export import flows

Captured = pytest.CaptureFixture[str]
CANARY = "canary-77aa"
EXPORT = ["mm2", "export"]


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lab whose MM2 gets out of a cluster that asks for a password."""
    lab = SimpleNamespace(name="demo", kafka_version="3.9.1")
    found = Values(content=lambda _: CANARY.encode(), authority=lambda _: CANARY, value=lambda *_: CANARY)
    monkeypatch.setattr(Lab, "attach", lambda _: lab)
    monkeypatch.setattr(mm2_export, "running_flow", lambda *_: flows.every_flow()["es-to-strimzi.properties"])
    monkeypatch.setattr(mm2_export, "values", lambda _: found)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ([], "no form is asked for", "one of --secret, --configmap, --pod, --strimzi, --properties"),
        (["--properties", "--pod"], "--properties is no YAML and goes with no other form", "--configmap"),
        (["--properties", "--check"], "--check is for YAML, not for --properties", "--configmap"),
        (["--strimzi", "--image", "x"], "--image is for --pod", "leave it out"),
        (["--secret"], "--secret has passwords in it, and is never printed", "--output secrets.yaml"),
        (["--secret", "--json"], "--secret has passwords in it, and is never printed", "--output"),
    ],
)
def test_forms_that_make_no_sense_are_refused(
    capsys: Captured, options: list[str], message: str, hint: str
) -> None:
    assert exit_code([*EXPORT, *options]) == 2
    out, err = capsys.readouterr()
    assert message in out + err
    assert hint in out + err


@pytest.mark.usefixtures("running")
def test_stdout_is_the_document_and_nothing_else(capsys: Captured) -> None:
    assert exit_code([*EXPORT, "--strimzi"]) == 0

    out, err = capsys.readouterr()
    assert [d["metadata"]["name"] for d in documents.read(out)] == ["demo-to-target", "demo-to-source"]
    assert "note: addresses are those of the flow" in err
    assert "es-apikey-source (binding)" in err
    assert "next: lab mm2 export --secret --output secrets.yaml" in err


@pytest.mark.usefixtures("running")
def test_with_json_all_is_one_object(capsys: Captured) -> None:
    assert exit_code([*EXPORT, "--pod", "--json"]) == 0

    out, err = capsys.readouterr()
    found = json.loads(out)
    assert err == ""
    assert (found["forms"], found["output"], found["checked"]) == (["pod"], None, False)
    assert found["secrets"] == {"mm2-secrets": ["truststore.jks", "secrets.properties"]}
    (pod,) = documents.read(found["text"])
    assert pod["spec"]["containers"][0]["image"] == "apache/kafka:3.9.1"


@pytest.mark.usefixtures("running")
def test_the_image_can_be_chosen(capsys: Captured) -> None:
    assert exit_code([*EXPORT, "--pod", "--image", "registry.example/kafka:1"]) == 0

    (pod,) = documents.read(capsys.readouterr().out)
    assert pod["spec"]["containers"][0]["image"] == "registry.example/kafka:1"


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_secrets_stand_in_a_file_of_ones_own_alone(
    capsys: Captured, tmp_path: Path, options: list[str]
) -> None:
    path = tmp_path / "secrets.yaml"
    path.write_text("of before")

    assert exit_code([*EXPORT, "--secret", "--output", str(path), *options]) == 0

    out, err = capsys.readouterr()
    assert CANARY in path.read_text()
    assert CANARY not in out + err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["secrets.yaml"]


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("place", "message"), [("", "is no plain file"), ("link", "is no plain file"), ("no/x", "No such file")]
)
def test_a_place_that_is_none_is_refused(capsys: Captured, tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")

    assert exit_code([*EXPORT, "--secret", "--output", str(tmp_path / place)]) == 2

    out, err = capsys.readouterr()
    assert message in err
    assert CANARY not in out + err
    assert (tmp_path / "link").is_symlink()


@pytest.mark.usefixtures("running")
def test_what_the_api_refuses_is_not_handed_out(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    monkeypatch.setattr(mm2_export, "require_engine", lambda: None)
    monkeypatch.setattr(api_check, "build", lambda _: None)
    monkeypatch.setattr(api_check, "problems", lambda _: found)
    path = tmp_path / "mm2.yaml"
    command = [*EXPORT, "--strimzi", "--check", "--output", str(path)]
    assert exit_code(command) == 0
    path.unlink()

    found += ["1: spec.a: no such field", "1: spec.b: no such field"]

    assert exit_code(command) == 1
    assert "Strimzi's API refuses the export: document 1: spec.a: no such field (and 1 more)" in (
        capsys.readouterr().err
    )
    assert not path.exists()
