"""Docker's words become the lab's: containers in every state, errors in one line, removal by label."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import engine, removal
from lab.engine import Container, EngineError, Project, follow
from lab.removal import Removed

Script = Callable[[str], Path]


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """A `docker` that runs these lines of shell; gives the file where it notes its arguments."""

    def write(lines: str) -> Path:
        noted = tmp_path / "noted"
        path = tmp_path / "bin/docker"
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\necho "$@" >>{shlex.quote(str(noted))}\n{lines}\n')
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
        return noted

    return write


def row(service: str, state: str, status: str) -> str:
    labels = f"com.docker.compose.project=lab-a,com.docker.compose.service={service},io.mirror-lab=true"
    return json.dumps(
        {"ID": f"id-{service}", "Names": "x", "Labels": labels, "State": state, "Status": status}
    )


def test_containers_are_read_in_every_state_by_service(scripted: Script) -> None:
    rows = "\n".join(
        [
            row("spark", "running", "Up 3 seconds"),
            row("connect", "running", "Up 3 seconds (health: starting)"),
            row("broker", "running", "Up 3 seconds (healthy)"),
            row("broker2", "running", "Up 3 minutes (unhealthy)"),
            row("zookeeper", "exited", "Exited (137) 2 seconds ago"),
        ]
    )
    noted = scripted(f"cat <<'E'\n{rows}\nE")

    found = engine.containers("lab-a")

    assert [(box.service, box.state, box.health, box.ready) for box in found] == [
        ("broker", "running", "healthy", True),
        ("broker2", "running", "unhealthy", False),
        ("connect", "running", "starting", False),
        ("spark", "running", "", True),
        ("zookeeper", "exited", "", False),
    ]
    assert found[0] == Container(
        id="id-broker", project="lab-a", service="broker", state="running", health="healthy"
    )
    assert "--filter label=io.mirror-lab=true --filter label=com.docker.compose.project=lab-a" in (
        noted.read_text()
    )


def test_what_docker_refuses_is_one_line(scripted: Script) -> None:
    scripted('echo "some warning" >&2; echo "" >&2; echo "Error: no such thing" >&2; exit 1')

    with pytest.raises(EngineError) as caught:
        engine.containers()

    assert caught.value.message == "docker ps failed: Error: no such thing"


@pytest.mark.parametrize(
    "empty", ["Run 'docker run --help' for more information", "See 'docker run --help'.", "exit status 1"]
)
def test_an_advice_to_read_help_is_not_what_went_wrong(scripted: Script, empty: str) -> None:
    scripted(f'echo "docker: no such image" >&2; echo >&2; echo "{empty}" >&2; exit 125')

    with pytest.raises(EngineError, match=r"^docker run failed: docker: no such image$"):
        engine.docker("run", "x")


def test_what_a_helper_of_the_client_ended_with_is_told(scripted: Script) -> None:
    scripted('echo "error getting credentials: helper: exit status 1" >&2; exit 1')

    with pytest.raises(EngineError, match=r"^docker run failed: error getting credentials: helper: exit sta"):
        engine.docker("run", "x")


def test_an_image_reads_a_text_without_a_network_and_ends(scripted: Script) -> None:
    log = scripted('echo "$@"; cat; exit 1')

    code, told = engine.run_once("mirror-lab/strimzi:1", stdin="a: b\n")

    assert log
    assert (code, told) == (
        1,
        "run --rm --interactive --network none --label io.mirror-lab=true mirror-lab/strimzi:1\na: b\n",
    )


def test_an_image_that_does_not_start_is_an_error(scripted: Script) -> None:
    scripted('echo "No such image: x" >&2; exit 125')

    with pytest.raises(EngineError, match="docker run failed: No such image: x"):
        engine.run_once("x", stdin="")


def test_what_the_client_says_is_no_line_of_a_containers_log(scripted: Script) -> None:
    scripted(
        '[ "$3" = there ] || { echo "Error: No such container: $3" >&2; exit 1; }; echo out; echo err >&2'
    )

    assert engine.logs("there") == "out\nerr\n"
    with pytest.raises(EngineError, match=r"^docker logs failed: Error: No such container: gone$"):
        engine.logs("gone")


def test_a_client_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen.__init__", no_more)
    monkeypatch.setattr("subprocess.Popen.__del__", lambda _: None)

    with pytest.raises(EngineError, match=r"^docker ps failed: Resource temporarily unavailable$"):
        engine.containers()


_THERE_UNTIL_REMOVED = """
here=$(dirname "$0")/gone
mkdir -p "$here"
shows() { for one; do [ -e "$here/$one" ] || echo "$one"; done; }
case "$1 $2" in
"ps --all") shows b1 b2 ;;
"network ls") shows n1 ;;
"rm --force") touch "$here/$4" "$here/$5" ;;
"network rm") touch "$here/$3" ;;
esac
"""


def test_removal_is_by_label_and_counts(scripted: Script) -> None:
    noted = scripted(_THERE_UNTIL_REMOVED)

    removed = removal.remove("lab-a")

    assert removed == Removed(containers=2, networks=1, volumes=0)
    assert str(removed) == "2 containers, 1 network"
    filters = "--filter label=io.mirror-lab=true --filter label=com.docker.compose.project=lab-a"
    looks = [f"{kind} --quiet {filters}" for kind in ("ps --all", "network ls", "volume ls")]
    asked = noted.read_text().splitlines()
    assert asked[:5] == [looks[0], "rm --force --volumes b1 b2", looks[1], "network rm n1", looks[2]]
    assert asked[5:] == looks, "a last look finds nothing"


def test_what_is_made_meanwhile_is_removed_too(scripted: Script) -> None:
    """By a Compose whose `lab up` was killed: its network cannot go before its last container has gone."""
    noted = scripted(
        """here=$(dirname "$0")
