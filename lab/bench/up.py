"""What `lab up` costs beyond the same Compose file started by hand, and how soon a record is mirrored."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from lab import images, leases, removal, topology
from lab.bench.measured import Effort, Measured
from lab.engine import Project
from lab.errors import LabError
from lab.harness import Lab, bring_down
from lab.interruption import uninterruptible
from lab.project import kafka_version

TOPOLOGY: Final = "basic-mirror"
OURS: Final = "lab up"
THEIRS: Final = "docker compose up -d --wait"
_NAME: Final = "bench-up"
_BY_HAND: Final = "lab-bench-by-hand"
_COMMAND: Final = (sys.executable, "-m", "lab")


def measure(effort: Effort, say: Callable[[str], None]) -> Measured:
    """Alternate both, each from nothing to healthy and away again."""
    if stale := images.missing(kafka_version(), topology.load(TOPOLOGY)):
        raise LabError(
            f"image {stale[0].tag} is not built", 'run "lab images" first, so that no build is timed'
        )
    rounds = effort.rounds
    seconds: dict[str, list[float]] = {OURS: [], THEIRS: []}
    first_records = []
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}: {OURS}")
        up_s, first_record_s = _ours()
        seconds[OURS].append(up_s)
        first_records.append(first_record_s)
        say(f"round {number + 1} of {rounds}: {THEIRS}")
        seconds[THEIRS].append(_theirs())
    return Measured(
        title=f'starting "{TOPOLOGY}", from nothing to healthy',
        ours=OURS,
        theirs=THEIRS,
        seconds=seconds,
        also={
            "from `lab up` to the first record read on the target, median s": sorted(first_records)[
                rounds // 2
            ]
        },
    )


def _ours() -> tuple[float, float]:
    begin = time.monotonic()
    try:
        _run([*_COMMAND, "up", TOPOLOGY, "--name", _NAME])
        up_s = time.monotonic() - begin
        _mirror_one_record(Lab.attach(_NAME))
        return up_s, time.monotonic() - begin
    finally:
        bring_down(_NAME)


def _mirror_one_record(lab: Lab) -> None:
    lab.source.create_topic("to_replicate")
    producer = lab.source.producer()
    producer.produce("to_replicate", value=b"first")
    producer.flush()
    connector = lab.connector("test_mirror")
    lab.deploy(connector)
    remote = connector.remote_topic("to_replicate")
    lab.target.wait_for_topic(remote)
    record = next(lab.target.read(remote, from_start=True))
    if record.value != b"first":
        raise LabError(f"the first record on the target is {record.value!r}", "another lab writes there?")


def _theirs() -> float:
    chosen = topology.load(TOPOLOGY)
    with TemporaryDirectory() as folder:
        ports = leases.lease(_NAME, chosen, {}, {})
        values = {**ports, "KAFKA_VERSION": kafka_version(), "LAB_NAME": _NAME}
        env_file = Path(folder) / "bench.env"
        env_file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        project = Project(_BY_HAND, chosen.compose_file, env_file)
        begin = time.monotonic()
        try:
            _run(project.command("up", "-d", "--wait"))
            return time.monotonic() - begin
        finally:
            with uninterruptible():
                removal.remove(_BY_HAND)
                leases.release(_NAME)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = (done.stderr or done.stdout).strip().splitlines()
        raise LabError(f"{' '.join(command[-4:])} failed: {told[-1] if told else 'it said nothing'}")
