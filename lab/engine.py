"""Start, stop and inspect containers. Knows Docker and Compose; knows nothing about Kafka."""

import json
import math
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Final

from python_on_whales import ClientNotFoundError, DockerClient
from python_on_whales.exceptions import DockerException
from python_on_whales.utils import run as run_docker

from lab.errors import LabError
from lab.project import REGISTRY, VERSIONS, read_env_file, versions

LABEL: Final = "io.mirror-lab"
PROJECT_LABEL: Final = "com.docker.compose.project"
SERVICE_LABEL: Final = "com.docker.compose.service"
_TERMINATE_S: Final = 5.0
_SILENT_S: Final = 1.0
_ADVICE: Final = ("--help' for more information", "--help'.")
_UNSAID: Final = ("", "exit status 1")  # such lines tell nothing
_NOT_STARTED: Final = (125, 126, 127)  # docker's own exit codes: nothing of the image ran


class EngineError(LabError):
    """The engine or Compose refused something; `output` is all that it said."""

    def __init__(self, message: str, hint: str | None = None, output: str = "") -> None:
        super().__init__(message, hint)
        self.output = output


@dataclass(frozen=True, kw_only=True)
class Container:
    id: str
    project: str
    service: str
    state: str  # created, running, paused, exited, dead …
    health: str  # healthy, unhealthy, starting, or "" when nothing checks

    @property
    def ended(self) -> bool:
        return self.state in ("exited", "dead")

    @property
    def ready(self) -> bool:
        return self.state == "running" and self.health in ("healthy", "")


def docker(*args: str) -> str:
    """One docker command's stdout; its stderr becomes the error."""
    with _translated(f"docker {args[0]}"):
        return str(run_docker([*DockerClient().docker_cmd, *args]))