case "$1 $2" in
"ps --all") [ -e "$here/gone" ] || { [ -e "$here/late" ] && echo late || echo b1; } ;;
"rm --force") if [ "$4" = late ]; then touch "$here/gone"; else touch "$here/late"; fi ;;
"network ls") [ -e "$here/no-network" ] || echo n1 ;;
"network rm")
    [ -e "$here/gone" ] || { echo "error: network n1 has active endpoints" >&2; exit 1; }
    touch "$here/no-network" ;;
esac"""
    )

    assert removal.remove("lab-a")
    removals = [line for line in noted.read_text().splitlines() if " --force" in line or "network rm" in line]
    assert removals == [
        "rm --force --volumes b1",
        "network rm n1",
        "rm --force --volumes late",
        "network rm n1",
    ]


@pytest.mark.parametrize(("there", "held"), [("ps", True), ("volume", True), ("network", False)])
def test_a_lab_is_there_with_its_records_when_its_containers_are_gone(
    scripted: Script, there: str, held: bool
) -> None:
    scripted(f'[ "$1" != {there} ] || echo x1')

    assert removal.holds_anything("lab-a") is held


def test_nothing_removed_is_false() -> None:
    assert not Removed()
    assert Removed(volumes=1)


@pytest.mark.parametrize(
    "words", ["Error: No such container: b1", "network n1 not found", "removal of b1 is already in progress"]
)
def test_what_another_clean_up_removed_first_is_no_error(scripted: Script, words: str) -> None:
    scripted(
        f"""gone=$(dirname "$0")/gone
case "$1" in ps) [ -e "$gone" ] || echo b1 ;; rm) touch "$gone"; echo "{words}" >&2; exit 1 ;; esac"""
    )

    assert removal.remove().containers == 1


def test_another_failure_of_a_removal_is_an_error(scripted: Script) -> None:
    scripted('case "$1" in ps) echo b1 ;; rm) echo "permission denied" >&2; exit 1 ;; esac')

    with pytest.raises(EngineError, match=r"^docker rm failed: permission denied$"):
        removal.remove()


def test_a_network_that_the_engine_thinks_is_in_use_is_told_with_what_to_do(scripted: Script) -> None:
    scripted(
        """case "$1 $2" in
"network ls") echo n1 ;;
"network rm") echo "error while removing network: n1 has active endpoints" >&2
              echo "exit status 1" >&2; exit 1 ;;
