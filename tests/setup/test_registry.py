"""A registry that does not answer blocks nothing as long as the base image can be made."""

from lab.setup.command import Completed
from lab.setup.engine_api import Reply
from lab.setup.finding import Finding, Status
from lab.setup.reach import reach_engine
from lab.setup.registry import check_base_image, prefixed, registry_answers

from .conftest import Machine

IMAGE = "debian:trixie-slim"
NO_HOST = Reply(500, '{"message": "dial tcp: no such host"}')


def found(machine: Machine) -> tuple[Finding, Finding]:
    registry, debootstrap = check_base_image(machine.host, reach_engine(machine.host), IMAGE)
    return registry, debootstrap


def test_a_registry_that_answers_needs_no_debootstrap(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": Reply(200, "{}")}
    machine.programs.discard("debootstrap")
    assert [finding.status for finding in found(machine)] == [Status.OK, Status.OK]
    assert registry_answers(host=machine.host)


def test_a_registry_that_does_not_answer_is_a_note_that_says_what_happens_instead(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": NO_HOST}
    registry, debootstrap = found(machine)
    assert (registry.status, debootstrap.status) == (Status.NOTE, Status.OK)
    assert "the base image is made with debootstrap: no such host" in registry.found
    assert not registry_answers(host=machine.host)


def test_a_registry_that_is_slow_is_one_that_does_not_answer(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": TimeoutError()}
    assert "no answer in 4 s" in found(machine)[0].found


def test_no_registry_and_no_debootstrap_blocks(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": NO_HOST, "GET /images/json": Reply(200, "[]\n")}
    machine.programs.discard("debootstrap")
    _, debootstrap = found(machine)
    assert (debootstrap.status, debootstrap.remedy) == (Status.MISSING, "lab doctor --fix")


def test_no_registry_and_no_root_blocks_because_debootstrap_needs_root(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": NO_HOST}
    machine.change(uid=1000)
    _, debootstrap = found(machine)
    assert (debootstrap.status, debootstrap.found) == (Status.MISSING, "there, but only root can use it")
    assert (debootstrap.remedy or "").startswith('sudo env "PATH=$PATH" lab doctor --fix')


def test_elsewhere_the_way_out_is_another_registry_or_loaded_images(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": NO_HOST}
    machine.write("etc/os-release", "ID=fedora\n")
    machine.programs.discard("debootstrap")
    assert "lab images load" in (found(machine)[1].remedy or "")


def test_loaded_images_need_neither_registry_nor_debootstrap(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": NO_HOST, "GET /images/json": Reply(200, '[{"Id": "1"}]')}
    machine.change(uid=1000)
    assert [finding.status for finding in found(machine)] == [Status.NOTE, Status.NOTE]


def test_a_refusal_is_asked_again_with_the_users_log_in(machine: Machine) -> None:
    machine.engine.answers |= {"GET /distribution/": Reply(401, '{"message": "unauthorized"}')}
    assert not registry_answers(host=machine.host)
    machine.run.answers["docker manifest inspect"] = Completed(0, "{}")
    assert registry_answers(host=machine.host)


def test_the_prefix_of_lab_registry_is_asked_for(machine: Machine) -> None:
    machine.change(env={"LAB_REGISTRY": "mirror.example:5000/"})
    registry_answers(host=machine.host)
    assert machine.engine.asked == [f"GET /distribution/mirror.example:5000/{IMAGE}/json"]


def test_a_prefix_may_or_may_not_end_in_a_slash() -> None:
    assert prefixed("a", "r/") == prefixed("a", "r") == "r/a"
    assert prefixed("a", "") == "a"


def test_without_an_engine_the_registry_is_not_asked(machine: Machine) -> None:
    machine.stop_engine()
    machine.programs.discard("debootstrap")
    registry, debootstrap = found(machine)
    assert (registry.status, debootstrap.status) == (Status.NOTE, Status.OK)
