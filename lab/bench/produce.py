"""What the ledger costs the producer: the same records, headers and payload with it and without it."""

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from lab.bench.measured import Effort, Measured
from lab.errors import LabError
from lab.harness import Lab, Wish, bring_down
from lab.journal import NAME as JOURNAL
from lab.kafka import Cluster
from lab.ledger import Heading, Ledger
from lab.records import Plan
from lab.workload import Workload

OURS: Final = "with the ledger"
THEIRS: Final = "without"
_NAME: Final = "bench-produce"
_TOPIC: Final = "bench"
_PARTITIONS: Final = 4
_RECORDS: Final = 500_000
_SIZE_BYTES: Final = 200
# a round is 120 MB; the topic holds two, so that the disk stays small whatever the rounds
_CONFIGS: Final = {"retention.bytes": "60000000", "segment.bytes": "30000000"}


def measure(effort: Effort, say: Callable[[str], None]) -> Measured:
    """Alternate both, the first of each round by turns, on one cluster; closing the ledger counts."""
    Lab.up(Wish(topology="basic-mirror", name=_NAME)).close()
    try:
        return _measure(Lab.attach(_NAME).source, effort, say)
    finally:
        bring_down(_NAME)


def _measure(source: Cluster, effort: Effort, say: Callable[[str], None]) -> Measured:
    rounds, records = effort.rounds, effort.records or _RECORDS
    source.create_topic(_TOPIC, partitions=_PARTITIONS, configs=_CONFIGS)
    seconds: dict[str, list[float]] = {OURS: [], THEIRS: []}
    cpu: dict[str, list[float]] = {OURS: [], THEIRS: []}  # what a busy machine does not blur
    journals, files = [], []
    with TemporaryDirectory() as folder:
        _produce(source, None, records)  # nobody's: connections, page cache, Python's own warming up
        for number in range(rounds):
            for contestant in (OURS, THEIRS) if number % 2 == 0 else (THEIRS, OURS):
                say(f"round {number + 1} of {rounds}: {contestant}")
                ledger = _ledger(Path(folder) / str(number)) if contestant == OURS else None
                cpu_s = time.process_time()
                took_s = _produce(source, ledger, records)
                cpu[contestant].append(time.process_time() - cpu_s)
                if ledger is not None:
                    journals.append(ledger.path.with_name(JOURNAL).stat().st_size)
                    begin = time.monotonic()
                    files.append(ledger.close(records).stat().st_size)
                    took_s += time.monotonic() - begin
                seconds[contestant].append(took_s)
    measured = Measured(
        title=f"producing {records:,} records of {_SIZE_BYTES} bytes to {_PARTITIONS} partitions",
        ours=OURS,
        theirs=THEIRS,
        seconds=seconds,
    )
    measured.also["rate with the ledger, in per cent of the rate without"] = 100 / measured.ratio
    measured.also["records/s with the ledger, median"] = records / measured.median_s(OURS)
    measured.also["records/s without, median"] = records / measured.median_s(THEIRS)
    for contestant, all_ in cpu.items():
        measured.also[f"CPU {contestant}, µs per record, median"] = 1e6 * median(all_) / records
    measured.also["journal of 10 M records, MB"] = max(journals) / records * 10
    measured.also["ledger.parquet of 10 M records, MB"] = max(files) / records * 10
    return measured


def _ledger(folder: Path) -> Ledger:
    heading = Heading(run="bench", topic=_TOPIC, cluster="source", seed=0, size_bytes=_SIZE_BYTES)
    return Ledger(folder, heading)


def _produce(source: Cluster, ledger: Ledger | None, records: int) -> float:
    plan = Plan(run=secrets.token_hex(4), records=records, size_bytes=_SIZE_BYTES)
    tally = Workload(source, _TOPIC, plan, ledger).run(lambda _: None)
    if tally.acked != records:
        raise LabError(f"{tally.acked} of {records} records were acked", tally.first_error)
    return tally.seconds
