"""A verdict waits as long as MM2 may still bring what is owed, and no longer.

Claim: while MM2 stands still for a good reason, as a connector that is paused, no verdict is given before the
deadline; where MM2's own position has passed what is not there, it does not wait for the deadline. What an
open transaction holds back from a connector that reads committed records is not owed, whatever becomes of it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lab.harness import Lab
from lab.kafka import Producer
from lab.mm2 import BYTES_CONVERTER, Connector
from lab.producing import Producing
from lab.records import Plan
from lab.run import Run
from lab.verify.catching_up import QUIET_S
from lab.verify.verdict import Outcome
from lab.verify.verification import Judged
from lab.wait import RECORDS_ARRIVE_S
from scenarios.under_load import wrong

pytestmark = pytest.mark.topology("basic-mirror")

COUNT, HELD = 20, 5


def put(lab: Lab, topic: str, count: int = COUNT) -> None:
    producer = lab.source.producer()
    for number in range(count):
        producer.produce(topic, value=f"{topic} {time.time_ns()} {number}".encode(), partition=0)
    assert producer.flush(RECORDS_ARRIVE_S) == 0


def mirrored(lab: Lab, topic: str, **overrides: str) -> str:
    """The name on the target of a topic that has arrived there."""
    lab.source.create_topic(topic, partitions=2)
    put(lab, topic)
    config = lab.connector("test_mirror", topics=topic, **{"header.converter": BYTES_CONVERTER}, **overrides)
    connector = Connector(name=topic, config=config.config)
    lab.deploy(connector)
    remote = connector.remote_topic(topic)
    lab.target.wait_for_records(remote, at_least=COUNT, timeout_s=RECORDS_ARRIVE_S)
    return remote


@contextmanager
def soon(after_s: float, action: Callable[[], object]) -> Iterator[None]:
    timer = threading.Timer(after_s, action)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def waited_s(judged: Judged) -> float:
    return float(judged.stages[0]["seconds"])


def test_a_connector_that_is_paused_is_waited_for(lab: Lab, topic: str) -> None:
    mirrored(lab, topic)
    lab.connect.pause(topic)
    lab.connect.wait_until_state(topic, "PAUSED")
    put(lab, topic)

    early = lab.verify(topic, timeout_s=2)
    assert early.outcome is Outcome.FAIL, "it was not paused"
    with soon(2 * QUIET_S, lambda: lab.connect.resume(topic)):
        judged = lab.verify(topic, timeout_s=RECORDS_ARRIVE_S)

    assert judged.outcome is Outcome.PASS, wrong(judged)
    assert 2 * QUIET_S - 1 < waited_s(judged) < RECORDS_ARRIVE_S


@pytest.mark.slow
def test_what_mm2_has_passed_is_not_waited_for(lab: Lab, topic: str) -> None:
    """Connect writes the position down every 60 s, as the worker's default is."""
    remote = mirrored(lab, topic)
    lab.target.delete_records(remote, {0: COUNT})

    judged = lab.verify(topic, timeout_s=3 * RECORDS_ARRIVE_S)

    assert judged.outcome is Outcome.UNKNOWN
    assert {v.check: v.counts for v in judged.verdicts}["loss"]["gone_from_target"] == COUNT
    assert QUIET_S <= waited_s(judged) < RECORDS_ARRIVE_S


@contextmanager
def holding(lab: Lab, topic: str) -> Iterator[Producer]:
    """A transaction that is open with some records in it, at the end of the topic's first partition."""
    producer = lab.source.producer(**{"transactional.id": topic, "transaction.timeout.ms": 600_000})
    producer.init_transactions(RECORDS_ARRIVE_S)
    producer.begin_transaction()
    for number in range(HELD):
        producer.produce(topic, value=f"held {number}".encode(), partition=0)
    producer.flush(RECORDS_ARRIVE_S)
    yield producer


def test_what_an_open_transaction_holds_back_is_not_owed(lab: Lab, run: Run, topic: str) -> None:
    """Neither its own records nor what comes after them, though those were acknowledged."""
    mirrored(lab, topic, **{"source.consumer.isolation.level": "read_committed"})
    with holding(lab, topic) as producer:
        with Producing(lab.source, topic, Plan(run="feed0be4", records=COUNT), run.path / topic) as after:
            after.wait()
        assert after.ledger.acked == COUNT
        lab.target.wait_for_records(
            f"source.{topic}", at_least=COUNT + COUNT // 2, timeout_s=RECORDS_ARRIVE_S
        )
        judged = lab.verify(topic)
        assert judged.outcome is Outcome.PASS, wrong(judged)
        assert {v.check: v.counts for v in judged.verdicts}["loss"]["owed"] == COUNT + COUNT // 2
        (note,) = judged.notes
        assert note.startswith(
            f'{HELD + COUNT // 2} offsets of topic "{topic}" of cluster "source" are not judged'
        )
        producer.commit_transaction(RECORDS_ARRIVE_S)
    judged = lab.verify(topic)
    assert (judged.outcome, judged.notes) == (Outcome.PASS, []), wrong(judged)
    assert {v.check: v.counts for v in judged.verdicts}["loss"]["owed"] == 2 * COUNT + HELD


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_transaction_that_ends_during_the_wait_is_not_owed(lab: Lab, topic: str, end: str) -> None:
    mirrored(lab, topic, **{"source.consumer.isolation.level": "read_committed"})
    lab.connect.pause(topic)
    lab.connect.wait_until_state(topic, "PAUSED")
    put(lab, topic)
    with holding(lab, topic) as producer:
        ended = producer.commit_transaction if end == "commit" else producer.abort_transaction
        with soon(3, ended), soon(6, lambda: lab.connect.resume(topic)):
            judged = lab.verify(topic)

    assert judged.outcome is Outcome.PASS, wrong(judged)
    assert {v.check: v.counts for v in judged.verdicts}["loss"]["owed"] == 2 * COUNT
    assert judged.notes == []