def run_once(image: str, *, stdin: str) -> tuple[int, str]:
    """Let an image's program read a text, reach nothing, and end: its exit code and what it printed."""
    options = ("--rm", "--interactive", "--network", "none", "--label", f"{LABEL}=true")
    done = subprocess.run(
        ["docker", "run", *options, image], input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode in _NOT_STARTED:
        raise EngineError(f"docker run failed: {_last(done.stderr.splitlines())}", output=done.stderr)
    return done.returncode, done.stdout


def containers(project: str | None = None) -> list[Container]:
    """The lab's containers in every state, all labs' or one's, in the order of their services."""
    lines = docker("ps", "--all", "--no-trunc", "--format", "{{json .}}", *filters(project)).splitlines()
    return sorted((_container(json.loads(line)) for line in lines), key=lambda c: (c.project, c.service))


def _container(row: dict[str, str]) -> Container:
    labels = dict(pair.partition("=")[::2] for pair in row["Labels"].split(","))
    health = next((h for h in ("unhealthy", "healthy", "starting") if f"{h})" in row["Status"]), "")
    return Container(
        id=row["ID"],
        project=labels.get(PROJECT_LABEL, ""),
        service=labels.get(SERVICE_LABEL, row["Names"]),
        state=row["State"],
        health=health,
    )


def filters(project: str | None) -> list[str]:
    filters = ["--filter", f"label={LABEL}=true"]
    return filters if project is None else [*filters, "--filter", f"label={PROJECT_LABEL}={project}"]


@dataclass(frozen=True)
class Project:
    """One Compose project: a lab's containers, network and volumes."""

    name: str
    compose_file: Path
    env_file: Path
    decided: frozenset[str] = frozenset()  # variables of the Compose file that are the env file's to set

    @property
    def _client(self) -> DockerClient:
        return DockerClient(
            compose_files=[self.compose_file],
            compose_project_name=self.name,
            compose_env_files=[VERSIONS, self.env_file],
        )

    def command(self, *args: str) -> list[str]:
        """A `docker compose` command line for this project, which its files decide and not the shell.

        Compose ranks what is exported above env files: a lab would be made anew with another shell's ports.
        """
        lease = read_env_file(self.env_file) if self.env_file.is_file() else {}
        decided = {*self.decided, *lease, *versions(), "COMPOSE_PROFILES"} - {REGISTRY}
        unset = [part for name in sorted(decided & os.environ.keys()) for part in ("-u", name)]
        client = [str(part) for part in self._client.compose.docker_compose_cmd]
        return [*(("env", *unset) if unset else ()), *client, *args]

    def up(
        self, *, timeout_s: float, on_line: Callable[[str], None], look: Callable[[], None] = lambda: None
    ) -> None:
        """Create and start what is missing or changed, and wait until all of it is healthy."""
        # Compose's own --wait-timeout begins when the last service has started.
        options = ("--detach", "--wait", "--quiet-pull", "--remove-orphans")
        follow(self.command("up", *options), on_line, look=look, timeout_s=timeout_s)

    def rendered(self) -> str:
        with _translated("docker compose config"):
            return str(run_docker(self.command("config")))

    def logs(self, service: str | None = None) -> str:
        with _translated("docker compose logs"):
            wanted = [service] if service else []
            return str(run_docker(self.command("logs", "--no-color", "--timestamps", *wanted)))

    def run_in(self, service: str, argv: Sequence[str], *, stdin: str = "") -> str:
        """Run a command in a service's container and return what it printed."""
        with _translated(f'"{argv[0]}" in service "{service}"'):
            return str(run_docker(self.command("exec", "-T", service, *argv), input=stdin.encode()))

    def start_in(self, service: str, argv: Sequence[str]) -> None:
        """Start a command in a service's container and leave it running there."""
        with _translated(f'"{argv[0]}" in service "{service}"'):
            run_docker(self.command("exec", "--detach", service, *argv))

    def kill(self, service: str) -> None:
        """End a service at once, as kill -9 and a power cut do."""
        with _translated(f'killing service "{service}"'):
            run_docker(self.command("kill", "--signal", "SIGKILL", service))

    def stop(self, service: str) -> None:
        """End a service as "docker stop" does, with its time to end by itself."""
        with _translated(f'stopping service "{service}"'):
            run_docker(self.command("stop", service))

    def start(self, service: str, *, timeout_s: float) -> None:
        """Start a service that has ended, as it was, and wait until it is healthy."""
        options = ("--detach", "--wait", "--no-deps", "--no-recreate")
        follow(self.command("up", *options, service), lambda _: None, timeout_s=timeout_s)

    def attach(self, *args: str) -> int:
        """Hand the terminal to a Compose command (`exec`, `logs -f`) and give its exit code."""
        return subprocess.call(self.command(*args))


def follow(
    command: list[str],
    on_line: Callable[[str], None],
    *,
    look: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = math.inf,
) -> None:
    """Run a long command line by line; whatever ends us ends it first.

    So do `timeout_s`, and an error of `look`, which is called whenever nothing was said for a second.
    In a session of its own: a Ctrl-C reaches only the lab, which stops this command and then removes
    what it had created. Left alone it would go on creating containers behind the clean-up's back.
    """
    lines: list[str] = []
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    until = time.monotonic() + timeout_s
    said: SimpleQueue[str | None] = SimpleQueue()
    reader = threading.Thread(target=_pass_on, args=(process.stdout, said), daemon=True)
    reader.start()
    try:
        while (line := _next(said)) is not None:
            if line:
                lines.append(line.rstrip())
                on_line(line.strip())
            else:
                look()
            if time.monotonic() > until:
                raise EngineError(f"docker {_verb(command)} failed: not done within {timeout_s:g} s")
        code = process.wait()
    except EngineError as error:
        error.output = "\n".join(lines)
        raise
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_TERMINATE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join(_TERMINATE_S)
        if process.stdout is not None and not reader.is_alive():
            process.stdout.close()
    if code != 0:
        raise EngineError(f"docker {_verb(command)} failed: {_last(lines)}", output="\n".join(lines))


def _pass_on(lines: IO[str] | None, said: SimpleQueue[str | None]) -> None:
    for line in lines or ():
        said.put(line)
    said.put(None)


def _next(said: SimpleQueue[str | None]) -> str | None:
    """A line; none is left; or nothing was said for a while."""
    try:
        return said.get(timeout=_SILENT_S)
    except Empty:
        return ""


def _verb(command: list[str]) -> str:
    return next((part for part in command if part in ("up", "build", "config", "logs")), "compose")


def _last(lines: list[str]) -> str:
    """The last words that tell something: after an error the client may advise to read its help."""
    told = (line.strip() for line in reversed(lines))
    telling = (line for line in told if line not in _UNSAID and not line.endswith(_ADVICE))
    return next(telling, "it said nothing")


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except ClientNotFoundError as error:
        raise EngineError(f"{what} failed: there is no docker client", 'see "lab doctor"') from error
    except DockerException as error:
        told = [line for line in (error.stderr or "").splitlines() if line.strip()]
        raise EngineError(f"{what} failed: {_last(told)}") from error
    except OSError as error:  # as on a host that can start no more processes
        raise EngineError(f"{what} failed: {error.strerror or error}", 'see "lab doctor"') from error


def started_at(inspected: Mapping[str, Any]) -> datetime:
    """When a container last began to run."""
    return datetime.fromisoformat(inspected["State"]["StartedAt"])


def inspect(ids: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(docker("inspect", *ids)) if ids else []
    return found


def logs(container: str) -> str:
    """Everything a container wrote, stdout and stderr in the order of time."""
    with _translated("docker logs"):
        done = subprocess.run(
            ["docker", "logs", "--timestamps", container],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode:  # what the client says then is no line of the container's
        raise EngineError(f"docker logs failed: {_last(done.stdout.splitlines())}", output=done.stdout)
    return done.stdout
