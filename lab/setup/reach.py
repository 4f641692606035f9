"""How far one gets on the way to the container engine. What to say about it is engine.py's."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lab.setup.engine_api import Endpoint
from lab.setup.host import Host

OLDEST_API: Final = (1, 41)


class Reach(StrEnum):
    """How far one gets on the way to the engine."""

    ANSWERS = "answers"
    TOO_OLD = "too old"
    NO_CLIENT = "no client"
    NO_ENGINE = "no engine"
    STOPPED = "stopped"
    FORBIDDEN = "forbidden"
    SILENT = "silent"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, kw_only=True)
class Reached:
    """How far, through which endpoint, and what was seen there."""

    reach: Reach
    endpoint: Endpoint
    detail: str = ""


def _api_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _answered(endpoint: Endpoint, api_version: str, server: str) -> Reached:
    version = server.removeprefix("Docker/").split(" ")[0]
    old = bool(api_version) and _api_version(api_version) < OLDEST_API
    return Reached(
        reach=Reach.TOO_OLD if old else Reach.ANSWERS,
        endpoint=endpoint,
        detail=f"engine {version or 'of unstated version'}, API {api_version or 'unstated'}",
    )


def _ask_client(host: Host, endpoint: Endpoint) -> Reached:
    """TLS, ssh and contexts that only the client understands."""
    done = host.run(
        ["docker", "version", "--format", "{{.Server.APIVersion}} {{.Server.Version}}"], timeout_s=5
    )
    if done.code != 0:
        return Reached(reach=Reach.UNREACHABLE, endpoint=endpoint, detail=done.last_words)
    api_version, _, version = done.stdout.strip().partition(" ")
    return _answered(endpoint, api_version, version)


def _not_running(host: Host, endpoint: Endpoint, detail: str) -> Reached:
    if not endpoint.is_default:
        return Reached(reach=Reach.UNREACHABLE, endpoint=endpoint, detail=detail)
    installed = not host.is_linux or host.which("dockerd") is not None
    return Reached(reach=Reach.STOPPED if installed else Reach.NO_ENGINE, endpoint=endpoint, detail=detail)


def reach_engine(host: Host, *, timeout_s: float = 5.0) -> Reached:
    """Go as far as possible; the client is asked for last because the engine may need mending first."""
    endpoint = host.endpoint()
    client_is_here = host.which("docker") is not None
    if not endpoint.is_direct:
        if client_is_here:
            return _ask_client(host, endpoint)
        return Reached(reach=Reach.NO_CLIENT, endpoint=endpoint)
    try:
        reply = host.ask(endpoint, "GET", "/_ping", timeout_s=timeout_s)
    except PermissionError:
        return Reached(reach=Reach.FORBIDDEN, endpoint=endpoint)
    except TimeoutError:
        silent = Reach.SILENT if endpoint.is_local else Reach.UNREACHABLE
        return Reached(reach=silent, endpoint=endpoint, detail=f"no answer in {timeout_s:g} s")
    except OSError as error:
        return _not_running(host, endpoint, (error.strerror or str(error)).lower())
    if reply.status != 200:
        return Reached(reach=Reach.UNREACHABLE, endpoint=endpoint, detail=f"HTTP {reply.status}")
    if not client_is_here:
        return Reached(reach=Reach.NO_CLIENT, endpoint=endpoint)
    return _answered(endpoint, reply.api_version, reply.server)
