"""The services of a Compose file, with the fragments that they extend."""

import re
from pathlib import Path
from typing import Any, Final

from lab.topology.document import mapping
from lab.topology.model import Port, Service, interpolate, size_bytes

_PUBLISHED: Final = re.compile(
    r"127\.0\.0\.1:\$\{(?P<variable>\w+_PORT):-(?P<default>\d+)\}:(?P<container>\d+)"
)


def read(bodies: dict[str, Any], folder: Path) -> tuple[dict[str, Service], list[str]]:
    """The services that can be read, and what is wrong with the others."""
    services, problems = {}, []
    for name, body in bodies.items():
        try:
            services[name] = _service(name, _extended(body, folder))
        except ValueError as error:
            problems.append(f"services.{name}: {error}")
    return services, problems


def _service(name: str, body: dict[str, Any]) -> Service:
    ports = []
    if not isinstance(body.get("ports", []), list):
        raise ValueError("ports is not a list")
    for text in body.get("ports", []):
        match = _PUBLISHED.fullmatch(str(text))
        if match is None:
            raise ValueError(f'port "{text}" is not written as 127.0.0.1:${{NAME_PORT:-default}}:container')
        ports.append(
            Port(
                service=name,
                variable=match["variable"],
                default=int(match["default"]),
                container=int(match["container"]),
            )
        )
    environment = body.get("environment", {})
    if not isinstance(environment, dict):
        raise ValueError("environment is a list; quotes in a list become part of the value, use a mapping")
    memory = str(body.get("mem_limit", "0"))
    return Service(
        name=name,
        environment={key: str(value) for key, value in environment.items()},
        ports=tuple(ports),
        memory=memory,
        memory_bytes=size_bytes(interpolate(memory, {})),
        image=str(body.get("image", "")),
        has_healthcheck="healthcheck" in body,
        profiles=tuple(body.get("profiles", ())),
    )


def _extended(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A service with its fragment's keys beneath its own, as Compose's `extends` merges mappings."""
    if not isinstance(body, dict):
        raise ValueError("not a mapping")
    reference = body.get("extends")
    if reference is None:
        return body
    if not isinstance(reference, dict) or not {"file", "service"} <= set(reference):
        raise ValueError("extends is not written as {file: …, service: …}")
    path = folder / reference["file"]
    fragment = mapping(path).get("services", {}).get(reference["service"])
    if fragment is None:
        raise ValueError(f'{path.name} has no service "{reference["service"]}" to extend')
    below = _extended(fragment, path.parent)
    merged = {**below, **body}
    for key in ("environment", "healthcheck"):
        if isinstance(below.get(key), dict) and isinstance(body.get(key), dict):
            merged[key] = {**below[key], **body[key]}
    return merged
