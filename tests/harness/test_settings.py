"""A lab's lease tells which of its topology's services it has."""

from pathlib import Path

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


def test_a_properties_file_is_known_by_what_it_says(fake: Engine, tmp_path: Path) -> None:
    """Compose makes anew what has another digest; of a file it knows no more than where it is."""
    file = tmp_path / "mm2.properties"
    written = topology.load("dedicated-tls").mm2_properties({}).read_text()
    digests: list[str] = []
    for text in (written, written, f"{written}\nrefresh.topics.interval.seconds=7\n"):
        file.write_text(text)
        variables = {} if digests else {topology.MM2_PROPERTIES: str(file)}
        Lab.up(Wish(topology="dedicated-tls", name="a", variables=variables))
        digests.append((leases.leased("a") or {})[topology.MM2_DIGEST])

    assert digests[0] == digests[1] != digests[2]
    assert topology.MM2_DIGEST not in topology.load("dedicated-tls").variables
    file.unlink()
    with pytest.raises(BadInput, match="No such file"):
        Lab.up(Wish(topology="dedicated-tls", name="a"))


def test_what_was_started_stays_the_labs_to_remove(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    Lab.up(Wish(topology="external", name="a"))

    monkeypatch.setenv("LAB_SPARK_REMOTE", "sc://127.0.0.1:15002")
    Lab.up(Wish(topology="external", name="a"))
    Lab.up(Wish(topology="external", name="b"))

    assert not settings.without_containers(leases.leased("a") or {})
    assert settings.without_containers(leases.leased("b") or {})


def test_a_lab_that_is_not_there_has_no_lease() -> None:
    with pytest.raises(BadInput, match=r'^no lab named "a" is up$'):
        settings.lease_of("a")
    with pytest.raises(BadInput, match=r'^no lab named "a" is up$'):
        stop_profile("a", PROFILE)


def test_variables_of_a_topology_are_for_compose_and_stay(fake: Engine) -> None:
    delay = "LAB_REBALANCE_DELAY_MS"
    for variables in ({delay: "5000"}, {}):
        Lab.up(Wish(topology="kraft-2x2", name="a", variables=variables))
        assert (leases.leased("a") or {})[delay] == "5000"

    Lab.up(Wish(topology="kraft-2x2", name="b"))
    assert delay not in (leases.leased("b") or {})


def test_a_variable_that_a_topology_has_not_names_the_nearest(fake: Engine) -> None:
    with pytest.raises(BadInput) as caught:
        Lab.up(Wish(topology="kraft-2x2", name="a", variables={"LAB_REBALANCE_DELAY": "5"}))

    assert caught.value.message == 'topology "kraft-2x2" has no variable "LAB_REBALANCE_DELAY"'
    assert caught.value.hint == 'did you mean "LAB_REBALANCE_DELAY_MS"?'
    assert leases.names() == []


@pytest.mark.parametrize(
    ("topology", "variable", "what", "wrong", "right"),
    [
        ("basic-mirror", "LAB_SPARK_MEMORY", "amount of memory", "abc 4 0g 5m", "6m 512m 4g"),
        ("resilience", "LAB_REBALANCE_DELAY_MS", "number of milliseconds", "5s -1 1.5", "0 300000"),
        (
            *("resilience", "LAB_EXACTLY_ONCE", "value of exactly.once.source.support"),
            *("on true", "disabled preparing enabled"),
        ),
    ],
)
def test_what_no_service_would_start_with_is_bad_input(
    fake: Engine, topology: str, variable: str, what: str, wrong: str, right: str
) -> None:
    for value in wrong.split():
        with pytest.raises(BadInput) as caught:
            Lab.up(Wish(topology=topology, name="a", variables={variable: value}))
        assert caught.value.message == f'{variable}="{value}" is no {what}'
    assert leases.names() == []

    for value in right.split():
        Lab.up(Wish(topology=topology, name="a", variables={variable: value}))
        assert (leases.leased("a") or {})[variable] == value


def test_the_exporters_interval_is_what_the_exporter_takes(fake: Engine) -> None:
    variable = "LAB_EXPORTER_INTERVAL_S"
    for value in ("x", "0", "0.01", "3601", "-1", "nan"):
        with pytest.raises(BadInput) as caught:
            Lab.up(Wish(topology="kraft-2x2", name="a", variables={variable: value}))
        assert caught.value.message == f'{variable}: "{value}" is not a number of seconds'
    assert leases.names() == []

    for value in ("0.1", "0.5", "5", "10.5", "999", "3600"):
        Lab.up(Wish(topology="kraft-2x2", name="a", variables={variable: value}))
        assert (leases.leased("a") or {})[variable] == value
