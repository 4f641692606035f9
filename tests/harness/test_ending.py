"""A lab that goes away, or does not come up, leaves its evidence and nothing else."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lab import engine, harness, leases
from lab.connect import ConnectError
from lab.engine import Container, EngineError
from lab.errors import BadInput, HostNotReady, Interrupted, LabError
from lab.harness import Lab, Wish, coming, settings
from lab.project import runs_folder
from lab.removal import Removed
from tests.harness.conftest import Engine

WISH = Wish(topology="basic-mirror", name="a")


def the_run() -> Path:
    (run,) = runs_folder().iterdir()
    return run


def outcome() -> str:
    return str(json.loads((the_run() / "run.json").read_text())["outcome"])


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


def test_a_disk_that_takes_no_evidence_hides_nothing_and_keeps_nothing(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        run = the_run()
        shutil.rmtree(run)
        run.write_text("a file, in which nothing can be written")

    monkeypatch.setattr(fake, "starting", full)
    fake.fails = EngineError("docker up failed: no space left", output="all of it")

    with pytest.raises(EngineError) as caught:
        Lab.up(WISH)

    assert caught.value.message == 'lab "a" did not come up: docker up failed: no space left'
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("; nothing is left of it")
    assert fake.removed == ["lab-a"]
    assert leases.names() == []


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


@pytest.mark.parametrize("error", [EngineError("docker up failed: no space left"), KeyboardInterrupt()])
def test_a_lab_that_was_there_is_kept_whatever_happens(
    fake: Engine, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """As after a reboot: its containers have ended, and its topics lie in their volumes."""
    Lab.up(WISH)
    fake.holds = True
    ended = Container(id="1", project="lab-a", service="broker", state="exited", health="")
    monkeypatch.setattr(engine, "containers", lambda _: [ended])
    monkeypatch.setattr(engine, "inspect", lambda _: [])
    monkeypatch.setattr(engine, "logs", lambda _: "")
    fake.fails = error

    before = leases.leased("a")

    with pytest.raises(LabError) as caught:
        Lab.up(replace(WISH, variables={"LAB_SPARK_OPTS": "-Xmx6m"}, ports=("broker=19999",)))

    assert fake.removed == []
    assert leases.leased("a") == before
    assert str(caught.value.hint).endswith('"lab up basic-mirror --name a" with its settings of before')


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

    monkeypatch.setattr(coming, "wait_until_answers", refuse)

    with pytest.raises(ConnectError, match=r'^lab "a" did not come up: GET /connectors gave 500: broken$'):
        Lab.up(WISH)


def test_a_service_that_ended_after_compose_had_asked_it_fails_the_lab(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has no health check: Compose is content with one that runs when it is looked at."""

    def told(*services: tuple[str, str]) -> None:
        boxes = [Container(id=s, project="lab-a", service=s, state=state, health="") for s, state in services]
        fake.starting = lambda: monkeypatch.setattr(engine, "containers", lambda _: boxes)  # type: ignore[method-assign]

    monkeypatch.setattr(engine, "inspect", lambda _: [])
    monkeypatch.setattr(engine, "logs", lambda _: "")
    told(("broker", "running"), ("spark", "running"), ("lab-a-fault", "exited"))
    Lab.up(WISH)

    monkeypatch.setattr(engine, "containers", lambda _: [])
    told(("broker", "running"), ("spark", "exited"))
    with pytest.raises(EngineError) as caught:
        Lab.up(WISH)

    assert caught.value.message == ('lab "a" did not come up: spark ended, see logs/spark.log')


def test_bringing_down_removes_and_gives_ports_back(fake: Engine) -> None:
    Lab.up(WISH)

    assert harness.bring_down("a") == Removed(containers=6)
    assert fake.removed == ["lab-a"]
    assert leases.names() == []


def test_a_lab_of_another_engine_is_not_forgotten(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    Lab.up(WISH)
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/before.sock")
    Lab.up(Wish(topology="basic-mirror", name="b"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/other.sock")

    for use in (
        lambda: harness.bring_down("b"),
        lambda: Lab.attach("b"),
        lambda: Lab.up(replace(WISH, name="b")),
    ):
        with pytest.raises(BadInput) as caught:
            use()
        assert caught.value.message == (
            'lab "b" is on the Docker engine at unix:///run/before.sock, '
            "and this one is at unix:///run/other.sock"
        )
        assert str(caught.value.hint).endswith('if it is no more: "lab down --name b --forget"')
    assert fake.removed == []

    monkeypatch.setenv("DOCKER_HOST", "unix:///run/before.sock")
    harness.prune()
    assert leases.names() == ["a"]
    harness.forget("a")
    assert (leases.names(), fake.removed) == ([], [None])


def test_a_lab_of_an_engine_that_nobody_could_name_is_of_any(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while the docker client takes too long to tell where its context leads."""
    Lab.up(WISH)
    with monkeypatch.context() as nobody_knows:
        nobody_knows.setattr(settings, "engine_address", lambda: None)
        Lab.up(Wish(topology="basic-mirror", name="b"))
        harness.bring_down("a")

    harness.bring_down("b")
    assert fake.removed == ["lab-a", "lab-b"]


def test_pruning_removes_every_lab_and_lease(fake: Engine) -> None:
    Lab.up(WISH)
    Lab.up(Wish(topology="basic-mirror", name="b"))

    harness.prune()

    assert fake.removed == [None]
    assert leases.names() == []
