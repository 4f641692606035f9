"""A lab's lease tells which of its topology's services it has."""

import pytest

from lab import engine, leases, topology
from lab.engine import Container
from lab.errors import BadInput
from lab.harness import Lab, Wish, settings, stop_profile
from tests.harness.conftest import Engine

PROFILE = "spark-cluster"


def started_with(profile: str) -> Lab:
    return Lab.up(Wish(topology="basic-mirror", name="a", profiles=(profile,)))


def test_a_profile_that_was_started_once_stays(fake: Engine) -> None:
    first = started_with(PROFILE)

    second = Lab.up(Wish(topology="basic-mirror", name="a"))

    assert (leases.leased("a") or {})["COMPOSE_PROFILES"] == PROFILE
    assert first.topology == second.topology == Lab.attach("a").topology
    assert first.topology.services.keys() > topology.load("basic-mirror").services.keys()


def test_a_profile_that_is_stopped_is_forgotten(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = started_with(PROFILE)
    plain = topology.load("basic-mirror")
    boxes = [
        Container(id=f"id of {service}", project="lab-a", service=service, state="running", health="")
        for service in lab.topology.services
    ]
    removed: list[str] = []
    monkeypatch.setattr(engine, "containers", lambda _: boxes)
    monkeypatch.setattr(engine, "docker", lambda *args: removed.extend(args[2:]))

    stop_profile("a", PROFILE)

    assert set(removed) == {
        f"id of {service}" for service in lab.topology.services.keys() - plain.services.keys()
    }
    assert "COMPOSE_PROFILES" not in (leases.leased("a") or {})
    left = Lab.attach("a")
    assert left.topology.services.keys() == plain.services.keys()
    assert left.ports.items() <= lab.ports.items()


def test_a_lab_that_is_not_there_has_no_lease() -> None:
    with pytest.raises(BadInput, match=r'^no lab named "a" is up$'):
        settings.lease_of("a")
    with pytest.raises(BadInput, match=r'^no lab named "a" is up$'):
        stop_profile("a", PROFILE)
