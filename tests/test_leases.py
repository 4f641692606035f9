"""Ports are leased before anything starts: defaults if they are free, what was asked for, else others."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from lab import leases, topology
from lab.errors import BadInput, LabError
from lab.topology import Topology
from tests.written_topology import VALID, write

SETTINGS = {"LAB_TOPOLOGY": "two", "LAB_NAME": "a", "KAFKA_VERSION": "3.9.1"}


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def taken_port(port: int = 0, address: str = "127.0.0.1") -> Iterator[int]:
    """Somebody listens there."""
    with closing(socket.socket()) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((address, port))
        other.listen()
        yield other.getsockname()[1]


@pytest.fixture
def two(tmp_path: Path) -> Topology:
    """Two ports whose defaults are free on this machine."""
    text = VALID
    for default in ("9092", "9093"):
        text = text.replace(f"PORT:-{default}", f"PORT:-{free_port()}")
    return topology.read(write(tmp_path, "two", text))


def defaults(chosen: Topology) -> dict[str, int]:
    return {port.variable: port.default for port in chosen.ports}


def test_free_defaults_are_leased_and_written_for_compose(two: Topology, state: Path) -> None:
    ports = leases.lease("a", two, SETTINGS, {})

    assert ports == defaults(two)
    assert (state / "labs/a/lab.env").read_text() == (
        "LAB_TOPOLOGY=two\nLAB_NAME=a\nKAFKA_VERSION=3.9.1\n"
        f"BROKER_PORT={ports['BROKER_PORT']}\nBROKER2_PORT={ports['BROKER2_PORT']}\n"
    )
    assert leases.names() == ["a"]
    assert leases.leased("a") == {**SETTINGS, **{key: str(port) for key, port in ports.items()}}


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - taken on every address is the case
def test_a_default_that_is_taken_gives_another_port(two: Topology, address: str) -> None:
    with taken_port(defaults(two)["BROKER_PORT"], address):
        ports = leases.lease("a", two, SETTINGS, {})

    assert ports["BROKER2_PORT"] == defaults(two)["BROKER2_PORT"]
    assert 20_000 <= ports["BROKER_PORT"] < 30_000


def test_two_labs_have_no_port_in_common(two: Topology) -> None:
    first = leases.lease("a", two, SETTINGS, {})
    second = leases.lease("b", two, SETTINGS, {})

    assert set(first.values()) & set(second.values()) == set()
    assert len(set(second.values())) == 2


def test_a_lab_keeps_the_ports_it_has(two: Topology) -> None:
    first = leases.lease("a", two, SETTINGS, {})

    with taken_port(first["BROKER_PORT"]):  # by the lab itself
        assert leases.lease("a", two, SETTINGS, {}) == first


def test_a_port_asked_for_is_leased(two: Topology) -> None:
    wanted = free_port()
    asked = leases.asked_ports([f"broker={wanted}"], two, "a")

    assert asked == {"BROKER_PORT": wanted}
    assert leases.lease("a", two, SETTINGS, asked)["BROKER_PORT"] == wanted


def test_a_default_asked_for_by_another_service_is_not_leased_twice(two: Topology) -> None:
    asked = {"BROKER2_PORT": defaults(two)["BROKER_PORT"]}

    ports = leases.lease("a", two, SETTINGS, asked)

    assert ports["BROKER2_PORT"] == defaults(two)["BROKER_PORT"] != ports["BROKER_PORT"]


def test_a_port_the_lab_had_gives_way_to_one_asked_for(two: Topology) -> None:
    had = leases.lease("a", two, SETTINGS, {})

    ports = leases.lease("a", two, SETTINGS, {"BROKER2_PORT": had["BROKER_PORT"]})

    assert ports["BROKER2_PORT"] == had["BROKER_PORT"]
    assert ports["BROKER_PORT"] != had["BROKER_PORT"]


@pytest.mark.parametrize("name", ["broker", "BROKER", "broker_port", "BROKER_PORT"])
def test_a_port_is_asked_for_by_its_service_or_its_variable(two: Topology, name: str) -> None:
    wanted = free_port()

    assert leases.asked_ports([f"{name}={wanted}"], two, "a") == {"BROKER_PORT": wanted}


def test_a_port_asked_for_that_is_taken_is_bad_input(two: Topology) -> None:
    with taken_port() as port, pytest.raises(BadInput) as caught:
        leases.asked_ports([f"broker={port}"], two, "a")

    assert caught.value.message == f"port {port}, asked for as broker, is taken"
    assert caught.value.hint == "choose another, or leave it out"


def test_a_port_asked_for_may_be_the_labs_own(two: Topology) -> None:
    own = leases.lease("a", two, SETTINGS, {})["BROKER_PORT"]

    with taken_port(own):
        assert leases.asked_ports([f"broker={own}"], two, "a") == {"BROKER_PORT": own}


def test_a_port_leased_to_another_lab_is_taken_though_nothing_listens_yet(two: Topology) -> None:
    others = leases.lease("a", two, SETTINGS, {})["BROKER_PORT"]

    with pytest.raises(BadInput) as caught:
        leases.asked_ports([f"broker={others}"], two, "b")

    assert caught.value.message.startswith(f"port {others}, asked for as broker, is taken")


NO_PORT = "a number from 1 to 65535, e.g. --port broker=19092"


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ("brker=1", 'topology "two" has no port "brker"', 'did you mean "broker"?'),
        ("=1", 'topology "two" has no port ""', "known: broker, broker2"),
        ("broker", '"broker" is not SERVICE=PORT', "e.g. --port broker=19092"),
        ("broker=", '"broker=" is not SERVICE=PORT', "e.g. --port broker=19092"),
        ("broker=x", '"x" is not a port', NO_PORT),
        ("broker=0", '"0" is not a port', NO_PORT),
        ("broker=-1", '"-1" is not a port', NO_PORT),
        ("broker=65536", '"65536" is not a port', NO_PORT),
        ("broker=²", '"²" is not a port', NO_PORT),
    ],
)
def test_what_is_no_port_is_bad_input(two: Topology, asked: str, message: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        leases.asked_ports([asked], two, "a")

    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_one_port_for_two_services_is_bad_input(two: Topology) -> None:
    wanted = free_port()

    with pytest.raises(BadInput) as caught:
        leases.asked_ports([f"broker={wanted}", f"broker2={wanted}"], two, "a")

    assert caught.value.message == "one port is asked for twice"
    assert caught.value.hint == "give each its own number"


@pytest.mark.parametrize("name", ["a", "basic-mirror", "3", "a" * 40])
def test_names_that_compose_takes_are_taken(name: str) -> None:
    assert leases.check_name(name) == name


@pytest.mark.parametrize("name", ["", "My Lab!", "-a", "a_b", "a/b", "..", "a\n", "ä", "a" * 41])
def test_other_names_are_bad_input(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        leases.check_name(name)

    assert caught.value.message == f'"{name}" cannot be a lab\'s name'
    assert caught.value.hint == "up to 40 of a-z, 0-9 and -, starting with a letter or digit"


def test_a_lab_that_another_process_changes_is_left_alone() -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            'from lab.leases import exclusive\nwith exclusive("a"): print("held", flush=True); input()',
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"

        with pytest.raises(LabError) as caught, leases.exclusive("a"):
            pass
        with leases.exclusive("b"), leases.exclusive("a", "testing on"):
            pass
    finally:
        holder.communicate("\n", timeout=10)

    assert caught.value.message == f'another process (pid {holder.pid}) is changing lab "a"'
    assert caught.value.hint == "wait for it to end, or give this lab another name with --name"
    assert caught.value.exit_code == 1
    with leases.exclusive("a"):
        pass


def test_a_released_lab_is_gone_and_its_ports_are_free_again(two: Topology, state: Path) -> None:
    first = leases.lease("a", two, SETTINGS, {})

    leases.release("a")
    leases.release("a")

    assert leases.names() == []
    assert leases.leased("a") is None
    assert not (state / "labs/a").exists()
    assert leases.lease("b", two, SETTINGS, {}) == first


def test_what_verdicts_saw_goes_with_the_lab(two: Topology) -> None:
    leases.lease("a", two, SETTINGS, {})
    seen = leases.seen_file("a", ("us", "eu"), "orders")
    seen.parent.mkdir(parents=True)
    seen.write_text("{}")
    assert leases.seen_file("a", ("us", "eu"), "payments") != seen

    leases.release("a")
    assert not seen.exists()
