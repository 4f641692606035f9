"""What `lab mm2 deploy` costs beyond the same three PUTs, from the command to the first mirrored record."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from subprocess import DEVNULL, PIPE
from typing import Final

from lab.bench.measured import Effort, Measured
from lab.errors import LabError
from lab.harness import Lab, Wish, bring_down
from lab.mm2_names import rule_of_names
from lab.wait import RECORDS_ARRIVE_S

TOPOLOGY: Final = "kraft-2x2"
OURS: Final = "lab mm2 deploy"
THEIRS: Final = "three PUTs"
_NAME: Final = "bench-deploy"
_COMMAND: Final = (sys.executable, "-m", "lab")
_SOURCE, _TARGET = "source-0", "target-0"


def measure(effort: Effort, say: Callable[[str], None]) -> Measured:
    """Alternate both; each round has a topic of its own, and the connectors are gone before it.

    The topic is there before the connectors, so no interval of MM2 matters: it looks for topics when it
    starts. For a topic that is created later `refresh.topics.interval.seconds` (600) is what is waited for.
    """
    Lab.up(Wish(topology=TOPOLOGY, name=_NAME)).close()
    try:
        lab = Lab.attach(_NAME)
        _round(lab, "warm-up", _by_hand)  # nobody's: it creates the internal topics
        seconds: dict[str, list[float]] = {OURS: [], THEIRS: []}
        for number in range(effort.rounds):
            for contestant, deploy in ((OURS, _by_command), (THEIRS, _by_hand)):
                say(f"round {number + 1} of {effort.rounds}: {contestant}")
                topic = f"{contestant.replace(' ', '-')}-{number}"
                seconds[contestant].append(_round(lab, topic, deploy))
    finally:
        bring_down(_NAME)
    title = f'three connectors of "{TOPOLOGY}", until the first record is on the target'
    return Measured(title=title, ours=OURS, theirs=THEIRS, seconds=seconds)


def _round(lab: Lab, topic: str, deploy: Callable[[Lab, str], AbstractContextManager[None]]) -> float:
    source, target = lab.cluster(_SOURCE), lab.cluster(_TARGET)
    source.create_topic(topic, partitions=5)
    producer = source.producer()
    producer.produce(topic, value=b"first")
    producer.flush()
    begin = time.monotonic()
    with deploy(lab, topic):
        target.wait_for_records(topic, at_least=1, timeout_s=RECORDS_ARRIVE_S)
        took_s = time.monotonic() - begin
    for name in rule_of_names(_SOURCE):
        lab.connect.wait_until_runs(name, idle=True)
        lab.connect.forget(name)
        lab.connect.wait_until_gone(name)
    return took_s


@contextmanager
def _by_command(lab: Lab, topic: str) -> Iterator[None]:
    """Records may arrive before it ends: it waits for the other connectors too."""
    command = [*_COMMAND, "mm2", "deploy", _SOURCE, "--set", f"topics={topic}", "--name", lab.name]
    with subprocess.Popen(command, stdout=DEVNULL, stderr=PIPE, text=True) as deploying:
        yield
        _, told = deploying.communicate()
    if deploying.returncode != 0:
        raise LabError(f"{' '.join(command[2:])} failed: {told.strip()}", '"lab mm2 validate" may say why')


@contextmanager
def _by_hand(lab: Lab, topic: str) -> Iterator[None]:
    for name in rule_of_names(_SOURCE):
        lab.connect.deploy(lab.connector(name, topics=topic))
    yield
