"""What of `lab sync-offsets` needs no cluster: its options, the tutorial's too, its words, its exit codes."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from lab import topology
from lab.cli import sync_offsets as command
from lab.cli.program import exit_code
from lab.errors import BadInput
from lab.harness import Lab
from lab.kafka import Cluster, ClusterError
from lab.mm2 import DEFAULT_POLICY, IDENTITY_POLICY, known_policy
from lab.offset_sync import Decision, GroupSync, Refusal, Why, Write

Captured = pytest.CaptureFixture[str]
WRITTEN = Write(topic="a.t", partition=0, before=None, offset=1_200, upstream=1_205, metadata="")
REFUSAL = Refusal(group="app", why=Why.REWIND, message="further than that", remedy="see there")
FINE = Decision(group="app", state="empty", writes=(WRITTEN,), unchanged=(("a.t", 1),))
REFUSED = Decision(group="app", state="empty", refused=(REFUSAL, REFUSAL))
GONE = ClusterError("no answer", "see there")


class Synced:
    """Stands for GroupSync: each round is what it was told to be, and the last of them for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.rounds: list[Decision | BaseException] = [FINE]
        self.made: list[GroupSync] = []
        self.written = 0
        monkeypatch.setattr(command, "GroupSync", self.make)
        self.file = tmp_path / "consumer.properties"
        self.file.write_text("bootstrap.servers=127.0.0.1:1, 127.0.0.1:2\ngroup.id=any\n")

    def make(self, **given: Any) -> GroupSync:
        self.made.append(GroupSync(**given))
        return cast(GroupSync, self)

    def decide(self) -> list[Decision]:
        found = self.rounds.pop(0) if len(self.rounds) > 1 else self.rounds[0]
        if isinstance(found, BaseException):
            raise found
        return [found]

    def write(self, decision: Decision) -> Decision:
        self.written += 1
        return decision

    def run(self, *options: str) -> int:
        return exit_code(["sync-offsets", "-cgi", "app", "-src", "a", "-pfp", str(self.file), *options])


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Synced:
    return Synced(monkeypatch, tmp_path)


def test_the_tutorials_line_needs_no_lab(synced: Synced, capsys: Captured) -> None:
    assert synced.run("-rf", "0.3s", "-int", "0.1", "-rps", "-", "-rpc", "DefaultReplicationPolicy") == 0

    (made,) = synced.made
    assert (made.source, list(made.groups), made.policy, made.separator) == (
        "a",
        ["app"],
        DEFAULT_POLICY,
        "-",
    )
    assert made.destination.bootstrap == "127.0.0.1:1,127.0.0.1:2"
    assert synced.written >= 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("Z  wrote 1, unchanged 1, refused 0")
    assert lines[1] == "    app  a.t/0  – → 1,200, as 1,205 on the source"  # noqa: RUF001 - as it is printed


def test_once_is_one_round_as_a_table(synced: Synced, capsys: Captured) -> None:
    assert synced.run("--once") == 0

    out = capsys.readouterr().out
    assert synced.written == 1
    assert "written" in out
    assert "as the checkpoint says" in out


@pytest.mark.parametrize("options", [["--dry-run"], ["--dry-run", "--once"]])
def test_a_dry_run_writes_nothing(synced: Synced, capsys: Captured, options: list[str]) -> None:
    assert synced.run(*options) == 0

    assert synced.written == 0
    assert "would be written" in capsys.readouterr().out


def test_what_is_refused_is_two_lines_and_an_exit_code(synced: Synced, capsys: Captured) -> None:
    synced.rounds = [REFUSED]

    assert synced.run("--once") == 1
    out, err = capsys.readouterr()
    assert "refused: rewind" in out
    assert err == "error: further than that (and 1 more refused)\nhint: see there\n"


def test_a_group_that_is_not_there_is_bad_input_and_nothing_is_written(
    synced: Synced, capsys: Captured
) -> None:
    missing = Refusal(group="ap", why=Why.MISSING, message="no checkpoint", remedy="see there")
    synced.rounds = [Decision(group="ap", state="", writes=(WRITTEN,), refused=(missing,))]

    assert synced.run("--once") == 2
    assert synced.written == 0
    assert capsys.readouterr() == ("", "error: no checkpoint\nhint: see there\n")
    assert synced.run("-rf", "0.1s", "-int", "0.1") == 2, "it may come, so a loop waits for it"
    assert synced.written >= 1


def test_json_is_one_object_with_all_of_it(synced: Synced, capsys: Captured) -> None:
    synced.rounds = [REFUSED]

    assert synced.run("--once", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["error"], told["hint"], told["exit_code"]) == (
        "further than that (and 1 more refused)",
        "see there",
        1,
    )
    assert [r["why"] for r in told["groups"][0]["refused"]] == ["rewind", "rewind"]

    synced.rounds = [REFUSED, FINE]
    assert synced.run("--for", "0.3s", "--interval", "0.1", "--json") == 0, "the last round counts"
    rounds = json.loads(capsys.readouterr().out)["rounds"]
    assert len(rounds) >= 2
    assert rounds[1]["groups"][0]["writes"][0]["offset"] == 1_200


