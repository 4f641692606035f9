"""A pretended machine: a folder for its files, a table of answers for its commands and its engine."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lab.setup.command import Completed
from lab.setup.engine_api import Endpoint, Reply
from lab.setup.host import Host

PING = Reply(200, "OK", "1.41", "Docker/20.10.24 (linux)")
METADATA = Completed(0, '{"Version": "v2.26.1"}')
DEBIAN_12 = 'ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian GNU/Linux 12"\n'


@dataclass
class FakeEngine:
    """Answers by "METHOD /path" prefix; an exception among the answers is raised."""

    answers: dict[str, Reply | OSError] = field(default_factory=lambda: {"GET /_ping": PING})
    asked: list[str] = field(default_factory=list)

    def __call__(
        self, endpoint: Endpoint, method: str, path: str, *, body: str | None = None, timeout_s: float = 5.0
    ) -> Reply:
        request = f"{method} {path}"
        self.asked.append(request)
        for prefix, answer in self.answers.items():
            if request.startswith(prefix):
                if isinstance(answer, OSError):
                    raise answer
                return answer
        return Reply(404, '{"message": "page not found"}')


@dataclass
class FakeRun:
    """Answers by the words that a command holds; `effects` run when such a command does."""

    answers: dict[str, Completed] = field(default_factory=dict)
    effects: dict[str, Callable[[list[str]], None]] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    def __call__(self, command: list[str], *, timeout_s: float = 60.0) -> Completed:
        line = shlex.join(command)
        self.commands.append(line)
        for words, effect in self.effects.items():
            if words in line:
                effect(command)
        return next((a for words, a in self.answers.items() if words in line), Completed(1, stderr="no"))


@dataclass
class Machine:
    """The pretended machine and the levers of a test."""

    root: Path
    engine: FakeEngine
    run: FakeRun
    programs: set[str]
    host: Host

    def change(self, **settings: object) -> Host:
        self.host = replace(self.host, **settings)  # type: ignore[arg-type]
        return self.host

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def stop_engine(self) -> None:
        self.engine.answers = {"GET ": FileNotFoundError(2, "No such file or directory")}

    def forget_plugin(self) -> None:
        (self.root / "home/.docker/cli-plugins/docker-compose").unlink()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Debian 12, root, no systemd, with an engine that answers and a Compose plugin."""
    programs = {"docker", "dockerd", "iptables", "tc", "unshare", "debootstrap"}
    run = FakeRun(answers={"docker-cli-plugin-metadata": METADATA})
    engine = FakeEngine()
    host = Host(
        root=tmp_path,
        home=tmp_path / "home",
        env={},
        uid=0,
        system="Linux",
        run=run,
        which=lambda name: f"/usr/bin/{name}" if name in programs else None,
        ask=engine,
    )
    made = Machine(root=tmp_path, engine=engine, run=run, programs=programs, host=host)
    made.write("etc/os-release", DEBIAN_12)
    made.write("home/.docker/cli-plugins/docker-compose", "")
    return made
