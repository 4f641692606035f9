"""The verdict against what people do without it: a Python process with sets, and sort and comm."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from lab.bench.measured import Effort, Measured
from lab.errors import LabError
from lab.harness import Lab, Wish, bring_down
from lab.mm2 import BYTES_CONVERTER
from lab.producing import Producing
from lab.records import Plan
from lab.run import Run
from lab.spark import topic_frame
from lab.verify.verdict import Outcome

OURS: Final = "lab verify, all checks"
READING: Final = "Spark counts both topics"
PYTHON: Final = "one Python process"
CONSOLE: Final = "console consumers, sort, comm"
_NAME: Final = "bench-verify"
_SIZE_BYTES: Final = 200
_PARTITIONS: Final = 4
_WARM_UP: Final = "warm-up"
_WARM_UP_RECORDS: Final = 100_000
_MIRROR_S: Final = 1_800.0
_FAST: Final = {
    "producer.override.linger.ms": "50",
    "producer.override.batch.size": "262144",
    "source.consumer.max.poll.records": "4000",
    "tasks.max": "2",
    "header.converter": BYTES_CONVERTER,
}
# Every second what the consumer and sort take, without the files: the worker lives in the same container.
_WATCHED: Final = """rm -f /tmp/done; while ! [ -e /tmp/done ]; do
  ps -eo rss=,args= | awk '/[C]onsoleConsumer|[s]ort -S/ {kb += $1} END {print kb + 0}'; sleep 1
done >/tmp/kb 2>/dev/null &"""
_READER: Final = "from lab.bench.plain_reader import main; import sys; sys.stdout.write(main())"


def measure(effort: Effort, say: Callable[[str], None]) -> Measured:
    """All three over the same mirrored topic, turn by turn; the verdict of each must be "all is well"."""
    records = effort.records or 1_000_000
    lab = Lab.up(Wish(topology="basic-mirror", name=_NAME))
    try:
        say(f"{records:,} records into the source and over to the target")
        _mirrored(lab, {"bench": records, _WARM_UP: min(records, _WARM_UP_RECORDS)})
        say("a first verdict, so that the server is warm")
        lab.verify(_WARM_UP)
        contestants = {OURS: _ours, READING: _reading, PYTHON: _python, CONSOLE: _console}
        seconds: dict[str, list[float]] = {name: [] for name in contestants}
        also: dict[str, float] = {}
        for number in range(effort.rounds):
            for name, contestant in contestants.items():
                say(f"round {number + 1} of {effort.rounds}: {name}")
                begin = time.monotonic()
                also |= contestant(lab, records)
                seconds[name].append(time.monotonic() - begin)
        also |= {f"records/s, {name}": 2 * records / min(all_) for name, all_ in seconds.items()}
        return Measured(
            title=f"judging {records:,} mirrored records of {_SIZE_BYTES} bytes; records/s count both sides",
            ours=OURS,
            theirs=PYTHON,
            seconds=seconds,
            also=also,
        )
    finally:
        lab.close()
        bring_down(_NAME)


def _mirrored(lab: Lab, topics: Mapping[str, int]) -> None:
    run = Run.open("bench-verify", topology="basic-mirror")
    for number, (topic, records) in enumerate(topics.items()):
        lab.source.create_topic(topic, partitions=_PARTITIONS)
        plan = Plan(run=f"{int(time.time()) + number:08x}"[-8:], records=records, size_bytes=_SIZE_BYTES)
        with Producing(lab.source, topic, plan, run.path / topic) as producing:
            producing.wait()
    lab.deploy(lab.connector("test_mirror", topics=",".join(topics), **_FAST))
    for topic, records in topics.items():
        lab.target.wait_for_records(f"source.{topic}", at_least=records, timeout_s=_MIRROR_S)
    run.close("mirrored")


def _ours(lab: Lab, records: int) -> dict[str, float]:
    judged = lab.verify("bench")
    if judged.outcome is not Outcome.PASS:
        bad = [f"{v.check}: {v.meaning}" for v in judged.verdicts if v.outcome is Outcome.FAIL]
        raise LabError(f"the verdict is {judged.outcome}: {'; '.join(bad)}")
    return {f"s, {OURS}: {stage['name']}": stage["seconds"] for stage in judged.stages} | {
        f"peak MB, {OURS}: Spark's container": _container_peak_mb(lab)
    }


def _reading(lab: Lab, records: int) -> dict[str, float]:
    """What no verdict can be faster than: each record is read once, and nothing is done with it."""
    flow = lab.flow("bench")
    for cluster, topic in ((flow.source, flow.topic), (flow.target, flow.remote)):
        read = topic_frame(lab.spark, topic, cluster.offsets(topic), bootstrap=flow.bootstrap(cluster))
        if (found := read.count()) != records:
            raise LabError(f'Spark counts {found} records of topic "{topic}", not {records}')
    return {}


def _container_peak_mb(lab: Lab) -> float:
    files = "/sys/fs/cgroup/memory/memory.max_usage_in_bytes /sys/fs/cgroup/memory.peak"
    return int(lab.shell("spark", f"cat {files} 2>/dev/null || true").split()[0]) / 2**20


def _python(lab: Lab, records: int) -> dict[str, float]:
    addresses = (lab.source.bootstrap, "bench", lab.target.bootstrap, "source.bench")
    done = subprocess.run(
        [sys.executable, "-c", _READER, *addresses], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabError(f"the Python reader failed: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout)
    if found["records"] != records or found["lost"] or found["duplicates"]:
        raise LabError(f"the Python reader found {found}")
    return {f"peak MB, {PYTHON}": found["peak_kb"] / 1024}


def _console(lab: Lab, records: int) -> dict[str, float]:
    """Reads with Kafka's own consumer into files beside the brokers, and compares the sorted lines."""
    script = " && ".join(
        f"kafka-console-consumer --from-beginning --max-messages {records} --topic {topic} "
        f"--bootstrap-server {address} 2>/dev/null | sort -S 512M > /tmp/{topic}.txt"
        for topic, address in (("bench", "broker:29092"), ("source.bench", "broker2:29093"))
    )
    done = lab.shell(
        "connect", f"{_WATCHED} {script} && comm -3 /tmp/bench.txt /tmp/source.bench.txt | wc -l"
    )
    peak_kb = lab.shell("connect", "touch /tmp/done; sort -n /tmp/kb | tail -1; rm -f /tmp/*.txt /tmp/kb")
    if done.strip() != "0":
        raise LabError(f"comm found {done.strip()} different lines")
    return {f"peak MB, {CONSOLE}: the processes": int(peak_kb) / 1024}
