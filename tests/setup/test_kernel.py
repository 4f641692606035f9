"""What the kernel can do is tried in a namespace of its own, and never blocks."""

import pytest

from lab.setup.command import Completed
from lab.setup.finding import Status
from lab.setup.kernel import Ability, check_ability, try_ability

from .conftest import Machine


@pytest.mark.parametrize("ability", list(Ability))
def test_an_ability_that_works_is_ok(machine: Machine, ability: Ability) -> None:
    machine.run.answers["unshare --net"] = Completed(0)
    assert check_ability(machine.host, ability).status is Status.OK
    assert all(command.startswith("unshare --net ") for command in machine.run.commands)


def test_a_kernel_without_netem_is_a_note_that_says_what_delays_instead(machine: Machine) -> None:
    machine.run.answers["netem"] = Completed(2, stderr="Error: Specified qdisc kind is unknown.")
    finding = check_ability(machine.host, Ability.NETEM)
    assert finding.status is Status.NOTE
    assert finding.found == "does not work: Error: Specified qdisc kind is unknown."
    assert "Toxiproxy" in finding.needed


def test_who_is_not_root_does_not_know(machine: Machine) -> None:
    machine.change(uid=1000)
    assert try_ability(machine.host, Ability.TBF) == (None, "unknown: only root can try")
    assert machine.run.commands == []


def test_without_the_tool_nothing_is_known(machine: Machine) -> None:
    machine.programs.discard("tc")
    works, seen = try_ability(machine.host, Ability.TBF)
    assert works is None
    assert seen == "unknown: no tc on this host to try it with"


def test_a_host_that_may_not_make_namespaces_does_not_know(machine: Machine) -> None:
    machine.run.answers["unshare"] = Completed(1, stderr="unshare: unshare failed: Operation not permitted")
    assert try_ability(machine.host, Ability.IPTABLES)[0] is None


def test_an_engine_elsewhere_has_a_kernel_of_its_own(machine: Machine) -> None:
    machine.change(system="Darwin")
    assert check_ability(machine.host, Ability.NETEM).status is Status.NOTE
    assert machine.run.commands == []
