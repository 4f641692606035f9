"""Connectors are judged before anything is asked of Connect, and waited for until what was done is true."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from lab import topology
from lab.connect import Connect, ConnectError
from lab.connect import workers as connect_module
from lab.connectors import Connectors
from lab.errors import BadInput
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE, Connector
from lab.mm2_plan import Plan
from lab.wait import TimedOut

CLUSTERS = {"source.cluster.alias": "source", "target.cluster.alias": "target"}
ORDERS = Connector(name="orders", config={**CLUSTERS, "connector.class": SOURCE, "topics": "orders"})
CHECKPOINTS = Connector(name="checkpoints", config={**CLUSTERS, "connector.class": CHECKPOINT})
HEARTBEATS = Connector(name="heartbeats", config={**CLUSTERS, "connector.class": HEARTBEAT})

FAILED = {"state": "FAILED", "trace": "E: once"}


class Workers:
    """A Connect cluster with one connector, "orders", that follows what it is told."""

    def __init__(self, *tasks: str, config: dict[str, str] | None = None, fails_again: bool = False) -> None:
        self.asked: list[str] = []
        self.there = config is not None
        self.config = dict(config or {})
        self.state = "RUNNING"
        self.tasks = list(tasks)
        self.fails_again = fails_again

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/":
            return httpx.Response(200, json={"version": "3.9.1"})
        path = request.url.path.removeprefix("/connectors")
        if request.method != "GET":
            self.asked.append(f"{request.method} {path}")
        return httpx.Response(200, json=self._answer(request, path))

    def _answer(self, request: httpx.Request, path: str) -> Any:
        what = path.rpartition("/")[2]
        if request.method == "PUT" and what == "config":
            self.there, self.config = True, json.loads(request.content)
            self.tasks = ["RUNNING"] * max(1, len(self.tasks))
        elif what == "restart":
            task = path.split("/")[-2]
            if task.isdigit() and not self.fails_again:
                self.tasks[int(task)] = "RUNNING"
        elif what == "resume":
            self.state, self.tasks = "RUNNING", ["RUNNING"]
        elif what == "config":
            return self.config
        elif what == "tasks":
            return [{"id": id_, "config": self.config} for id_ in range(len(self.tasks))]
        elif not path:
            status = {"orders": {"info": {"config": self.config}, "status": self.status()}}
            return status if "expand" in request.url.query.decode() else ["orders"]
        return self.status()

    def status(self) -> dict[str, Any]:
        tasks = [
            {"id": id_, "state": state, "worker_id": "w", **(FAILED if state == "FAILED" else {})}
            for id_, state in enumerate(self.tasks)
        ]
        return {"name": "orders", "connector": {"state": self.state, "worker_id": "w"}, "tasks": tasks}


class Source:
    """What `why_idle` asks of the source cluster."""

    def __init__(self, topics: list[str], groups: dict[str, list[str]] | None = None) -> None:
        self.topics, self.groups = topics, groups or {}

    def topic_names(self) -> list[str]:
        return self.topics

    def group_states(self) -> dict[str, str]:
        return dict.fromkeys(self.groups, "empty")

    def group_offsets(self, group: str) -> dict[tuple[str, int], None]:
        return {(topic, 0): None for topic in self.groups[group]}


BASIC = topology.load("basic-mirror")


def connectors(workers: Callable[[httpx.Request], httpx.Response], source: object = None) -> Connectors:
    connect = Connect("http://connect:8083", transport=httpx.MockTransport(workers))
    return Connectors(BASIC, connect, lambda _: source)  # type: ignore[arg-type, return-value]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_module, "SETTLED_S", 0.0)
    monkeypatch.setattr(connect_module, "NEWS_S", 0.01)
    monkeypatch.setattr(connect_module, "CONNECTOR_RUNS_S", 0.2)


def carried_out(workers: Workers) -> Plan:
    mine = connectors(workers, Source(["orders"]))
    (plan,) = mine.plans([ORDERS])
    mine.carry_out(plan)
    mine.wait(ORDERS, changed=plan.changed)
    return plan


def test_what_runs_as_its_file_says_is_not_touched() -> None:
    workers = Workers("RUNNING", config=dict(ORDERS.config))

    assert carried_out(workers) == Plan(connector=ORDERS)
    assert workers.asked == []


def test_an_edited_file_is_put_and_the_tasks_have_it() -> None:
    workers = Workers("FAILED", config={**ORDERS.config, "topics": "other"})

    assert carried_out(workers).changed == ("topics",)
    assert workers.asked == ["PUT /orders/config"]


def test_failed_tasks_alone_are_restarted() -> None:
    workers = Workers("RUNNING", "FAILED", config=dict(ORDERS.config))

    assert carried_out(workers).restart == (1,)
    assert workers.asked == ["POST /orders/tasks/1/restart"]


def test_a_task_that_fails_again_is_told_with_its_own_error() -> None:
    with pytest.raises(ConnectError, match=r'^connector "orders" failed: E: once$'):
        carried_out(Workers("FAILED", config=dict(ORDERS.config), fails_again=True))


def test_a_stopped_connector_goes_on() -> None:
    workers = Workers(config=dict(ORDERS.config))
    workers.state = "STOPPED"

    assert carried_out(workers).resume
    assert workers.asked == ["PUT /orders/resume"]


@pytest.mark.parametrize("key", ["topics", "taken.away"])
def test_tasks_that_still_have_the_old_config_are_waited_for(key: str) -> None:
    workers = Workers("RUNNING", config={**ORDERS.config, key: "other"})

    with pytest.raises(TimedOut, match=r"last seen: tasks have an earlier config$"):
        connectors(workers, Source(["orders"])).wait(ORDERS, changed=(key,))


def test_a_restart_is_of_the_connector_and_of_every_task() -> None:
    workers = Workers("RUNNING", "FAILED", config=dict(ORDERS.config))

    its = connectors(workers, Source(["orders"]))
    its.restart("orders")
    assert its.wait_for("orders").running
    assert workers.asked == [
        "POST /orders/restart",
        "POST /orders/tasks/0/restart",
        "POST /orders/tasks/1/restart",
    ]


NOBODY = "no consumer group has offsets in a mirrored topic yet; MM2 looks again every 600 s"


@pytest.mark.parametrize(
    ("connector", "source", "why"),
    [
        (ORDERS, Source(["orders"]), None),
        (ORDERS, Source(["other"]), "no topic matches yet"),
        (ORDERS, Source(["other", "heartbeats"]), None),
        (ORDERS.with_overrides({"topics.exclude": "ord.*"}), Source(["orders"]), "no topic matches yet"),
        (ORDERS.with_overrides({"enabled": "false"}), Source(["orders"]), '"enabled" is false'),
        (CHECKPOINTS, Source([], {}), NOBODY),
        (CHECKPOINTS, Source([], {"billing": ["orders"]}), None),
        (CHECKPOINTS, Source([], {"billing": []}), NOBODY),
        (CHECKPOINTS, Source([], {"console-consumer-1": ["orders"]}), NOBODY),
        (CHECKPOINTS, Source([], {"billing": ["mm2-offset-syncs.target.internal"]}), NOBODY),
        (
            CHECKPOINTS.with_overrides({"emit.checkpoints.enabled": "false"}),
            Source([], {"billing": ["orders"]}),
            '"emit.checkpoints.enabled" is false',
        ),
        (CHECKPOINTS.with_overrides({"enabled": "false"}), None, '"enabled" is false'),
        (HEARTBEATS, None, None),
        (HEARTBEATS.with_overrides({"enabled": "false"}), None, None),
        (
            HEARTBEATS.with_overrides({"emit.heartbeats.enabled": "false"}),
            None,
            '"emit.heartbeats.enabled" is false',
        ),
        (CHECKPOINTS.with_overrides({"source.cluster.alias": "elsewhere"}), None, None),
    ],
)
def test_without_tasks_a_connector_runs_for_a_reason(
    connector: Connector, source: object, why: str | None
) -> None:
    assert connectors(Workers(), source).why_idle(connector) == why


def test_only_an_idle_connector_may_run_without_tasks() -> None:
    nothing = Workers(config=dict(ORDERS.config))

    assert connectors(nothing, Source(["other"])).wait(ORDERS).tasks == ()
    with pytest.raises(TimedOut, match=r"connector RUNNING, no tasks$"):
        connectors(nothing, Source(["orders"])).wait(ORDERS)


def test_a_connector_that_is_not_deployed_is_refused_by_name() -> None:
    mine = connectors(Workers(config=dict(ORDERS.config)))

    assert mine.named(None) == ["orders"]
    assert mine.named(["orders"]) == ["orders"]
    with pytest.raises(BadInput) as caught:
        mine.named(["oders"])
    assert (caught.value.message, caught.value.hint) == (
        'no connector "oders" is deployed',
        'did you mean "orders"?',
    )


def test_positions_are_of_source_connectors_only() -> None:
    class WithOffsets(Workers):
        def _answer(self, request: httpx.Request, path: str) -> Any:
            entry = {"cluster": "source", "topic": "orders", "partition": 0}
            if path.endswith("/offsets"):
                return {"offsets": [{"partition": entry, "offset": {"offset": 4}}]}
            return super()._answer(request, path)

    source = SimpleNamespace(offsets_of=lambda topics: {("orders", 0): SimpleNamespace(end=9)})
    assigned = {**ORDERS.config, "task.assigned.partitions": "orders-0,orders-1"}

    first, second = connectors(WithOffsets("RUNNING", config=assigned), source).positions("orders") or []
    assert (first.committed, first.end, first.behind) == (5, 9, 4)
    assert (second.partition, second.committed, second.end) == (1, None, None)
    heartbeats = WithOffsets("RUNNING", config=dict(HEARTBEATS.config))
    assert connectors(heartbeats).positions("orders") is None


def test_positions_are_asked_for_at_the_address_of_a_source_with_another_name() -> None:
    """As where a file of another lab is deployed, or an alias was set."""
    renamed = {"source.cluster.alias": "primary", "source.cluster.bootstrap.servers": "broker:29092"}
    asked: list[str] = []

    class WithOffsets(Workers):
        def _answer(self, request: httpx.Request, path: str) -> Any:
            return {"offsets": []} if path.endswith("/offsets") else super()._answer(request, path)

    def cluster(alias: str) -> Any:
        asked.append(alias)
        return SimpleNamespace(offsets_of=lambda _: {})

    workers = WithOffsets(config={**ORDERS.config, **renamed})
    connect = Connect("http://connect:8083", transport=httpx.MockTransport(workers))
    Connectors(BASIC, connect, cluster).positions("orders")

    assert asked == ["source"]
