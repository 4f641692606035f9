"""Memory and disk are compared with what the lab wants, where the engine runs."""

from lab.setup.capacity import check_disk, check_memory
from lab.setup.finding import GIB, Status, Wanted

from .conftest import Machine

MEMINFO = "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n"


def test_enough_available_memory_is_ok(machine: Machine) -> None:
    machine.write("proc/meminfo", MEMINFO)
    finding = check_memory(machine.host, {"MemTotal": 16 * GIB}, Wanted())
    assert (finding.status, finding.found) == (Status.OK, "8.0 GiB available")


def test_too_little_available_memory_blocks(machine: Machine) -> None:
    machine.write("proc/meminfo", MEMINFO)
    finding = check_memory(machine.host, {}, Wanted(memory_bytes=90 * GIB))
    assert (finding.status, finding.needed, finding.remedy) == (
        Status.MISSING,
        "90.0 GiB available",
        "lab down",
    )


def test_less_memory_than_all_limits_together_is_a_note(machine: Machine) -> None:
    machine.write("proc/meminfo", MEMINFO)
    finding = check_memory(machine.host, {}, Wanted(memory_bytes=9 * GIB))
    assert (finding.status, finding.remedy) == (Status.NOTE, "lab down")


def test_an_engine_in_its_own_machine_has_only_that_machines_memory(machine: Machine) -> None:
    machine.change(system="Darwin")
    finding = check_memory(machine.host, {"MemTotal": 2 * GIB}, Wanted(memory_bytes=6 * GIB))
    assert (finding.status, finding.found) == (Status.MISSING, "2.0 GiB in the engine's machine")


def test_memory_that_cannot_be_seen_is_a_note(machine: Machine) -> None:
    machine.change(system="Darwin")
    assert check_memory(machine.host, {}, Wanted()).status is Status.NOTE


def test_enough_disk_where_the_engine_stores_is_ok(machine: Machine) -> None:
    machine.write("srv/docker/x", "")
    finding = check_disk(machine.host, {"DockerRootDir": "/srv/docker"}, Wanted(disk_bytes=1))
    assert finding.status is Status.OK
    assert finding.found.endswith('free for "/srv/docker"')


def test_too_little_disk_blocks_even_before_the_engine_is_there(machine: Machine) -> None:
    finding = check_disk(machine.host, {}, Wanted(disk_bytes=2**60))
    assert (finding.status, finding.remedy) == (Status.MISSING, "docker builder prune")


def test_a_disk_that_cannot_be_seen_is_a_note(machine: Machine) -> None:
    finding = check_disk(machine.host, {"DockerRootDir": "/elsewhere"}, Wanted())
    assert finding.status is Status.NOTE
