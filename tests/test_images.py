"""An image is built again when what it is made from changed, and not otherwise."""

import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import images, topology
from lab.engine import EngineError
from lab.errors import BadInput, HostNotReady, LabError
from lab.images import FOLDER, Image, wanted
from lab.project import ROOT, versions

VERSION = "3.9.1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of compose/images, and of the package beside it, that a test may change."""
    copy = tmp_path / FOLDER.relative_to(ROOT)
    shutil.copytree(FOLDER, copy)
    shutil.copytree(ROOT / "lab", tmp_path / "lab")
    monkeypatch.setattr(images, "FOLDER", copy)
    return copy


def sources(version: str = VERSION) -> dict[str, str]:
    return {image.kind: image.source for image in wanted(version)}


def test_a_topology_needs_the_images_that_its_services_name() -> None:
    def tags(name: str, version: str) -> list[str]:
        return [image.tag for image in wanted(version, topology.load(name))]

    assert tags("basic-mirror", "2.8.2") == ["mirror-lab/kafka:2.8.2", "mirror-lab/spark:4.0.0"]
    assert tags("spark-only", VERSION) == ["mirror-lab/spark:4.0.0"]


def test_without_a_topology_all_images_are_wanted() -> None:
    used = {image.kind for name in topology.names() for image in wanted(VERSION, topology.load(name))}

    assert used <= set(sources())
    assert {"kafka", "spark"} <= set(sources())


def test_the_image_that_checks_exports_is_no_topologys() -> None:
    assert images.tool("strimzi").tag == "mirror-lab/strimzi:0.48.0"
    for name in topology.names():
        assert "strimzi" not in {image.kind for image in wanted(VERSION, topology.load(name))}


