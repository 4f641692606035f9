"""A probe network is made and removed, and its label lets a later prune find it."""

from lab.setup.engine_api import Reply
from lab.setup.finding import Finding, Status
from lab.setup.networks import check_networks
from lab.setup.reach import reach_engine

from .conftest import PING, Machine


def found(machine: Machine) -> Finding:
    return check_networks(machine.host, reach_engine(machine.host))


def test_a_network_that_is_made_and_removed_is_ok(machine: Machine) -> None:
    machine.engine.answers |= {"POST /networks/create": Reply(201), "DELETE /networks/": Reply(204)}
    assert found(machine).status is Status.OK
    assert machine.engine.asked[-1].startswith("DELETE /networks/mirror-lab-probe-")


def test_exhausted_address_pools_block(machine: Machine) -> None:
    message = "could not find an available, non-overlapping IPv4 address pool among the defaults"
    machine.engine.answers |= {"POST /networks/create": Reply(500, f'{{"message": "{message}"}}')}
    finding = found(machine)
    assert (finding.status, finding.remedy) == (Status.MISSING, "docker network prune")
    assert message in finding.found


def test_a_network_that_could_not_be_removed_is_named(machine: Machine) -> None:
    machine.engine.answers |= {"POST /networks/create": Reply(201), "DELETE /": Reply(500)}
    finding = found(machine)
    assert (finding.status, finding.remedy) == (Status.NOTE, "lab prune")
    assert 'network "mirror-lab-probe-' in finding.found


def test_without_an_engine_nothing_is_tried(machine: Machine) -> None:
    machine.stop_engine()
    assert found(machine).status is Status.NOTE
    assert not any(request.startswith("POST") for request in machine.engine.asked)


def test_the_engine_is_asked_only_for_a_ping_to_know_that_it_is_there(machine: Machine) -> None:
    machine.engine.answers = {"GET /_ping": PING}
    reach_engine(machine.host)
    assert machine.engine.asked == ["GET /_ping"]
