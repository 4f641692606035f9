"""The producer's ledger is true, and survives the producer.

Claim: every record that the ledger calls acked is in the topic where it says, and every record that is in
the topic is in the ledger, even after SIGKILL in mid-flight, when those in question are unknown. A record
that the broker refuses is failed; what a transaction aborts is known as not committed.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lab.harness import Lab
from lab.journal import NothingYet
from lab.kafka import Record
from lab.ledger import Ledger, ledgers, summary
from lab.producing import Producing
from lab.project import runs_folder
from lab.records import Plan, payload, record_id, record_key
from lab.run import Run
from lab.wait import CLUSTER_ANSWERS_S, RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.commands import COMMAND, lab_command

pytestmark = pytest.mark.topology("basic-mirror")

ACKED, FAILED, UNKNOWN = 1, 2, 3


def rows(ledger: Path) -> list[dict[str, Any]]:
    return pq.read_table(ledger).to_pylist()  # type: ignore[no-any-return]


def by_id(lab: Lab, topic: str) -> dict[str, Record]:
    """What is in the topic, by the id in the header; none may be there twice."""
    records = list(lab.source.read(topic, from_start=True, idle_s=3.0))
    found = {dict(record.headers)["lab-id"].decode(): record for record in records}  # type: ignore[union-attr]
    assert len(found) == len(records)
    return found


def test_acked_is_where_the_ledger_says(lab: Lab, run: Run, topic: str) -> None:
    lab.source.create_topic(topic, partitions=3)
    plan = Plan(
        run="held", keys=100, seed=7, headers=True, tombstones=True, compression="zstd", size_bytes=150
    )

    with Producing(lab.source, topic, plan, run.path / topic) as orders:
        orders.wait_for_acked(20_000)

    there = by_id(lab, topic)
    told = {record_id("held", row["sequence"]): row for row in rows(orders.path)}
    assert {row["outcome"] for row in told.values()} == {ACKED}
    assert there.keys() == told.keys()
    for identity, row in told.items():
        record = there[identity]
        assert (row["partition"], row["offset"]) == (record.partition, record.offset)
        assert record.key == record_key(plan, row["sequence"])
        assert record.value == (None if row["sequence"] % 10 == 9 else payload(identity, 150))
    assert [path.parent.name for path in ledgers("source", topic, lab.source.topic_id(topic))] == [topic]


@contextmanager
def producing_process(lab: Lab, topic: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """`lab produce` in a process of its own, once its first outcomes are on disk, and its run's folder."""
    command = [*COMMAND, "produce", topic, "--name", lab.name, "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def observe() -> Path | NotYet:
            for path in runs_folder().glob(f"*-produce-{topic}/ledger.journal"):
                if path.stat().st_size > 2_000:
                    return path.parent
            return NotYet("no journal with outcomes")

        try:
            folder = wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="the producer's journal grows")
            yield process, folder
        finally:
            process.kill()


@pytest.mark.parametrize("rate", ["--rate=5000", "--size=200"], ids=["paced", "as-fast-as-it-goes"])
def test_sigkill_leaves_no_record_without_its_row(lab: Lab, topic: str, rate: str) -> None:
    topic = f"{topic}-{rate.strip('-').partition('=')[0]}"
    lab.source.create_topic(topic, partitions=3)

    with producing_process(lab, topic, "--for=5m", rate) as (process, folder):
        lab.source.wait_for_records(topic, at_least=20_000, timeout_s=RECORDS_ARRIVE_S)
        process.send_signal(signal.SIGKILL)
        process.wait()

    # whoever looks at ledgers just then, in any lab, holds its journal for a moment
    said = summary(
        wait_until(
            lambda: Ledger.recover(folder),
            timeout_s=CLUSTER_ANSWERS_S,
            what="the ledger of what was sent",
            transient=(NothingYet,),
        )
    )
    assert said.torn
    assert said.acked > 0
    assert said.unknown > 0
    there = by_id(lab, topic)
    told = {record_id(said.heading.run, row["sequence"]): row for row in rows(said.path)}
    assert there.keys() <= told.keys()
    for identity, row in told.items():
        record = there.get(identity)
        if row["outcome"] == ACKED:
            assert record is not None
            assert (row["partition"], row["offset"]) == (record.partition, record.offset)
        else:
            assert (row["outcome"], row["partition"], row["offset"]) == (UNKNOWN, None, None)


def test_ctrl_c_flushes_and_closes(lab: Lab, topic: str) -> None:
    lab.source.create_topic(topic)

    with producing_process(lab, topic, "--for=5m", "--rate=2000") as (process, folder):
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)  # and not the two minutes that a flush may take else

    assert process.returncode == 130
    data = json.loads(out)
    assert (data["exit_code"], data["unknown"], data["folder"]) == (130, 0, str(folder))
    said = summary(Path(data["ledger"]))
    assert (said.sent, said.acked, said.torn) == (data["sent"], data["acked"], False)
    assert len(by_id(lab, topic)) == said.acked > 0


def test_a_record_too_large_for_the_topic_is_failed(lab: Lab, topic: str) -> None:
    lab.source.create_topic(topic, configs={"max.message.bytes": "2000"})

    done = lab_command("produce", topic, "--name", lab.name, "--records=5", "--size=5000", "--json")

    assert done.code == 1
    assert (done.json["acked"], done.json["failed"], done.json["unknown"]) == (0, 5, 0)
    assert {row["outcome"] for row in rows(Path(done.json["ledger"]))} == {FAILED}
    assert sum(offsets.count for offsets in lab.source.offsets(topic).values()) == 0


def test_aborted_transactions_are_known(lab: Lab, run: Run, topic: str) -> None:
    lab.source.create_topic(topic, partitions=2)
    plan = Plan(run="tx", records=1_000, transaction_size=50)

    with Producing(lab.source, topic, plan, run.path / topic) as orders:
        orders.wait_for_acked(1_000)

    told = rows(orders.path)
    assert [(row["transaction"], row["committed"]) for row in told] == [
        (n // 50, n // 50 % 5 != 4) for n in range(1_000)
    ]
    # a reader of committed records only sees exactly those; markers make the offsets jump
    read_committed = set(by_id(lab, topic))
    assert read_committed == {record_id("tx", row["sequence"]) for row in told if row["committed"]}
