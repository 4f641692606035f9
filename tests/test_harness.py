"""A lab that does not come up leaves its evidence and nothing else; one that is up gives its parts."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab import engine, harness, images, leases
from lab.connect import ConnectError
from lab.engine import EngineError, Project, Removed
from lab.errors import BadInput, HostNotReady, Interrupted, LabError
from lab.harness import Lab, Wish
from lab.project import runs_folder


class Engine:
    """Stands for the engine: nothing is there, and starting services ends as it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails: BaseException | None = None
        self.clean_up_fails: BaseException | None = None
        self.removed: list[str | None] = []
        monkeypatch.setattr(harness, "require_engine", lambda: None)
        monkeypatch.setattr(harness, "require_memory", lambda _: None)
        monkeypatch.setattr(images, "missing", lambda _: [])
        monkeypatch.setattr(engine, "containers", lambda _: [])
        monkeypatch.setattr(engine, "remove", self.remove)
        monkeypatch.setattr(Project, "rendered", lambda _: "services: {}\n")
        monkeypatch.setattr(Project, "up", self.up)
        monkeypatch.setattr(Lab, "_answers", lambda *_: None)

    def up(self, **_: Any) -> None:
        if self.fails is not None:
            raise self.fails

    def remove(self, project: str | None = None) -> Removed:
        self.removed.append(project)
        if self.clean_up_fails is not None:
            raise self.clean_up_fails
        return Removed(containers=6)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Engine:
    return Engine(monkeypatch)


WISH = Wish(topology="basic-mirror", name="a")


def the_run() -> Path:
    (run,) = runs_folder().iterdir()
    return run


def outcome() -> str:
    return str(json.loads((the_run() / "run.json").read_text())["outcome"])


def test_a_lab_that_comes_up_has_ports_and_a_run(fake: Engine) -> None:
    lab = Lab.up(WISH)

    assert (lab.name, lab.topology.name, lab.kafka_version) == ("a", "basic-mirror", "3.9.1")
    assert leases.names() == ["a"]
    assert lab.address("connect") == f"127.0.0.1:{lab.ports['CONNECT_PORT']}"
    assert outcome() == "up"
    assert fake.removed == []


def test_a_lab_is_named_like_its_topology_by_default(fake: Engine) -> None:
    assert Lab.up(Wish(topology="basic-mirror")).name == "basic-mirror"


def test_a_lab_that_is_up_is_attached_to(fake: Engine) -> None:
    started = Lab.up(WISH)

    for name in ("a", None):
        lab = Lab.attach(name)
        assert (lab.name, lab.topology, lab.ports) == ("a", started.topology, started.ports)


def test_without_a_lab_there_is_nothing_to_attach_to() -> None:
    with pytest.raises(BadInput) as caught:
        Lab.attach()

    assert (caught.value.message, caught.value.hint) == ("no lab is up", 'start one: "lab up basic-mirror"')


def test_a_name_means_one_topology_and_one_version(fake: Engine) -> None:
    Lab.up(WISH)

    with pytest.raises(BadInput) as caught:
        Lab.up(Wish(topology="basic-mirror", name="a", kafka="3.6.2"))

    assert caught.value.message == 'lab "a" is there already, with topology "basic-mirror" and Kafka 3.9.1'
    assert caught.value.hint == '"lab down --name a" first, or choose another --name'


def test_a_lab_that_fails_leaves_its_evidence_and_nothing_else(fake: Engine) -> None:
    fake.fails = EngineError("docker up failed: container broker is unhealthy", output="all of it")

    with pytest.raises(EngineError) as caught:
        Lab.up(WISH)

    run = the_run()
    assert caught.value.message == (
        'lab "a" did not come up: docker up failed: container broker is unhealthy'
    )
    assert caught.value.hint == f"evidence is in {run}; nothing is left of it"
    assert (run / "engine.log").read_text() == "all of it"
    assert fake.removed == ["lab-a"]
    assert leases.names() == []
    assert outcome() == "failed: docker up failed: container broker is unhealthy"
    assert {path.name for path in run.iterdir()} >= {
        *("run.json", "steps.jsonl", "containers.json", "compose.yaml", "connectors.json.missing")
    }


