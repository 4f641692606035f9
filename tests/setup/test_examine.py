"""Every check is made, in order, and changes nothing."""

from lab.setup.command import Completed
from lab.setup.engine_api import Reply
from lab.setup.examine import examine
from lab.setup.finding import Status, Wanted

from .conftest import Machine

NAMES = [
    *("engine", "compose", "memory", "disk", "ports", "networks"),
    *("CA bundle", "registry", "debootstrap", "netem", "tbf", "iptables"),
]
SMALL = Wanted(memory_bytes=1, disk_bytes=1)


def test_a_good_host_has_nothing_missing(machine: Machine) -> None:
    machine.write("proc/meminfo", "MemAvailable: 8388608 kB\n")
    machine.write("var/lib/docker/x", "")
    machine.engine.answers |= {
        "POST /networks/create": Reply(201),
        "DELETE /": Reply(204),
        "GET /distribution": Reply(200),
        "GET /info": Reply(200, '{"MemTotal": 8589934592}'),
    }
    machine.run.answers["unshare"] = Completed(0)
    findings = examine(SMALL, host=machine.host)
    assert [finding.name for finding in findings] == NAMES
    assert {finding.name for finding in findings if finding.status is not Status.OK} == {"CA bundle"}


def test_a_bare_host_lacks_the_engine_and_compose_and_knows_the_way(machine: Machine) -> None:
    machine.stop_engine()
    machine.forget_plugin()
    machine.programs.clear()
    findings = examine(SMALL, host=machine.host)
    missing = {finding.name: finding.remedy for finding in findings if finding.status is Status.MISSING}
    assert missing == {"engine": "lab doctor --fix", "compose": "lab doctor --fix"}
    assert [finding.name for finding in findings] == NAMES