@pytest.mark.parametrize("given", ["registry.example:5000/", "registry.example:5000"])
def test_a_registry_stands_before_the_tag(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("LAB_REGISTRY", given)

    assert wanted(VERSION)[0].tag == "registry.example:5000/mirror-lab/kafka:3.9.1"


def test_a_copy_elsewhere_has_the_same_hash(request: pytest.FixtureRequest) -> None:
    here = sources()

    request.getfixturevalue("folder")

    assert sources() == here


def test_touching_a_file_changes_no_hash(folder: Path) -> None:
    before = sources()

    for path in folder.rglob("*"):
        path.touch()

    assert sources() == before


CHANGES: dict[str, Callable[[Path], object]] = {
    "other content": lambda folder: (folder / "kafka/Dockerfile").write_text("FROM scratch\n"),
    "a new file": lambda folder: (folder / "kafka/bin/more").touch(),
    "a file gone": lambda folder: (folder / "kafka/tools.table").unlink(),
    "another name": lambda folder: (folder / "kafka/tools.table").rename(folder / "kafka/tools"),
    "another mode": lambda folder: (folder / "kafka/tools.table").chmod(0o755),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_in_an_images_folder_changes_its_hash_alone(
    folder: Path, change: Callable[[Path], object]
) -> None:
    before = sources()

    change(folder)

    assert sources()["kafka"] != before["kafka"]
    assert sources()["spark"] == before["spark"]


def test_what_images_share_is_part_of_each_that_copies_it(folder: Path) -> None:
    before = sources()
    copies = {kind for kind in before if "common/lab-healthy" in (folder / kind / "Dockerfile").read_text()}

    with (folder / "common/lab-healthy").open("a") as file:
        file.write("# changed\n")

    assert {kind for kind in before if sources()[kind] != before[kind]} == copies
    assert copies >= {"kafka", "spark"}


def test_a_change_in_the_build_file_concerns_the_image_whose_section_it_is(folder: Path) -> None:
    before = sources()
    file = folder / "compose.yaml"
    text = file.read_text()

    file.write_text(f"{text}\n# another comment\n")
    assert sources() == before

    file.write_text(
        text.replace(
            "  spark:\n",
            "  another:\n    image: mirror-lab/another:1\n    build: {context: .}\n\n  spark:\n",
            1,
        )
    )
    (folder / "another").mkdir()
    (folder / "another/Dockerfile").touch()
    assert {kind: source for kind, source in sources().items() if kind != "another"} == before

    file.write_text(text.replace("SCALA_VERSION: ${SCALA_VERSION}", "SCALA_VERSION: '2.12'", 1))
    assert sources() == {**before, "kafka": sources()["kafka"]}
    assert sources()["kafka"] != before["kafka"]


def test_what_is_copied_from_a_larger_context_is_part_of_the_image(folder: Path) -> None:
    package = folder.parent.parent / "lab"
    before = sources()

    (package / "harness.py").write_text("# not copied\n")
    assert sources() == before

    for copied in ("errors.py", "exporter/flows.py", "exporter/new.py"):
        (package / copied).write_text("# changed\n")
        assert sources()["exporter"] != before["exporter"], copied
        assert sources() == {**before, "exporter": sources()["exporter"]}
        before = sources()


def test_every_kafka_version_has_a_hash_of_its_own_and_spark_one_for_all() -> None:
    assert sources("2.8.2")["kafka"] != sources(VERSION)["kafka"]
    assert sources("2.8.2")["spark"] == sources(VERSION)["spark"]


def test_a_newly_offered_kafka_version_changes_no_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sources()
    pinned = versions()
    monkeypatch.setattr(images, "versions", lambda: {**pinned, "KAFKA_VERSIONS": "3.9.1 9.9.9"})

    assert sources() == before


def test_a_newer_jmx_exporter_changes_the_kafka_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sources()
    pinned = versions()
    monkeypatch.setattr(images, "versions", lambda: {**pinned, "JMX_EXPORTER_VERSION": "9"})

    assert sources()["kafka"] != before["kafka"]


def test_an_image_is_current_when_the_engine_has_one_of_that_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def docker(*args: str) -> str:
        asked.append(args)
        return "0123456789ab\n" if "label=io.mirror-lab.source=same" in args else ""

    monkeypatch.setattr(images, "docker", docker)

    assert Image(kind="kafka", version=VERSION, source="same").is_current()
    assert not Image(kind="kafka", version=VERSION, source="other").is_current()
    assert asked[0] == (
        *("image", "ls", "--quiet", "--filter", "label=io.mirror-lab.source=same"),
        "mirror-lab/kafka:3.9.1",
    )


@pytest.mark.parametrize("busy", [False, True])
def test_what_a_build_replaces_goes_and_nobody_elses(monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    asked: list[str] = []

    def docker(*args: str) -> str:
        asked.append(" ".join(args))
        if busy and "prune" in args:
            raise EngineError("docker image failed: a prune operation is already running")
        return "0123456789ab\n"

    monkeypatch.setattr(images, "docker", docker)
    monkeypatch.setattr(images, "follow", lambda *_, **__: asked.append("build"))

    images.build(Image(kind="kafka", version=VERSION, source="same"), lambda _: None)

    assert asked[-2:] == ["build", "image prune --force --filter label=io.mirror-lab.source"]


def test_without_images_there_is_nothing_to_save(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(images, "docker", lambda *_: "")

    with pytest.raises(BadInput) as caught:
        images.save(tmp_path / "images.tar", lambda _: None)

    assert caught.value.message == "this host has no images of the lab to save"
    assert caught.value.hint == 'build them first: "lab images"'


def saved(path: Path, *tags: str) -> Path:
    """A file as "docker save" writes it, without the layers."""
    body = json.dumps([{"Config": "c.json", "RepoTags": list(tags) or None, "Layers": []}]).encode()
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(body)
        archive.addfile(entry, io.BytesIO(body))
    return path


def test_what_is_loaded_is_what_the_file_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(images, "follow", lambda command, _: asked.append(command))
    monkeypatch.setattr(images, "docker", lambda *command: asked.append(list(command)))
    path = saved(tmp_path / "a.tar", "mirror-lab/spark:4", "mirror-lab/kafka:3.9.1", "other:1")

    assert images.load(path, lambda _: None) == ["mirror-lab/kafka:3.9.1", "mirror-lab/spark:4"]
    assert asked == [
        ["docker", "load", "--quiet", "--input", str(path)],
        ["image", "prune", "--force", "--filter", "label=io.mirror-lab.source"],  # what they replaced
    ]


@pytest.mark.parametrize("tags", [(), ("alpine:3",), ("registry.example:5000/mirror-lab/kafka:3.9.1",)])
def test_a_file_without_an_image_of_the_lab_is_not_loaded(tmp_path: Path, tags: tuple[str, ...]) -> None:
    path = saved(tmp_path / "other.tar", *tags)

    with pytest.raises(BadInput, match=r'^no image in ".*other\.tar" is one of the lab, by its name: '):
        images.load(path, lambda _: None)


@pytest.mark.parametrize("content", [b"", b"not a tar at all" * 100])
def test_what_holds_no_images_is_not_loaded(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.tar"
    path.write_bytes(content)

    with pytest.raises(BadInput, match=r'^".*notes\.tar" is no file of images: '):
        images.load(path, lambda _: None)
    with tarfile.open(path, "w"):
        pass
    with pytest.raises(BadInput, match=r'^".*notes\.tar" is no file of images: '):
        images.load(path, lambda _: None)


def test_a_missing_file_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        images.load(tmp_path / "none.tar", lambda _: None)

    assert caught.value.message == f'no file "{tmp_path}/none.tar"'
    assert caught.value.hint == 'name a file that "lab images save" wrote'


def test_a_user_without_registry_and_root_cannot_make_the_base_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "docker", lambda *_: "")
    monkeypatch.setattr(images, "registry_answers", lambda: False)
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    with pytest.raises(HostNotReady) as caught:
        images.ensure_base(lambda _: None)

    assert caught.value.message == (
        "no image registry answers, and making the base image with debootstrap needs root"
    )
    assert caught.value.hint == (
        'run "lab images" as root once, or "lab images load FILE" with images saved elsewhere'
    )


def test_a_base_image_that_is_there_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "docker", lambda *_: "0123456789ab\n")

    assert images.ensure_base(lambda _: None) == "mirror-lab/base:trixie"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (subprocess.TimeoutExpired("tar", 600), "tar did not end within 600 s"),
        (subprocess.CalledProcessError(2, "tar", "", "tar: disk full\n"), "tar failed: tar: disk full"),
        (FileNotFoundError(), "tar is not installed"),
    ],
)
def test_what_makes_the_base_image_fails_in_words(
    monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def run(command: tuple[str, ...], **_: object) -> None:
        if command[0] == "tar":
            raise error

    monkeypatch.setattr(subprocess, "run", run)

    with pytest.raises(LabError) as caught:
        images._debootstrap("trixie", "mirror-lab/base:trixie")

    assert caught.value.message == told


def test_images_are_saved_into_a_folder_that_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(images, "docker", lambda *_: "mirror-lab/kafka:3.9.1\n")

    with pytest.raises(BadInput) as caught:
        images.save(tmp_path / "none/images.tar", lambda _: None)

    assert caught.value.message == f'no folder "{tmp_path}/none"'
    assert caught.value.hint == "make it first, or name another file"
