"""lab.harness.exporting: what runs in a lab, as a flow, and the values of its secrets."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lab import topology
from lab.connect import Connect
from lab.errors import BadInput, LabError
from lab.export.properties import write
from lab.harness import Lab, Wish
from lab.harness.exporting import running_flow, values
from lab.mm2 import SOURCE, read_connector
from lab.mm2_status import Deployed, Status
from lab.project import COMPOSE
from lab.security.material import write as write_material
from tests.harness.conftest import Engine

MAKERS = COMPOSE / "dedicated-tls/mirror-maker"


@pytest.fixture
def deployed(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything of kraft-2x2 is deployed."""
    del fake
    files = topology.load("kraft-2x2").connector_files()
    there = {name: Deployed(config=read_connector(path).config, status=None) for name, path in files.items()}
    answers = SimpleNamespace(deployed=lambda: there, names=lambda: sorted(there))
    monkeypatch.setattr(Lab, "connect", answers)
    monkeypatch.setattr(Connect, "names", lambda _: sorted(there))


@pytest.mark.usefixtures("deployed")
def test_what_is_deployed_is_the_flow_with_what_workers_add() -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))

    flow = running_flow(lab, None)

    assert len(flow.connectors) == 3
    assert flow.nodes == 2
    assert flow.on_connect
    assert flow.settings == {
        "offset.storage.replication.factor": "1",
        "config.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
    }


@pytest.mark.usefixtures("deployed")
def test_connectors_are_named() -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))

    assert [c.connector_class for c in running_flow(lab, ["mm2-msc-source-0"]).connectors] == [SOURCE]
    with pytest.raises(BadInput, match='no connector "msc" is deployed'):
        running_flow(lab, ["msc"])


@pytest.mark.usefixtures("deployed")
def test_a_connector_that_rests_is_told() -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))
    there, name = lab.connect.deployed(), "mm2-msc-source-0"
    paused = Status(name=name, connector_class="", state="PAUSED", worker="w", tasks=())
    there[name] = replace(there[name], status=paused)

    assert running_flow(lab, None).told == (f'"{name}" is PAUSED; whatever takes the export runs it',)


def test_a_dedicated_mm2_is_its_file(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="dedicated-tls", name="a"))

    flow = running_flow(lab, None)

    assert flow.file == "strimzi-mm2.properties"
    assert [*flow.pairs] == [("source", "target"), ("target", "source")]
    assert not flow.on_connect


@pytest.mark.parametrize("name", ["source->target", "source", "source->target MirrorSourceConnector"])
def test_flows_of_a_dedicated_mm2_are_named(fake: Engine, name: str) -> None:
    lab = Lab.up(Wish(topology="dedicated-tls", name="a"))

    assert [*running_flow(lab, [name]).pairs] == [("source", "target")]


def test_a_flow_that_does_not_run_is_bad_input(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="dedicated-tls", name="a"))

    with pytest.raises(BadInput) as refused:
        running_flow(lab, ["source->targt"])

    assert refused.value.message == 'no flow and no connector "source->targt" runs'
    assert refused.value.hint == 'did you mean "source->target"?'


def test_values_are_those_that_containers_see(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="dedicated-tls", name="a"))
    write_material(lab.name, lab.topology)
    found = values(lab)

    known = found.content("/run/secrets/secrets.properties").decode()

    assert f"api.key={found.value('/run/secrets/secrets.properties', 'api.key')}\n" in known
    assert found.authority("source").startswith("-----BEGIN CERTIFICATE-----")
    assert found.content("/home/truststore.jks")
    assert write(running_flow(lab, None)).told == ()
    with pytest.raises(LabError, match='has no "nothing"'):
        found.value("/run/secrets/secrets.properties", "nothing")
    with pytest.raises(LabError) as refused:
        found.content("/etc/theirs.jks")
    assert refused.value.message == 'this lab made no "theirs.jks", and knows no other'
    assert "--from-file=theirs.jks=FILE" in (refused.value.hint or "")
