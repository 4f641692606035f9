"""Where the base image comes from: an image registry that answers the engine, else debootstrap."""

import json
from typing import Final
from urllib.parse import urlencode

from lab.setup.advice import FIX, FIX_BY_SUDO
from lab.setup.finding import DEFAULTS, Finding, Status
from lab.setup.host import Host
from lab.setup.reach import Reach, Reached

ANSWER_S: Final = 4.0
PREFIX: Final = "LAB_REGISTRY"
IMAGES: Final = "mirror-lab/*"
REGISTRY_NEEDED: Final = "nothing: an image registry saves time and brings Grafana"
DEBOOTSTRAP_NEEDED: Final = "where no registry answers: debootstrap, run as root, makes the base image"


def prefixed(image: str, prefix: str) -> str:
    """The image's name behind LAB_REGISTRY, which may or may not end in a slash."""
    return f"{prefix.rstrip('/')}/{image}" if prefix else image


def _refusal(host: Host, image: str) -> str | None:
    """Why the engine cannot have the image; None when it can. Reads its manifest, pulls nothing."""
    endpoint = host.endpoint()
    if endpoint.is_direct:
        try:
            reply = host.ask(endpoint, "GET", f"/distribution/{image}/json", timeout_s=ANSWER_S)
        except TimeoutError:
            return f"no answer in {ANSWER_S:g} s"
        except OSError as error:
            return (error.strerror or str(error)).lower()
        if reply.status not in (401, 403):
            return None if reply.status == 200 else reply.message
    # The engine was told no, or cannot be asked: the client knows the user's log-ins.
    done = host.run(["docker", "manifest", "inspect", image], timeout_s=ANSWER_S)
    return None if done.code == 0 else done.last_words


def registry_answers(image: str = DEFAULTS.base_image, *, host: Host | None = None) -> bool:
    """Whether the engine could pull the image (behind LAB_REGISTRY) right now; at most about 4 s."""
    host = host or Host()
    return _refusal(host, prefixed(image, host.env.get(PREFIX, ""))) is None


def check_base_image(host: Host, reached: Reached, image: str) -> list[Finding]:
    """Two findings, because the second matters only when the first is bad."""
    if reached.reach is not Reach.ANSWERS:
        registry = _registry_note("not asked: the engine does not answer")
        return [registry, _debootstrap(host, needed_now=False)]
    name = prefixed(image, host.env.get(PREFIX, ""))
    refusal = _refusal(host, name)
    if refusal is None:
        found = f'has "{name}"'
        registry = Finding(name="registry", status=Status.OK, found=found, needed=REGISTRY_NEEDED)
    else:
        how = "the base image is made with debootstrap"
        registry = _registry_note(f'cannot give "{name}", so {how}: {refusal.rpartition(": ")[2]}')
    if refusal is not None and not _usable(host) and _lab_images_are_here(host, reached):
        found = "not there, but the lab's images are: needed only to build them anew"
        return [registry, _debootstrap_finding(Status.NOTE, found)]
    return [registry, _debootstrap(host, needed_now=refusal is not None)]


def _usable(host: Host) -> bool:
    return host.is_root and host.which("debootstrap") is not None


def _lab_images_are_here(host: Host, reached: Reached) -> bool:
    """Built before, or loaded from a file in a class room without a network."""
    query = urlencode({"filters": json.dumps({"reference": [prefixed(IMAGES, host.env.get(PREFIX, ""))]})})
    try:
        reply = host.ask(reached.endpoint, "GET", f"/images/json?{query}", timeout_s=2)
    except OSError:
        return False
    return reply.status == 200 and reply.body.strip() not in ("", "[]", "null")


def _registry_note(found: str) -> Finding:
    return Finding(name="registry", status=Status.NOTE, found=found, needed=REGISTRY_NEEDED)


def _debootstrap_finding(status: Status, found: str, remedy: str | None = None) -> Finding:
    needed = DEBOOTSTRAP_NEEDED
    return Finding(name="debootstrap", status=status, found=found, needed=needed, remedy=remedy)


def _debootstrap(host: Host, *, needed_now: bool) -> Finding:
    path = host.which("debootstrap")
    if not needed_now:
        return _debootstrap_finding(Status.OK, path or "not there, not needed")
    if path and _usable(host):
        return _debootstrap_finding(Status.OK, path)
    if host.is_debian and host.is_root:
        remedy = FIX
    elif host.is_debian:
        remedy = f"{FIX_BY_SUDO}, then lab up in the same way"
    else:
        remedy = "set LAB_REGISTRY to a registry that answers, or run lab images load FILE"
    found = "there, but only root can use it" if path else "not there"
    return _debootstrap_finding(Status.MISSING, found, remedy)
