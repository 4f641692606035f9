"""fault: settings are read by the fault's own types, and mistakes are told before anything is done."""

import json
from typing import Any

import pytest

from lab.cli import faults as cli_faults
from lab.cli import program as cli
from lab.faults import (
    FAULTS,
    Brokers,
    Entry,
    Fault,
    Kill,
    Partition,
    ResetLink,
    Restart,
    Service,
    SlowLink,
    Workers,
)
from lab.faults.inverse import Nothing
from lab.project import state_folder

Captured = pytest.CaptureFixture[str]

MADE: list[tuple[list[str], Fault]] = [
    (["kill", "victim=brokers:source"], Kill(victim=Brokers("source"))),
    (["restart", "victim=a", "hard=true"], Restart(victim=Service("a"), hard=True)),
    (
        ["partition", "side=workers", "other=link"],
        Partition(side=Workers(), other=Service("link"), one_way=False),
    ),
    (["slow-link", "cluster=source", "delay_ms=200"], SlowLink(cluster="source", delay_ms=200)),
    (
        ["reset-link", "cluster=source", "fraction=0.5", "broker=b"],
        ResetLink(cluster="source", fraction=0.5, broker="b"),
    ),
]


@pytest.mark.parametrize(("told", "fault"), MADE, ids=[told[0] for told, _ in MADE])
def test_a_fault_is_made_of_what_was_said(told: list[str], fault: Fault) -> None:
    assert cli_faults.made(told[0], told[1:]) == fault


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["kil"], 'no fault named "kil"', 'did you mean "kill"?'),
        (["kill"], 'fault "kill" needs --set victim=…', "it has victim=VICTIM"),
        (
            ["kill", "--set", "who=a"],
            'fault "kill" has no setting "who=a"',
            "it has victim=VICTIM",
        ),
        (["kill", "--set", "victim"], 'fault "kill" has no setting "victim"', "it has victim=VICTIM"),
        (
            ["slow-link", "--set", "cluster=a", "--set", "delay_ms=long"],
            'delay_ms="long" is not a number',
            "e.g. --set delay_ms=1",
        ),
        (
            ["restart", "--set", "victim=a", "--set", "hard=maybe"],
            'hard="maybe" is neither true nor false',
            "e.g. --set hard=true",
        ),
        (
            ["kill", "--set", "victim=a", "--for", "5x"],
            '"5x" is not a duration',
            "a positive number with s, m or h, e.g. 90s",
        ),
        (
            ["kill", "--set", "victim=a", "--for", "10m"],
            "it cannot be held for 600 s with a limit of 600 s",
            "give it a longer --limit",
        ),
    ],
)
def test_a_mistake_is_told_before_anything_is_done(
    capsys: Captured, arguments: list[str], error: str, hint: str
) -> None:
    assert cli.exit_code(["fault", "inject", *arguments]) == 2
    assert capsys.readouterr().err == f"error: {error}\nhint: {hint}\n"


def test_list_shows_what_can_be_broken_and_what_was(capsys: Captured) -> None:
    lease = state_folder() / "labs/a/lab.env"
    lease.parent.mkdir(parents=True)
    lease.write_text("LAB_TOPOLOGY=resilience\n")
    Entry.open("a", "f0", what="kill one", settings={}, inverse=Nothing(why="a test"), limit_s=9)

    assert cli.exit_code(["fault", "list", "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [fault["name"] for fault in told["faults"]] == list(FAULTS)
    assert told["faults"][0]["settings"] == ["victim"]
    assert told["made"] == [{"lab": "a", "id": "f0", "what": "kill one", "open": True}]
    assert cli.exit_code(["fault", "list"]) == 0
    assert "in force" in capsys.readouterr().out


def test_list_of_a_lab_that_is_not_up_is_refused(capsys: Captured) -> None:
    assert cli.exit_code(["fault", "list", "--name", "b"]) == 2
    assert 'no lab named "b" is up' in capsys.readouterr().err
