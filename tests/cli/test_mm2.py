"""`lab mm2` on a lab that stands for one: which connector is meant, and where it runs."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from lab import topology
from lab.cli.program import exit_code
from lab.errors import BadInput, LabError
from lab.harness import Lab
from lab.mm2 import Connector
from lab.mm2_names import Names
from lab.mm2_plan import Plan
from lab.mm2_status import Status, Task

Captured = pytest.CaptureFixture[str]


def test_set_is_of_one_connector(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    three = ["mm2-msc-us", "mm2-cpc-us", "mm2-hbc-us"]
    lab = SimpleNamespace(
        topology=topology.load("basic-mirror"), connectors=SimpleNamespace(named=lambda _: three)
    )
    monkeypatch.setattr(Lab, "attach", lambda _: lab)

    assert exit_code(["mm2", "set", "us", "tasks.max=2"]) == 2
    assert capsys.readouterr().err == (
        'error: "us" is 3 connectors: mm2-msc-us, mm2-cpc-us, mm2-hbc-us\nhint: name one of them\n'
    )


class Dedicated(SimpleNamespace):
    """A lab without a Connect worker."""

    @property
    def connectors(self) -> Any:
        raise BadInput("MM2 runs by itself")


def test_status_names_connectors_of_a_dedicated_mm2_too(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    name = "source->target MirrorSourceConnector"
    running = Status(
        name=name, connector_class="MirrorSourceConnector", state="RUNNING", worker="w", tasks=()
    )
    lab = Dedicated(topology=topology.load("dedicated-tls"), statuses=lambda: [running])
    monkeypatch.setattr(Lab, "attach", lambda _: lab)

    assert exit_code(["mm2", "status", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["connectors"]] == [name]


class Deploying:
    """Connectors whose files all are fine, and of which some are refused, or fail as soon as they run."""

    names = Names.of(topology.load("kraft-2x2"))

    def __init__(self, *, refused: str, fails: str) -> None:
        self.refused, self.fails = refused, fails
        self.asked: list[str] = []

    def problems(self, _: object) -> dict[str, list[Any]]:
        return {}

    def plans(self, chosen: list[Connector]) -> list[Plan]:
        return [Plan(connector=connector, create=True) for connector in chosen]

    def carry_out(self, plan: Plan) -> None:
        self._one("deploy", plan.connector.name, self.refused)

    def wait(self, connector: Connector, **_: object) -> Status:
        self._one("wait", connector.name, self.fails)
        task = Task(id=0, state="RUNNING", worker="w")
        return Status(name=connector.name, connector_class="C", state="RUNNING", worker="w", tasks=(task,))

    def _one(self, doing: str, name: str, trouble: str) -> None:
        self.asked.append(f"{doing} {name}")
        if name == trouble:
            raise LabError(f"{name}: no {doing}", "see its log")


@pytest.mark.parametrize(
    ("refused", "fails", "deployed", "error"),
    [
        ("", "", ["mm2-msc-source-0", "mm2-cpc-source-0", "mm2-hbc-source-0"], None),
        ("mm2-msc-source-0", "", ["mm2-cpc-source-0", "mm2-hbc-source-0"], "mm2-msc-source-0: no deploy"),
        ("", "mm2-cpc-source-0", ["mm2-msc-source-0", "mm2-hbc-source-0"], "mm2-cpc-source-0: no wait"),
        ("mm2-hbc-source-0", "mm2-msc-source-0", ["mm2-cpc-source-0"], "mm2-hbc-source-0: no deploy"),
    ],
)
def test_one_that_cannot_be_deployed_keeps_no_other_from_it_and_all_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    refused: str,
    fails: str,
    deployed: list[str],
    error: str | None,
) -> None:
    three = ["mm2-msc-source-0", "mm2-cpc-source-0", "mm2-hbc-source-0"]
    deploying = Deploying(refused=refused, fails=fails)
    chosen = topology.load("kraft-2x2")
    lab = SimpleNamespace(topology=chosen, connectors=deploying)
    monkeypatch.setattr(Lab, "attach", lambda _: lab)

    assert exit_code(["mm2", "deploy", *three, "--json"]) == (1 if error else 0)

    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["connectors"]] == deployed
    assert told.get("error") == error
    assert deploying.asked == [
        *(f"deploy {name}" for name in three),
        *(f"wait {name}" for name in three if name != refused),
    ]
