"""A taken port is a note, because the lab leases others, unless the user named it."""

import socket
from collections.abc import Iterator

import pytest

from lab.setup.finding import Status, Wanted
from lab.setup.ports import check_ports


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_no_ports_asked_for_is_ok() -> None:
    assert check_ports(Wanted()).status is Status.OK


def test_a_free_port_is_ok() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert check_ports(Wanted(ports=(port,))).found == "all free"


def test_a_taken_port_is_a_note(taken: int) -> None:
    finding = check_ports(Wanted(ports=(taken,)))
    assert finding.status is Status.NOTE
    assert finding.found == f"taken: {taken} (the lab leases others instead)"


def test_a_taken_port_that_the_user_named_blocks(taken: int) -> None:
    finding = check_ports(Wanted(ports=(taken,), ports_fixed=True))
    assert (finding.status, finding.remedy) == (Status.MISSING, f"ss -ltnp 'sport = :{taken}'")
