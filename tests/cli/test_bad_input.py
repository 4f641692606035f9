"""What a user can get wrong is two lines and exit code 2, before anything is created or docker is asked."""

import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab import topology
from lab.cli import mm2 as mm2_commands
from lab.cli import program as cli
from lab.errors import BadInput
from lab.project import COMPOSE
from lab.topology import files, model

Captured = pytest.CaptureFixture[str]
BASIC = ["up", "basic-mirror"]
NO_TIMEOUT = "Invalid value for '--timeout': not a number from 1 to 86400"
UP_HELP = '"lab up --help" shows what it takes'

CASES = {
    "an unknown topology": (
        ["up", "basic-miror"],
        'no topology named "basic-miror"',
        'did you mean "basic-mirror"? "lab list" shows all',
    ),
    "a topology like nothing": (
        ["up", "zzz"],
        'no topology named "zzz"',
        f'known: {", ".join(topology.names())}; "lab list" shows all',
    ),
    "a bad lab name": (
        [*BASIC, "--name", "My Lab!"],
        '"My Lab!" cannot be a lab\'s name',
        "up to 40 of a-z, 0-9 and -, starting with a letter or digit",
    ),
    "an unknown Kafka version": (
        [*BASIC, "--kafka", "3.9"],
        'no Kafka version "3.9"',
        'did you mean "3.9.1"? all: 2.8.2 3.4.0 3.6.2 3.9.1',
    ),
    "a Kafka version without ZooKeeper": (
        [*BASIC, "--kafka", "4.0.0"],
        'topology "basic-mirror" runs with Kafka >=2.8,<4, not with 4.0.0',
        "Kafka 4 has no ZooKeeper",
    ),
    "a port that is a word": (
        [*BASIC, "--port", "broker=many"],
        '"many" is not a port',
        "a number from 1 to 65535, e.g. --port broker=19092",
    ),
    "a port out of range": (
        [*BASIC, "--port", "broker=99999"],
        '"99999" is not a port',
        "a number from 1 to 65535, e.g. --port broker=19092",
    ),
    "a port of an unknown service": (
        [*BASIC, "--port", "brokr=19092"],
        'topology "basic-mirror" has no port "brokr"',
        'did you mean "broker"?',
    ),
    "a variable that the topology has not": (
        ["up", "kraft-2x2", "--set", "LAB_CONNECT_HAEP=-Xmx1g"],
        'topology "kraft-2x2" has no variable "LAB_CONNECT_HAEP"',
        'did you mean "LAB_CONNECT_HEAP"?',
    ),
    "a variable without a value": (
        ["up", "kraft-2x2", "--set", "LAB_CONNECT_HEAP"],
        '"LAB_CONNECT_HEAP" is not VARIABLE=VALUE',
        "e.g. --set LAB_REBALANCE_DELAY_MS=5000",
    ),
    "a time-out of nothing": ([*BASIC, "--timeout", "0"], NO_TIMEOUT, UP_HELP),
    "a negative time-out": ([*BASIC, "--timeout", "-1"], NO_TIMEOUT, UP_HELP),
    "a time-out that is no number": ([*BASIC, "--timeout", "5x"], NO_TIMEOUT, UP_HELP),
    "a time-out of no known length": ([*BASIC, "--timeout", "nan"], NO_TIMEOUT, UP_HELP),
    "a time-out without end": ([*BASIC, "--timeout", "inf"], NO_TIMEOUT, UP_HELP),
    "fewer records than none": (
        ["produce", "orders", "--records", "-1"],
        "Invalid value for '--records': not a number of 1 or more",
        '"lab produce --help" shows what it takes',
    ),
    "fewer keys than none": (
        ["produce", "orders", "--keys", "-1"],
        "Invalid value for '--keys': not a number of 0 or more",
        '"lab produce --help" shows what it takes',
    ),
    "a folder that is not there": (
        ["up", "/nonexistent"],
        '"/nonexistent" is no folder with a compose.yaml',
        'a name that "lab list" shows, or such a folder',
    ),
    "a port without its number": (
        [*BASIC, "--port", "broker"],
        '"broker" is not SERVICE=PORT',
        "e.g. --port broker=19092",
    ),
    "a missing argument": (["up"], "Missing argument 'TOPOLOGY'", UP_HELP),
    "a missing value": (
        [*BASIC, "--port"],
        "Option '--port' requires an argument",
        '"lab --help" shows what it takes',
    ),
    "an unknown option": (
        [*BASIC, "--kafak", "3.9.1"],
        "No such option: --kafak (Possible options: --kafka)",
        UP_HELP,
    ),
    "too many arguments": (
        [*BASIC, "other"],
        "Got unexpected extra argument(s) (other)",
        UP_HELP,
    ),
    "an unknown command": (
        ["upp"],
        "No such command 'upp'. Did you mean 'up'?",
        '"lab --help" shows what it takes',
    ),
    "an unknown command of mm2": (
        ["mm2", "delpoy"],
        "No such command 'delpoy'. Did you mean 'deploy', 'undeploy', 'redeploy'?",
        '"lab mm2 --help" shows what it takes',
    ),
    "no lab to ask": (["status"], "no lab is up", 'start one: "lab up basic-mirror"'),
    "an unknown lab": (["topics", "--name", "other"], 'no lab named "other" is up', "known: none"),
    "an unknown benchmark": (["bench", "upp"], 'no benchmark named "upp"', 'did you mean "up"?'),
    "an unknown Kafka version for images": (
        ["images", "--kafka", "3.9"],
        'no Kafka version "3.9"',
        'did you mean "3.9.1"? all: 2.8.2 3.4.0 3.6.2 3.9.1 4.0.0 4.1.1 4.2.0 4.3.1',
    ),
}
every_case = pytest.mark.parametrize(("argv", "message", "hint"), CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def _nothing_is_created(state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("sys.argv", ["lab"])
    yield
    assert not (state / "labs").exists()
    assert not (state.parent / "runs").exists()


def refused(capsys: Captured, argv: list[str]) -> tuple[str, str]:
    """Error and hint, after a look at the form."""
    code = cli.exit_code(argv)
    out, err = capsys.readouterr()
    lines = err.splitlines()

    assert (code, out, len(lines)) == (2, "", 2), err
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")
    return lines[0].removeprefix("error: "), lines[1].removeprefix("hint: ")


@every_case
def test_a_mistake_is_two_lines(capsys: Captured, argv: list[str], message: str, hint: str) -> None:
    assert refused(capsys, argv) == (message, hint)


@every_case
def test_a_mistake_is_one_object_for_programs(
    capsys: Captured, argv: list[str], message: str, hint: str
) -> None:
    code = cli.exit_code([*argv[:1], "--json", *argv[1:]] if argv[0] != "mm2" else [*argv, "--json"])
    out, err = capsys.readouterr()

    assert (code, err) == (2, "")
    assert json.loads(out) == {"error": message, "hint": hint, "exit_code": 2}


def test_a_port_asked_for_that_is_taken_is_named(capsys: Captured) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        assert refused(capsys, [*BASIC, "--port", f"broker={port}"]) == (
            f"port {port}, asked for as broker, is taken",
            "choose another, or leave it out",
        )


@pytest.fixture
def basic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a basic-mirror that a test may break."""
    shutil.copytree(COMPOSE, tmp_path / "compose", symlinks=True)
    for module in (files, model):
        monkeypatch.setattr(module, "COMPOSE", tmp_path / "compose")
    return tmp_path / "compose/basic-mirror"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_broken_yaml_is_named_by_line_and_column(capsys: Captured, basic: Path) -> None:
    path = basic / "compose.yaml"
    path.write_text("x-lab:\n  title: [one\n  teaches: two\n")

    assert refused(capsys, BASIC) == (f"{path}:3:10: expected ',' or ']', but got ':'", "mend the YAML")


def test_an_unknown_key_of_the_roles_is_named(capsys: Captured, basic: Path) -> None:
    path = basic / "compose.yaml"
    edit(path, "  teaches:", "  techs:")

    assert refused(capsys, BASIC) == (
        'topology "basic-mirror" is not valid: x-lab.teaches: field required; x-lab.techs: no such key',
        f"mend {path}",
    )


def test_a_connector_of_the_topology_that_is_no_object_is_named(capsys: Captured, basic: Path) -> None:
    path = basic / "connectors/test_mirror.json"
    path.write_text("[]")

    assert refused(capsys, BASIC) == (f"{path}: not a JSON object", 'write {"connector.class": …, …}')


def test_a_connector_of_the_topology_with_topic_for_topics_is_named(capsys: Captured, basic: Path) -> None:
    path = basic / "connectors/test_mirror.json"
    edit(path, '"topics"', '"topic"')

    assert refused(capsys, BASIC) == (
        f'{path}: no MM2 connector has the key "topic"',
        'did you mean "topics"?',
    )


@pytest.mark.parametrize("change", ["tasks.max", "=2", ""])
def test_a_change_that_is_not_key_and_value_is_bad_input(change: str) -> None:
    with pytest.raises(BadInput) as caught:
        mm2_commands._chosen(None, None, [change])  # type: ignore[arg-type]

    assert caught.value.message == f'"{change}" is not KEY=VALUE'
