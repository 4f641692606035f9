"""A fault whose maker is killed is undone within its time limit, and nothing of anybody else's is touched.

Claim: whatever kind of fault it is, when the process that made it gets SIGKILL while it is in force, the
lab is as it was before soon after the fault's limit. Somebody else's container, paused container, network,
volume, packet rules in the same network namespace and toxic on the same proxy are there still, as they
were.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from lab import engine, faults
from lab.faults import Entry
from lab.faults.contract import wait_until_in_sync
from lab.faults.sidecar import NETWORK
from lab.harness import Lab
from lab.toxiproxy import Toxic, Toxiproxy
from lab.wait import SERVICES_HEALTHY_S, NotYet, wait_until
from scenarios.commands import COMMAND, lab_command
from scenarios.traces import netfault, rules, traces

pytestmark = pytest.mark.topology("resilience", lab="second")

LIMIT_S = 40.0  # of which slow machines take half until the last fault is proved
DECOY = "decoy-of-somebody-else"
WORKER = "kafka-connect-1"

# At once, by a process each: two of three nodes of each cluster stay up.
TOGETHER = {
    "processes, packets": (
        ("kill", "victim=kafka-source-1"),
        ("stop", "victim=kafka-connect-2"),
        ("partition", f"side={WORKER}", "other=link"),
        ("slow-link", "cluster=source", "delay_ms=50", "broker=kafka-source-2"),
        ("pause", "victim=kafka-target-1"),
    ),
    "a disk, the link, a config": (  # not beside a pause: a client may ask the silent broker for 15 s
        ("disk-full", "victim=kafka-target-3"),
        ("narrow-link", "cluster=source", "rate_kb_per_s=300", "broker=kafka-source-1"),
        ("cut-link", "cluster=source", "broker=kafka-source-2"),
        ("reset-link", "cluster=source", "broker=kafka-source-3"),
        ("refuse-records", "cluster=target", "topic=connect-status", "max_bytes=50000"),
    ),
}
Made = tuple[str, ...]  # a fault's name and settings


@pytest.fixture(scope="module")
def decoys(lab: Lab) -> Iterator[None]:
    """What somebody else has on this machine, and in this very lab."""
    image = netfault()
    there = (
        "--network",
        f"container:{container_of(lab, WORKER)}",
        *NETWORK,
        "--entrypoint",
        "iptables",
        image,
    )
    link = Toxiproxy(f"http://{lab.address('link')}")
    others = Toxic(name=DECOY, type="latency", attributes={"latency": 1})
    for state in ("running", "paused"):
        engine.docker("run", "--detach", "--name", f"{DECOY}-{state}", "--entrypoint", "sleep", image, "3600")
    engine.docker("pause", f"{DECOY}-paused")
    engine.docker("network", "create", DECOY)
    engine.docker("volume", "create", DECOY)
    engine.docker("run", "--rm", *there, "-A", "OUTPUT", "-d", "192.0.2.7", "-j", "DROP")
    link.add("kafka-source-1", others)
    yield
    link.remove("kafka-source-1", DECOY)
    link.close()
    engine.docker("run", "--rm", *there, "-D", "OUTPUT", "-d", "192.0.2.7", "-j", "DROP")
    engine.docker("volume", "rm", DECOY)
    engine.docker("rm", "--force", f"{DECOY}-running", f"{DECOY}-paused")
    engine.docker("network", "rm", DECOY)


def decoys_seen() -> str:
    """Their states and starts: whoever touched one would have changed these."""
    told = engine.inspect([f"{DECOY}-running", f"{DECOY}-paused"])
    objects = [
        engine.docker(kind, "ls", "--quiet", "--filter", f"name={DECOY}") for kind in ("network", "volume")
    ]
    return json.dumps([[box["State"] for box in told], objects])


@pytest.mark.slow  # two batches of faults, each for as long as their limit
@pytest.mark.parametrize("made", TOGETHER.values(), ids=TOGETHER)
@pytest.mark.usefixtures("decoys")
def test_faults_whose_makers_are_killed_are_undone_in_time(lab: Lab, made: tuple[Made, ...]) -> None:
    before, of_others = traces(lab), decoys_seen()
    known = {entry.id for entry in faults.entries(lab.name)}

    def new() -> list[Entry]:
        return [entry for entry in faults.entries(lab.name) if entry.id not in known]

    def in_force() -> bool | NotYet:
        proved = [entry.what for entry in new() if entry.span]
        return len(proved) == len(made) or NotYet(f"{len(proved)} proved: {proved}")

    makers = [maker(lab, one) for one in made]
    try:
        wait_until(in_force, timeout_s=LIMIT_S, what=f"{len(made)} faults in force", pause_s=0.2)
        assert all(entry.is_open for entry in new())
    finally:
        for process in makers:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def undone() -> bool | NotYet:
        left = [entry.what for entry in new() if entry.is_open]
        return not left or NotYet(f"in force: {left}")

    wait_until(undone, timeout_s=LIMIT_S + SERVICES_HEALTHY_S, what="all of them undone", pause_s=0.2)
    for entry in new():
        opened, healed = entry.events()[0], entry.events()[-1]
        assert healed["who"] == "time limit"
        assert healed["at"] - opened["at"] >= LIMIT_S
    wait_until_in_sync(lab)
    assert traces(lab) == before
    assert decoys_seen() == of_others
    assert "192.0.2.7" in rules(container_of(lab, WORKER))


def maker(lab: Lab, made: Made) -> subprocess.Popen[bytes]:
    settings = [part for setting in made[1:] for part in ("--set", setting)]
    timing = ("--for", "600s", "--limit", f"{LIMIT_S:g}s", "--name", lab.name)
    return subprocess.Popen(
        [*COMMAND, "fault", "inject", made[0], *settings, *timing],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def container_of(lab: Lab, service: str) -> str:
    return next(box.id for box in lab.containers() if box.service == service)


def test_a_fault_that_is_open_is_healed_by_hand_and_forbids_a_verdict(lab: Lab) -> None:
    named = ("--name", lab.name)
    done = lab_command("fault", "inject", "cut-link", "--set", "cluster=source", "--json", *named)
    assert done.code == 0, done.err
    assert done.json["open"]

    refused = lab_command("verify", "orders", *named)
    assert refused.code == 2
    listed = lab_command("fault", "list", "--json", *named)
    assert [made["open"] for made in listed.json["made"] if made["id"] == done.json["id"]] == [True]

    healed = lab_command("fault", "heal", "--json", *named)
    assert [found["id"] for found in healed.json["healed"]] == [done.json["id"]]
    assert lab_command("fault", "heal", "--json", *named).json == {"healed": []}
