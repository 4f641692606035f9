"""`lab status` of a lab of which parts do not answer: it shows the rest, and says so."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lab.cli.program import exit_code
from lab.connect import Connect, ConnectError
from lab.engine import Container
from lab.harness import Lab, Wish
from lab.kafka import Cluster, ClusterError, Offsets, Topic
from lab.mm2_status import Status, Task
from tests.harness.conftest import Engine

Captured = pytest.CaptureFixture[str]
ORDERS = Topic(name="orders", partitions=1, replicas=1, offsets={0: Offsets(start=0, end=7)})
MIRROR = Status(
    name="mirror",
    connector_class="MirrorSourceConnector",
    state="RUNNING",
    worker="w",
    tasks=(Task(id=0, state="RUNNING", worker="w"),),
)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    Engine(monkeypatch)
    box = Container(id="1", project="lab-a", service="broker", state="exited", health="")
    monkeypatch.setattr(Cluster, "topics", lambda *_, **__: [ORDERS])
    monkeypatch.setattr(Connect, "statuses", lambda _: [MIRROR])
    up = Lab.up(Wish(topology="basic-mirror", name="a"))
    monkeypatch.setattr(Lab, "containers", lambda _: [box])
    return up


def gone(error: Exception, *, alias: str | None = None) -> Callable[..., Any]:
    def asked(of: Any, **_: object) -> Any:
        if alias in (None, getattr(of, "alias", None)):
            raise error
        return [ORDERS]

    return asked


def test_all_that_answers_is_shown(lab: Lab, capsys: Captured) -> None:
    assert exit_code(["status"]) == 0
    out = capsys.readouterr().out

    assert [part in out for part in ("broker", "mirror", "Topics of source", "Topics of target")] == [
        True
    ] * 4
    assert "not answering" not in out


def test_a_cluster_that_does_not_answer_costs_the_rest_nothing(
    lab: Lab, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "topics", gone(ClusterError("timed out"), alias="source"))

    assert exit_code(["status"]) == 1
    out, err = capsys.readouterr()

    assert 'cluster "source": not answering: timed out' in out
    assert [part in out for part in ("exited", "mirror", "Topics of source", "Topics of target")] == [
        *(True, True, False, True)
    ]
    assert err == (
        'error: not answering: cluster "source"\nhint: "lab logs SERVICE" or "lab diagnose" tells why\n'
    )


def test_as_json_it_stays_one_object(lab: Lab, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connect, "statuses", gone(ConnectError("refused")))

    assert exit_code(["status", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)

    assert told["not_answering"] == {'worker "connect"': "refused"}
    assert (told["connectors"], told["exit_code"]) == (None, 1)
    assert told["topics"].keys() == {"source", "target"}
    assert told["services"][0]["state"] == "exited"


def test_one_worker_that_answers_speaks_for_all(
    lab: Lab, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Lab.up(Wish(topology="kraft-2x2", name="b"))
    lost = f":{two.ports['KAFKA_CONNECT_0_PORT']}"

    def statuses(worker: Connect) -> list[Status]:
        if worker.url.endswith(lost):
            raise ConnectError("refused")
        return [MIRROR]

    monkeypatch.setattr(Connect, "statuses", statuses)

    assert exit_code(["status", "--name", "b"]) == 1
    out = capsys.readouterr().out
    assert 'worker "kafka-connect-0": not answering: refused' in out
    assert "MirrorSourceConnector" in out


def test_a_partition_without_a_leader_is_no_cluster_that_does_not_answer(
    lab: Lab, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = Topic(name="orders", partitions=2, replicas=1, offsets={0: Offsets(start=0, end=7)}, leaderless=1)
    monkeypatch.setattr(Cluster, "topics", lambda *_, **__: [half])

    for command in (["status"], ["topics"]):
        assert exit_code(command) == 0
        told = "orders: 1 partition without a leader, whose records nobody can count"
        assert told in capsys.readouterr().out.splitlines()
