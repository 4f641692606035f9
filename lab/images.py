"""The lab's own images: which are there, which are out of date, how they are built, saved and loaded.

An image carries the hash of what it was built from; one whose hash differs is built again. Everything
comes from pinned packages, so a host needs no Java, no Maven and no image registry.
"""

import hashlib
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.engine import EngineError, docker, follow
from lab.errors import BadInput, HostNotReady
from lab.project import COMPOSE, VERSIONS, registry, versions
from lab.setup import ca_bundle, registry_answers
from lab.topology import Topology, interpolate
from lab.topology.document import mapping

FOLDER: Final = COMPOSE / "images"
SOURCE_LABEL: Final = "io.mirror-lab.source"
_DEBOOTSTRAP_S: Final = 600.0
_KIND: Final = re.compile(r"mirror-lab/([\w-]+):")
_VARIABLE: Final = re.compile(r"\$\{(\w+)")


@dataclass(frozen=True, kw_only=True)
class Image:
    """One image that topologies use."""

    kind: str  # its folder under compose/images, its service in the build file
    version: str
    source: str  # hash of what it is built from

    @property
    def tag(self) -> str:
        return f"{registry()}mirror-lab/{self.kind}:{self.version}"

    def is_current(self) -> bool:
        found = docker("image", "ls", "--quiet", "--filter", f"label={SOURCE_LABEL}={self.source}", self.tag)
        return bool(found.strip())


def wanted(kafka_version: str, topology: Topology | None = None) -> list[Image]:
    """The images that a topology's services name, or all that there are; Kafka's of that version."""
    values = {**versions(), "KAFKA_VERSION": kafka_version}
    sections: dict[str, dict[str, Any]] = mapping(FOLDER / "compose.yaml")["services"]
    used = sections.keys() if topology is None else _kinds(topology)
    return [
        Image(
            kind=kind,
            version=interpolate(section["image"], values).rpartition(":")[2],
            source=_hash(kind, section, values),
        )
        for kind, section in sections.items()
        if kind in used
    ]


def tool(kind: str) -> Image:
    """An image that no topology's service names: containers of it come and go."""
    return next(image for image in wanted(versions()["KAFKA_VERSION"]) if image.kind == kind)


def _kinds(topology: Topology) -> set[str]:
    return {kind for service in topology.services.values() for kind in _KIND.findall(service.image)}


def ensure(image: Image, on_line: Callable[[str], None]) -> Image:
    """The same image, built first unless it is there."""
    if not image.is_current():
        build(image, on_line)
    return image


def missing(kafka_version: str, topology: Topology | None = None) -> list[Image]:
    images = wanted(kafka_version, topology)
    with ThreadPoolExecutor(len(images) or 1) as pool:  # a docker command each, on the way of every "lab up"
        current = list(pool.map(Image.is_current, images))
    return [image for image, is_current in zip(images, current, strict=True) if not is_current]


def build(image: Image, on_line: Callable[[str], None]) -> None:
    """Build one image, from the base image, which is made first if it is not there."""
    base = ensure_base(on_line)
    on_line(f"building {image.tag}")
    command = [
        *("docker", "compose", "--file", str(FOLDER / "compose.yaml"), "--env-file", str(VERSIONS)),
        *("build", image.kind),
    ]
    environment = {
        f"{image.kind.upper()}_VERSION": image.version,
        f"LAB_SOURCE_{image.kind.upper()}": image.source,
        "LAB_BASE": base,
    }
    with tempfile.TemporaryDirectory() as empty:
        bundle = ca_bundle()
        if bundle is None:  # a build secret must be a file; without a bundle it is an empty one
            bundle = Path(empty) / "no-ca.crt"
            bundle.touch()
        environment["LAB_CA_BUNDLE"] = str(bundle)
        follow(command, on_line, environment={**os.environ, **versions(), **environment})
    _remove_replaced()


def _remove_replaced() -> None:
    """Images of the lab that another one has taken the tag from, unless a container still has one."""
    with suppress(EngineError):  # the engine removes for one at a time, and that one does it for all
        docker("image", "prune", "--force", "--filter", f"label={SOURCE_LABEL}")


