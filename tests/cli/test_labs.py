"""Commands that need no engine: what there is, and which lab is meant."""

import json
from pathlib import Path

import pytest

from lab.cli import program as cli
from lab.engine import Container
from lab.harness import Lab
from lab.project import COMPOSE
from lab.removal import Removed

Captured = pytest.CaptureFixture[str]


def lease(state: Path, name: str) -> None:
    path = state / f"labs/{name}/lab.env"
    path.parent.mkdir(parents=True)
    path.write_text(
        f"LAB_TOPOLOGY=basic-mirror\nLAB_NAME={name}\nKAFKA_VERSION=3.9.1\n"
        "ZOOKEEPER_PORT=1\nZOOKEEPER2_PORT=2\nBROKER_PORT=3\nBROKER2_PORT=4\nCONNECT_PORT=5\nSPARK_PORT=6\n"
    )


def test_list_shows_topologies_and_labs(capsys: Captured, state: Path) -> None:
    lease(state, "mine")

    assert cli.exit_code(["list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    basic = next(found for found in told["topologies"] if found["name"] == "basic-mirror")
    assert basic["clusters"] == {"source": ["broker"], "target": ["broker2"]}
    assert basic["connectors"] == ["test_mirror"]
    assert told["labs"] == [{"name": "mine", "topology": "basic-mirror"}]


def test_list_suggests_what_to_start(capsys: Captured) -> None:
    assert cli.exit_code(["list"]) == 0
    out, err = capsys.readouterr()
    assert "basic-mirror" in out
    assert "Labs: none is up" in out
    assert err == "next: lab up basic-mirror starts one\n"


def test_with_several_labs_one_is_chosen_by_name(capsys: Captured, state: Path) -> None:
    lease(state, "a")
    lease(state, "b")

    assert cli.exit_code(["topics"]) == 2
    assert capsys.readouterr().err == "error: several labs are up: a, b\nhint: choose one with --name\n"
    assert cli.exit_code(["down"]) == 2
    assert capsys.readouterr().err == "error: several labs are up: a, b\nhint: choose one with --name\n"
    assert cli.exit_code(["topics", "--name", "bb"]) == 2
    assert capsys.readouterr().err == 'error: no lab named "bb" is up\nhint: did you mean "b"?\n'


def test_the_lab_may_be_named_by_the_environment(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    lease(state, "a")
    lease(state, "b")
    monkeypatch.setenv("LAB_NAME", "b")

    assert cli.exit_code(["open", "--json"]) == 0
    endpoints = json.loads(capsys.readouterr().out)["endpoints"]
    assert [(e["service"], e["address"]) for e in endpoints] == [
        ("zookeeper", "127.0.0.1:1"),
        ("zookeeper2", "127.0.0.1:2"),
        ("broker", "127.0.0.1:3"),
        ("broker2", "127.0.0.1:4"),
        ("connect", "http://127.0.0.1:5"),
        ("spark", "sc://127.0.0.1:6"),
    ]


@pytest.mark.parametrize(
    ("argv", "err"),
    [
        (
            ["open", "conect"],
            'error: nothing to open as "conect"\nhint: did you mean "connect"?\n',
        ),
        (
            ["logs", "brker"],
            'error: lab "a" has no service "brker"\nhint: did you mean "broker"?\n',
        ),
        (
            ["logs", "broker", "--follow", "--json"],
            "",
        ),
        (
            ["exec", "brker", "ls"],
            'error: lab "a" has no service "brker"\nhint: did you mean "broker"?\n',
        ),
        (
            ["topics", "--cluster", "sorce"],
            'error: topology "basic-mirror" has no cluster "sorce"\nhint: did you mean "source"?\n',
        ),
        (
            ["mm2", "deploy", "target"],
            'error: of the connectors of source "target" mm2-msc-target.json, mm2-cpc-target.json, '
            "mm2-hbc-target.json are missing\n"
            f"hint: write them into {COMPOSE}/basic-mirror/connectors\n",
        ),
        (
            ["mm2", "deploy", "tset_mirror"],
            'error: no connector, no file and no source named "tset_mirror"\n'
            'hint: did you mean "test_mirror"?\n',
        ),
    ],
)
def test_what_a_lab_does_not_have_is_bad_input(
    capsys: Captured, state: Path, argv: list[str], err: str
) -> None:
    lease(state, "a")

    assert cli.exit_code(argv) == 2
    assert capsys.readouterr().err == err


def test_down_without_labs_has_nothing_to_do(capsys: Captured) -> None:
    assert cli.exit_code(["down"]) == 0
    assert capsys.readouterr() == ("nothing was up\n", "")


def test_down_names_the_labs_that_are_up_where_the_named_one_is_not(
    capsys: Captured, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.harness.bring_down", lambda _: Removed())
    lease(state, "monday")

    assert cli.exit_code(["down", "--name", "munday"]) == 0
    assert capsys.readouterr() == ('nothing was up as "munday"; up: monday\n', "")

    assert cli.exit_code(["down", "--name", "munday", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["still_up"] == ["monday"]

    assert cli.exit_code(["down", "--name", "monday"]) == 0
    assert capsys.readouterr() == ("lab monday is down: it had no containers\n", "")


@pytest.mark.parametrize(
    ("boxes", "told"),
    [
        ([Container(id="1", project="lab-a", service="broker", state="exited", health="")], "exited"),
        ([Container(id="1", project="lab-a", service="broker2", state="running", health="")], "not there"),
    ],
)
def test_exec_says_that_a_service_does_not_run(
    capsys: Captured, state: Path, monkeypatch: pytest.MonkeyPatch, boxes: list[Container], told: str
) -> None:
    monkeypatch.setattr(Lab, "containers", lambda _: boxes)
    lease(state, "a")

    assert cli.exit_code(["exec", "broker", "ls"]) == 1
    assert capsys.readouterr().err == (
        f'error: service "broker" of lab "a" is {told}\n'
        'hint: "lab up basic-mirror --name a" brings it back; "lab logs broker" shows what it wrote\n'
    )
