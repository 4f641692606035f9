"""checkpoints, offset-syncs and heartbeats of a lab whose clusters are dicts: which topics, rows, filters."""

import json
import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from lab.cli.program import exit_code
from lab.harness import Lab
from lab.kafka import Record
from lab.mm2 import CHECKPOINT, SOURCE, Connector

Captured = pytest.CaptureFixture[str]


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _record(key: bytes, value: bytes | None, offset: int) -> Record:
    return Record(partition=0, offset=offset, timestamp_ms=offset * 1_000, key=key, value=value, headers=())


def checkpoint(offset: int, group: str, topic: str, downstream: int) -> Record:
    key = _text(group) + _text(topic) + bytes(4)
    return _record(key, struct.pack(">hqq", 0, downstream + 5, downstream) + _text(""), offset)


def sync(offset: int, topic: str, upstream: int) -> Record:
    return _record(_text(topic) + bytes(4), struct.pack(">qq", upstream, upstream + 1_000), offset)


def heartbeat(offset: int, source: str) -> Record:
    return _record(_text(source) + _text("b"), struct.pack(">hq", 0, offset * 1_000), offset)


class FakeCluster:
    def __init__(self, alias: str, topics: Mapping[str, list[Record]]) -> None:
        self.alias, self.topics = alias, topics

    def topic_names(self) -> list[str]:
        return sorted(self.topics)

    def snapshot(self, topic: str) -> list[Record]:
        return self.topics.get(topic, [])


SOURCE_TOPICS = {"mm2-offset-syncs.b.internal": [sync(0, "t", 1), sync(1, "t", 2), sync(2, "u", 3)]}
TARGET_TOPICS = {
    "a.checkpoints.internal": [
        checkpoint(0, "app", "a.t", 10),
        checkpoint(1, "other", "a.u", 11),
        checkpoint(2, "app", "a.t", 20),
    ],
    "heartbeats": [heartbeat(0, "a"), heartbeat(1, "a")],
    "a.heartbeats": [heartbeat(2, "z")],
    "our.heartbeats": [_record(b"no", b"heartbeat", 0)],
}


@pytest.fixture(autouse=True)
def lab(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clusters = {"a": FakeCluster("a", SOURCE_TOPICS), "b": FakeCluster("b", TARGET_TOPICS)}
    ends = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
    connectors = [Connector(name=k, config={"connector.class": k, **ends}) for k in (SOURCE, CHECKPOINT)]
    lab = SimpleNamespace(
        topology=SimpleNamespace(roles=SimpleNamespace(clusters=clusters)),
        cluster=clusters.__getitem__,
        ends=lambda _: (clusters["a"], clusters["b"]),
        known_connectors=lambda: [*connectors, *connectors],
    )
    monkeypatch.setattr(Lab, "attach", lambda _: lab)
    return lab


def told(capsys: Captured, *arguments: str) -> Any:
    assert exit_code([*arguments, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    return found


@pytest.mark.parametrize(
    ("options", "downstream"),
    [
        ([], [10, 11, 20]),
        (["--latest"], [11, 20]),
        (["--group", "app"], [10, 20]),
        (["--topic", "u"], [11]),
        (["--topic", "a.t", "--latest"], [20]),
        (["--source", "a", "--group", "nobody"], []),
    ],
)
def test_checkpoints_are_chosen_by_group_topic_and_age(
    capsys: Captured, options: list[str], downstream: list[int]
) -> None:
    found = told(capsys, "checkpoints", *options)

    assert [c["downstream"] for c in found] == downstream
    assert {(c["cluster"], c["in"]) for c in found} <= {("b", "a.checkpoints.internal")}


def test_a_table_has_the_newest_and_says_what_it_left_out(capsys: Captured) -> None:
    assert exit_code(["checkpoints"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[:5] for line in out.splitlines()[2:]] == [
        ["app", "a.t", "0", "25", "20"],
        ["other", "a.u", "0", "16", "11"],
    ]
    assert "1970-01-01 00:00:02Z" in out
    assert err == ""

    assert exit_code(["checkpoints", "--all", "--limit", "2"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[4] for line in out.splitlines()[2:]] == ["11", "20"]
    assert err == "next: --limit 3 shows the other 1 too\n"


def test_offset_syncs_carry_the_sources_names_and_are_found_by_either(capsys: Captured) -> None:
    assert [s["upstream"] for s in told(capsys, "offset-syncs")] == [1, 2, 3]
    for topic in ("t", "a.t"):
        found = told(capsys, "offset-syncs", "--latest", "--topic", topic)
        assert [(s["cluster"], s["upstream"], s["downstream"]) for s in found] == [("a", 2, 1_002)]


def test_heartbeats_are_those_under_aliases_of_clusters(capsys: Captured) -> None:
    found = told(capsys, "heartbeats", "--latest")
    assert [(b["in"], b["source"], b["timestamp_ms"]) for b in found] == [
        ("a.heartbeats", "z", 2_000),
        ("heartbeats", "a", 1_000),
    ]
    assert [b["in"] for b in told(capsys, "heartbeats", "--source", "z")] == ["a.heartbeats"]
    assert exit_code(["heartbeats"]) == 0
    assert "1970-01-01 00:00:01Z" in capsys.readouterr().out


def test_a_source_that_no_connector_has_is_bad_input(capsys: Captured, lab: SimpleNamespace) -> None:
    assert exit_code(["checkpoints", "--source", "aa"]) == 2
    assert capsys.readouterr().err == (
        'error: no MirrorCheckpointConnector reads from "aa"\nhint: did you mean "a"?\n'
    )
    lab.known_connectors = list
    assert exit_code(["offset-syncs"]) == 2
    assert capsys.readouterr().err == (
        'error: the lab has no MirrorSourceConnector\nhint: "lab mm2 deploy" deploys one\n'
    )


def test_nothing_there_yet_is_no_error(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeCluster, "topic_names", lambda _: [])
    monkeypatch.setattr(FakeCluster, "snapshot", lambda *_: [])

    for command in ("checkpoints", "offset-syncs", "heartbeats"):
        assert exit_code([command]) == 0
        assert ": none" in capsys.readouterr().out
