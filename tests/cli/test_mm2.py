"""`lab mm2` on a lab that stands for one: which connector is meant, and where it runs."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from lab import topology
from lab.cli.program import exit_code
from lab.errors import BadInput
from lab.harness import Lab
from lab.mm2_status import Status

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