esac"""
    )

    with pytest.raises(EngineError, match=r"^docker network failed: .*: n1 has active endpoints$") as caught:
        removal.remove()

    assert (caught.value.hint or "").endswith("restart the Docker engine")


def test_a_project_is_what_its_files_say_whatever_the_shell_exports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What they do not name may be meant for something else in them."""
    lease = tmp_path / "lab.env"
    lease.write_text("LAB_NAME=a\nBROKER_PORT=9092\n")
    project = Project("lab-a", tmp_path / "compose.yaml", lease, frozenset({"MY_HEAP"}))
    of_a_lab = ("BROKER_PORT", "COMPOSE_PROFILES", "KAFKA_VERSION", "LAB_NAME", "MY_HEAP")
    for name in of_a_lab:
        monkeypatch.delenv(name, raising=False)
    plain = project.command("config")
    assert plain[0].endswith("docker")

    for name in ("LAB_REGISTRY", "DOCKER_HOST", "KUBERNETES_SERVICE_PORT", "LAB_OF_MINE"):
        monkeypatch.setenv(name, "1")
    assert project.command("config") == plain

    for name in of_a_lab:
        monkeypatch.setenv(name, "1")
    unset = [part for name in of_a_lab for part in ("-u", name)]
    assert project.command("config") == ["env", *unset, *plain]


def test_a_project_is_compose_with_its_files_and_both_env_files(scripted: Script, tmp_path: Path) -> None:
    noted = scripted("echo rendered")
    project = Project("lab-a", tmp_path / "compose.yaml", tmp_path / "lab.env")

    assert project.rendered() == "rendered"

    line = noted.read_text()
    assert line.startswith("compose ")
    assert f"--file {tmp_path}/compose.yaml" in line
    assert "--project-name lab-a" in line
    assert line.index("versions.env") < line.index("lab.env")
    assert line.endswith(" config\n")


def test_a_docker_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EngineError, match=r"^docker ps failed: there is no docker client$"):
        engine.containers()


def test_a_followed_command_gives_its_lines_as_they_come() -> None:
    lines: list[str] = []

    follow(["sh", "-c", "echo one; echo two >&2"], lines.append)

    assert lines == ["one", "two"]


def test_a_followed_command_that_fails_says_its_last_words() -> None:
    with pytest.raises(EngineError) as caught:
        follow(["sh", "-c", "echo first; echo; echo last; exit 3", "up"], lambda _: None)

    assert caught.value.message == "docker up failed: last"
    assert caught.value.output == "first\n\nlast"


def test_a_followed_command_that_fails_silently_says_that() -> None:
    with pytest.raises(EngineError, match=r"^docker build failed: it said nothing$"):
        follow(["sh", "-c", "exit 3", "build"], lambda _: None)


def test_a_followed_command_that_takes_too_long_is_ended() -> None:
    with pytest.raises(EngineError, match=r"^docker up failed: not done within 0\.5 s$"):
        follow(["sh", "-c", "echo waiting; exec sleep 60", "up"], lambda _: None, timeout_s=0.5)

    follow(["sh", "-c", "echo in time", "up"], lambda _: None, timeout_s=60)
    with pytest.raises(EngineError, match=r"^docker up failed: no such image$"):
        follow(["sh", "-c", "echo no such image; exit 1", "up"], lambda _: None, timeout_s=60)


def test_a_look_while_nothing_is_said_can_end_a_followed_command() -> None:
    lines: list[str] = []

    def look() -> None:
        if lines:
            raise EngineError(f"ended after {lines}")

    with pytest.raises(EngineError, match=r"^ended after \['waiting'\]$") as caught:
        follow(["sh", "-c", "echo waiting; exec sleep 60", "up"], lines.append, look=look)

    assert caught.value.output == "waiting"
    lines.clear()
    follow(["sh", "-c", "sleep 1.2; echo in time"], lines.append, look=look)
    assert lines == ["in time"]


_INTERRUPTED = """
import sys
from lab.engine import follow
from lab.interruption import treat_sigterm_as_ctrl_c
treat_sigterm_as_ctrl_c()
try:
    follow(["sh", "-c", "echo $$; exec sleep 60"], lambda line: print(line, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_a_followed_command_first(number: signal.Signals) -> None:
    lab = subprocess.Popen([sys.executable, "-c", _INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    followed = int(lab.stdout.readline())

    lab.send_signal(number)
    rest, _ = lab.communicate(timeout=20)

    assert rest == "interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.kill(followed, 0)