def test_a_lab_that_fails_is_kept_when_asked_for(fake: Engine) -> None:
    fake.fails = EngineError("broken")

    with pytest.raises(EngineError) as caught:
        Lab.up(Wish(topology="basic-mirror", name="a", keep=True))

    assert caught.value.hint == (
        f"evidence is in {the_run()}; what is there of it was kept: "
        '"lab status --name a", "lab down --name a"'
    )
    assert fake.removed == []
    assert leases.names() == ["a"]


def test_a_lab_that_is_interrupted_is_removed(fake: Engine) -> None:
    fake.fails = KeyboardInterrupt()

    with pytest.raises(Interrupted) as caught:
        Lab.up(WISH)

    assert (caught.value.message, caught.value.hint) == (
        'starting lab "a" was interrupted',
        "nothing is left of it",
    )
    assert caught.value.exit_code == 130
    assert outcome() == "interrupted"
    assert fake.removed == ["lab-a"]
    assert leases.names() == []


@pytest.mark.parametrize("error", [HostNotReady("no root", "be root"), BadInput("no", "yes")])
def test_what_the_user_has_to_do_keeps_its_own_words(fake: Engine, error: LabError) -> None:
    fake.fails = error

    with pytest.raises(type(error)) as caught:
        Lab.up(WISH)

    assert caught.value is error
    assert fake.removed == ["lab-a"]


def test_a_clean_up_that_fails_does_not_hide_the_cause(fake: Engine) -> None:
    fake.fails = EngineError("container broker is unhealthy")
    fake.clean_up_fails = EngineError("docker rm failed: the engine has gone")

    with pytest.raises(LabError) as caught:
        Lab.up(WISH)

    assert "container broker is unhealthy" in caught.value.message
    assert outcome() == "failed: container broker is unhealthy"


def test_a_worker_that_never_answers_fails_the_lab(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConnectError("GET /connectors gave 500: broken", status=500)

    monkeypatch.setattr(Lab, "_answers", refuse)

    with pytest.raises(ConnectError, match=r'^lab "a" did not come up: GET /connectors gave 500: broken$'):
        Lab.up(WISH)


def test_bringing_down_removes_and_gives_ports_back(fake: Engine) -> None:
    Lab.up(WISH)

    assert harness.bring_down("a") == Removed(containers=6)
    assert fake.removed == ["lab-a"]
    assert leases.names() == []


def test_pruning_removes_every_lab_and_lease(fake: Engine) -> None:
    Lab.up(WISH)
    Lab.up(Wish(topology="basic-mirror", name="b"))

    harness.prune()

    assert fake.removed == [None]
    assert leases.names() == []


def test_a_labs_parts_are_asked_for_by_name(fake: Engine) -> None:
    lab = Lab.up(WISH)

    assert lab.source is lab.cluster("source")
    assert lab.target.bootstrap == f"127.0.0.1:{lab.ports['BROKER2_PORT']}"
    assert lab.internal_bootstrap("source") == "broker:29092"
    assert lab.connector("test_mirror", topics="orders").config["topics"] == "orders"
    assert {endpoint.service: endpoint.what for endpoint in lab.endpoints()} == {
        "zookeeper": "ZooKeeper",
        "zookeeper2": "ZooKeeper",
        "broker": "cluster source",
        "broker2": "cluster target",
        "connect": "Connect REST",
        "spark": "Spark Connect",
    }


def test_a_part_that_a_lab_has_not_names_the_nearest(fake: Engine) -> None:
    lab = Lab.up(WISH)

    for call, message, hint in (
        (lambda: lab.cluster("sorce"), 'topology "basic-mirror" has no cluster "sorce"', "source"),
        (lambda: lab.address("brokr"), 'lab "a" has no service "brokr"', "broker"),
        (
            lambda: lab.connector("test_miror"),
            'topology "basic-mirror" has no connector "test_miror"',
            "test_mirror",
        ),
    ):
        with pytest.raises(BadInput) as caught:
            call()
        assert (caught.value.message, caught.value.hint) == (message, f'did you mean "{hint}"?')