def test_a_cluster_that_goes_away_is_waited_for_but_must_be_there_at_first(
    synced: Synced, capsys: Captured
) -> None:
    synced.rounds = [FINE, GONE, FINE]
    assert synced.run("-rf", "0.4s", "-int", "0.1") == 0
    assert capsys.readouterr().err == "error: no answer\nhint: see there\n"

    synced.rounds = [GONE]
    assert synced.run("-rf", "0.4s", "-int", "0.1") == 1
    assert capsys.readouterr().err == "error: no answer\nhint: see there\n"


def test_a_cluster_that_does_not_come_back_ends_it_with_its_error(synced: Synced, capsys: Captured) -> None:
    synced.rounds = [FINE, GONE]
    assert synced.run("-rf", "0.3s", "-int", "0.1") == 1
    assert capsys.readouterr().err.endswith("error: no answer\nhint: see there\n")

    synced.rounds = [FINE, GONE]
    assert synced.run("-rf", "0.3s", "-int", "0.1", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["error"], len(told["rounds"])) == ("no answer", 1)


def test_ctrl_c_ends_it_with_its_own_code(synced: Synced, capsys: Captured) -> None:
    synced.rounds = [FINE, KeyboardInterrupt()]

    assert synced.run("-int", "0.1") == 130
    out, err = capsys.readouterr()
    assert "wrote 1" in out
    began, error, hint = err.splitlines()
    assert began == "next: Ctrl-C ends this; until then a round every 0.1 s; --once for one round"
    assert (error, hint[:6]) == ("error: syncing was interrupted", "hint: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--once", "--interval", "3"], "--once goes with neither --interval nor --for"),
        (["--once", "-rf", "3"], "--once goes with neither --interval nor --for"),
        (["-rf", "soon"], '"soon" is not a duration'),
        (["--json"], "--json needs --once, --dry-run or --for"),
        (["-rpc", "com.example.Policy"], 'no replication policy "com.example.Policy" is known here, and'),
    ],
)
def test_options_that_cannot_be_are_refused(
    synced: Synced, capsys: Captured, options: list[str], message: str
) -> None:
    assert synced.run(*options) == 2
    out, err = capsys.readouterr()
    told = json.loads(out)["error"] if out else err.removeprefix("error: ")
    assert told.startswith(message)
    assert not synced.made


def test_a_file_alone_does_not_say_which_source(synced: Synced, capsys: Captured) -> None:
    assert exit_code(["sync-offsets", "--group", "app", "--properties", str(synced.file)]) == 2
    assert capsys.readouterr().err.startswith("error: the source's alias is not given\n")


def test_a_group_must_be_named(capsys: Captured) -> None:
    assert exit_code(["sync-offsets", "-src", "a"]) == 2
    assert capsys.readouterr().err.startswith("error: Missing option '--group'")


def test_without_bootstrap_servers_the_lab_knows_them(synced: Synced, capsys: Captured) -> None:
    synced.file.write_text("client.id=x\n")

    assert synced.run("--once") == 2
    assert capsys.readouterr().err.startswith("error: no lab is up\n")


def test_a_read_only_topology_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class ReadOnly:
        roles, target, topology = None, Cluster("b", "127.0.0.1:1"), None

        def require_writable(self, doing: str) -> None:
            raise BadInput(f"{doing} would change clusters")

    lab = ReadOnly()
    lab.topology = lab  # type: ignore[assignment]
    monkeypatch.setattr(Lab, "attach", lambda _: lab)

    with pytest.raises(BadInput, match="syncing group offsets would change clusters"):
        command._ends("a", None, None, None, writes=True)
    assert command._ends("a", None, None, None, writes=False) == ("a", lab.target)


def test_both_of_kafkas_policies_are_known_by_either_name() -> None:
    assert known_policy("IdentityReplicationPolicy") == IDENTITY_POLICY
    assert known_policy(DEFAULT_POLICY) == DEFAULT_POLICY


def test_of_several_sources_one_must_be_named(capsys: Captured, state: Path) -> None:
    path = state / "labs/many/lab.env"
    path.parent.mkdir(parents=True)
    ports = "".join(f"{p.variable}={n}\n" for n, p in enumerate(topology.load("aggregate").ports, start=1))
    path.write_text(f"LAB_TOPOLOGY=aggregate\nLAB_NAME=many\nKAFKA_VERSION=3.9.1\n{ports}")

    assert exit_code(["sync-offsets", "--group", "app", "--once"]) == 2
    assert capsys.readouterr().err == (
        'error: topology "aggregate" has 2 source clusters: us, uk\nhint: name one with --source\n'
    )
