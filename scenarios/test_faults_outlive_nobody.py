"""A fault whose maker is killed is undone within its time limit, and nothing of anybody else's is touched.

Claim: whatever kind of fault it is, when the process that made it gets SIGKILL while it is in force, the
lab is as it was before soon after the fault's limit; so it is when the process was killed before it had made
the fault, and packets flow again when even the time limit's own process was killed. Somebody else's
container, paused container, network, volume, packet rules in the same network namespace and toxic on the
same proxy are there still, as they were.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import pytest

from lab import engine, faults
from lab.engine import EngineError
from lab.faults import Entry
from lab.faults.contract import wait_until_in_sync
from lab.faults.sidecar import NETWORK
from lab.harness import Lab
from lab.toxiproxy import Toxic, Toxiproxy
from lab.wait import FAULT_SHOWS_S, NotYet, wait_until
from lab.workload import Plan, produce
from scenarios.commands import COMMAND, lab_command
from scenarios.traces import netfault, rules, traces

pytestmark = pytest.mark.topology("resilience", lab="second")

LIMIT_S = 60.0  # of which slow machines take half until the last fault is proved
BACK_S = 60.0  # a broker's start, until it has all replicas again
DECOY = "decoy-of-somebody-else"
WORKER = "kafka-connect-1"
TOPIC = "killed-in-the-midst"

Made = tuple[str, ...]  # a fault's name and settings

# At once, by a process each: two of three nodes of each cluster stay up.
TOGETHER: dict[str, tuple[Made, ...]] = {
    "processes, packets": (
        ("kill", "victim=kafka-connect-2"),
        ("stop", "victim=kafka-source-1"),  # no worker: it ends late while one of its brokers is paused
        ("partition", f"side={WORKER}", "other=link"),
        ("slow-link", "cluster=source", "delay_ms=50", "broker=kafka-source-2"),
        ("pause", "victim=kafka-target-1"),
    ),
    # A config not where a broker is silent or ends, which clients may ask for 15 s.
    "a disk, the link, a config": (
        ("disk-full", "victim=kafka-target-3"),
        ("narrow-link", "cluster=source", "rate_kb_per_s=300", "broker=kafka-source-1"),
        ("cut-link", "cluster=source", "broker=kafka-source-2"),
        ("reset-link", "cluster=source", "broker=kafka-source-3"),
        ("refuse-records", "cluster=source", f"topic={TOPIC}", "max_bytes=50000"),
    ),
}
# What is over in a moment is killed before it is: as soon as the journal tells of it.
IN_THE_MIDST: tuple[Made, ...] = (
    ("restart", "victim=kafka-connect-2"),
    ("recreate-topic", "cluster=source", f"topic={TOPIC}"),
    ("delete-records", "cluster=source", f"topic={TOPIC}"),
    ("partition", "side=kafka-target-2", "other=kafka-source-2", "one_way=true"),
)
SHORT_LIMIT_S = 20.0


@pytest.fixture(scope="module")
def decoys(lab: Lab) -> Iterator[None]:
    """What somebody else has on this machine, and in this very lab; and a topic to break."""
    lab.source.create_topic(TOPIC, partitions=2, replicas=3, configs={"retention.ms": "7200000"})
    image = netfault()
    remove_decoys()
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
    remove_decoys()


def remove_decoys() -> None:
    """Also those that an earlier run left, which was killed: they go with no lab."""
    left = (
        *(("container", "rm", "--force", f"{DECOY}-{state}") for state in ("running", "paused")),
        *((kind, "rm", DECOY) for kind in ("network", "volume")),
    )
    for command in left:
        with suppress(EngineError):  # it is not there
            engine.docker(*command)


def decoys_seen() -> str:
    """Their states and starts: whoever touched one would have changed these."""
    told = engine.inspect([f"{DECOY}-running", f"{DECOY}-paused"])
    objects = [
        engine.docker(kind, "ls", "--quiet", "--filter", f"name={DECOY}") for kind in ("network", "volume")
    ]
    return json.dumps([[box["State"] for box in told], objects])


class Batch:
    """Faults that are made at the same time, each by a process of its own that is killed."""

    def __init__(self, lab: Lab, made: tuple[Made, ...], limit_s: float) -> None:
        self.lab, self.limit_s = lab, limit_s
        self.before, self.of_others = traces(lab), decoys_seen()
        self._known = {entry.id for entry in faults.entries(lab.name)}
        self.makers = {one[0]: self._maker(one) for one in made}

    def _maker(self, made: Made) -> subprocess.Popen[bytes]:
        settings = [part for setting in made[1:] for part in ("--set", setting)]
        timing = ("--for", f"{self.limit_s - 1:g}s", "--limit", f"{self.limit_s:g}s", "--name", self.lab.name)
        return subprocess.Popen(
            [*COMMAND, "fault", "inject", made[0], *settings, *timing],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def new(self) -> list[Entry]:
        return [entry for entry in faults.entries(self.lab.name) if entry.id not in self._known]

    def kill(self, fault: str) -> None:
        """With all that it has started, but its time limit, which has a session of its own."""
        process = self.makers.pop(fault)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def require_undone_in_time(self) -> None:
        def undone() -> bool | NotYet:
            left = [entry.what for entry in self.new() if entry.is_open]
            return not left or NotYet(f"in force: {left}")

        wait_until(undone, timeout_s=self.limit_s + BACK_S, what="all of them undone", pause_s=0.2)
        for entry in self.new():
            opened, healed = entry.events()[0], entry.events()[-1]
            assert healed["who"] == "time limit"
            assert self.limit_s <= healed["at"] - opened["at"] <= self.limit_s + BACK_S
        wait_until_in_sync(self.lab)
        assert traces(self.lab) == self.before
        assert decoys_seen() == self.of_others
        assert "192.0.2.7" in rules(container_of(self.lab, WORKER))


@pytest.mark.slow  # two batches of faults, each for as long as their limit
@pytest.mark.parametrize("made", TOGETHER.values(), ids=TOGETHER)
@pytest.mark.usefixtures("decoys")
def test_faults_whose_makers_are_killed_are_undone_in_time(lab: Lab, made: tuple[Made, ...]) -> None:
    batch = Batch(lab, made, LIMIT_S)

    def in_force() -> bool | NotYet:
        proved = [entry.what for entry in batch.new() if entry.span]
        return len(proved) == len(made) or NotYet(f"{len(proved)} proved: {proved}")

    try:
        wait_until(in_force, timeout_s=LIMIT_S, what=f"{len(made)} faults in force", pause_s=0.2)
        assert all(entry.is_open for entry in batch.new())
    finally:
        for fault in [*batch.makers]:
            batch.kill(fault)
    batch.require_undone_in_time()


@pytest.mark.slow
@pytest.mark.usefixtures("decoys")
def test_makers_that_are_killed_before_their_fault_is_made_leave_nothing(lab: Lab) -> None:
    """As soon as the journal has a fault, which is before or while it is made."""
    produce(lab.source, TOPIC, Plan(run="midst", records=100), lambda _: None)
    batch = Batch(lab, IN_THE_MIDST, SHORT_LIMIT_S)

    def killed() -> bool | NotYet:
        for entry in batch.new():
            if (opened := entry.opened) and (fault := opened["settings"]["fault"]) in batch.makers:
                batch.kill(fault)
        return not batch.makers or NotYet(f"not begun: {[*batch.makers]}")

    wait_until(killed, timeout_s=LIMIT_S, what="all of them begun", pause_s=0.01)
    batch.require_undone_in_time()


@pytest.mark.slow
def test_packets_flow_again_also_where_the_time_limit_is_killed(lab: Lab) -> None:
    """What drops them has the same limit of its own; the journal is closed by whoever comes next."""
    named, sides = ("--name", lab.name), ("--set", f"side={WORKER}", "--set", "other=link")
    limit = ("--limit", f"{SHORT_LIMIT_S:g}s")
    done = lab_command("fault", "inject", "partition", *sides, *limit, "--json", *named)
    assert done.code == 0, done.err
    (entry,) = [entry for entry in faults.entries(lab.name) if entry.id == done.json["id"]]
    watching = subprocess.run(
        ["pgrep", "--full", str(entry.path)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(watching) == 1
    os.kill(int(watching[0]), signal.SIGKILL)
    worker = container_of(lab, WORKER)
    assert entry.id in rules(worker)

    def flows() -> bool | NotYet:
        return entry.id not in rules(worker) or NotYet("packets are dropped")

    wait_until(flows, timeout_s=SHORT_LIMIT_S + FAULT_SHOWS_S, what="the rules are gone", pause_s=0.5)
    assert entry.is_open
    assert [found["id"] for found in lab_command("fault", "heal", "--json", *named).json["healed"]] == [
        entry.id
    ]


def container_of(lab: Lab, service: str) -> str:
    return next(box.id for box in lab.containers() if box.service == service)


def test_a_fault_that_is_open_is_healed_by_hand_and_forbids_a_verdict(lab: Lab) -> None:
    named = ("--name", lab.name)
    done = lab_command("fault", "inject", "cut-link", "--set", "cluster=source", "--json", *named)
    assert done.code == 0, done.err
    assert done.json["open"]

    refused = lab_command("verify", "orders", *named)
    assert refused.code == 2
    assert "while a fault may be in force in lab" in refused.err
    listed = lab_command("fault", "list", "--json", *named)
    assert [made["open"] for made in listed.json["made"] if made["id"] == done.json["id"]] == [True]

    healed = lab_command("fault", "heal", "--json", *named)
    assert [found["id"] for found in healed.json["healed"]] == [done.json["id"]]
    assert lab_command("fault", "heal", "--json", *named).json == {"healed": []}