def ensure_base(on_line: Callable[[str], None]) -> str:
    """The Debian image that all others start from: pulled where a registry answers, else made here."""
    suite = versions()["DEBIAN_SUITE"]
    tag = f"mirror-lab/base:{suite}"
    if docker("image", "ls", "--quiet", tag).strip():
        return tag
    if registry_answers():
        upstream = f"{registry()}debian:{suite}-slim"
        on_line(f"pulling {upstream}")
        docker("pull", "--quiet", upstream)
        docker("tag", upstream, tag)
        return tag
    if os.geteuid() != 0:
        raise HostNotReady(
            "no image registry answers, and making the base image with debootstrap needs root",
            'run "lab images" as root once, or "lab images load FILE" with images saved elsewhere',
        )
    on_line(f"making {tag} with debootstrap")
    _debootstrap(suite, tag)
    return tag


def _debootstrap(suite: str, tag: str) -> None:
    with tempfile.TemporaryDirectory(prefix="mirror-lab-base-") as folder:
        root, archive = Path(folder) / "root", Path(folder) / "base.tar"
        _run("debootstrap", "--variant=minbase", suite, str(root))
        _run("tar", "-C", str(root), "-cf", str(archive), ".")
        docker("import", str(archive), tag)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_DEBOOTSTRAP_S)
    except FileNotFoundError as error:
        raise HostNotReady(f"{command[0]} is not installed", 'run "lab doctor --fix"') from error
    except subprocess.TimeoutExpired as error:
        raise EngineError(
            f"{command[0]} did not end within {_DEBOOTSTRAP_S:.0f} s", "is the network slow? try again"
        ) from error
    except subprocess.CalledProcessError as error:
        told = (error.stdout + error.stderr).strip().splitlines()
        raise EngineError(f"{command[0]} failed: {told[-1] if told else 'it said nothing'}") from error


def save(path: Path, on_line: Callable[[str], None]) -> list[str]:
    """All images of the lab that this host has, into one file for hosts without a network."""
    tags = _present()
    if not tags:
        raise BadInput("this host has no images of the lab to save", 'build them first: "lab images"')
    if not path.absolute().parent.is_dir():
        raise BadInput(f'no folder "{path.absolute().parent}"', "make it first, or name another file")
    follow(["docker", "save", "--output", str(path), *tags], on_line)
    return tags


def load(path: Path, on_line: Callable[[str], None]) -> list[str]:
    if not path.is_file():
        raise BadInput(f'no file "{path}"', 'name a file that "lab images save" wrote')
    held = _held(path)
    ours = sorted(tag for tag in held if tag.startswith(f"{registry()}mirror-lab/"))
    if not ours:
        raise BadInput(
            f'no image in "{path}" is one of the lab, by its name: {", ".join(held) or "none has a name"}',
            'name a file that "lab images save" wrote, with the same LAB_REGISTRY as now',
        )
    follow(["docker", "load", "--quiet", "--input", str(path)], on_line)
    _remove_replaced()
    return ours


def _held(path: Path) -> list[str]:
    """The names of the images in a file as "docker save" writes them."""
    try:
        with tarfile.open(path) as archive:
            manifest = archive.extractfile("manifest.json")
            images = json.load(manifest) if manifest else []
        return sorted(tag for image in images for tag in image["RepoTags"] or ())
    except (OSError, tarfile.TarError, ValueError, LookupError) as error:
        raise BadInput(
            f'"{path}" is no file of images: {error}', 'name a file that "lab images save" wrote'
        ) from error


def _present() -> list[str]:
    listed = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", f"{registry()}mirror-lab/*")
    return sorted(tag for tag in listed.split() if not tag.endswith("<none>"))


def _hash(kind: str, section: dict[str, Any], values: dict[str, str]) -> str:
    """What an image is built from: its section of the build file, the versions named there, its files."""
    text = json.dumps(section, sort_keys=True)
    named = {name: values[name] for name in _VARIABLE.findall(text) if name in values}
    digest = hashlib.sha256(f"{text} {sorted(named.items())}".encode())
    for path in _files(kind, FOLDER / section["build"]["context"]):
        digest.update(f"{os.path.relpath(path, FOLDER)} {path.stat().st_mode & 0o111}".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _files(kind: str, context: Path) -> list[Path]:
    """The files of an image's folder, and whatever else of its build context the Dockerfile copies."""
    found = {path for path in (FOLDER / kind).rglob("*") if path.is_file()}
    steps = (FOLDER / kind / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    for words in (step.split() for step in steps):
        if words[:1] == ["COPY"] and not words[1].startswith("--from"):
            for pattern in words[1:-1]:
                found |= {Path(os.path.normpath(p)) for p in context.glob(pattern) if p.is_file()}
    return sorted(found)
