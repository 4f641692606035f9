"""A streaming application downstream of MM2 survives being stopped: every record is in its output once.

Claim: a Structured Streaming query that reads the mirrored topic into Parquet, is stopped in the middle
while records flow, and is started again from its checkpoint, leaves each record of the source exactly once
in its output, unharmed; and when records are in the output twice, or are not, the verdict says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import functions as f

from lab.harness import Lab
from lab.mm2 import BYTES_CONVERTER, Connector
from lab.producing import Producing
from lab.records import Plan, record_id
from lab.run import Run
from lab.streaming import Application, verify_output
from lab.verify.flow import Flow
from lab.verify.verdict import Outcome, Verdict
from lab.wait import RECORDS_ARRIVE_S

pytestmark = pytest.mark.topology("basic-mirror")

PARTITIONS = 3
RECORDS = 6_000
RATE_PER_S = 600


@pytest.fixture
def flow(lab: Lab, topic: str) -> Flow:
    lab.source.create_topic(topic, partitions=PARTITIONS)
    config = lab.connector("test_mirror", topics=topic, **{"header.converter": BYTES_CONVERTER}).config
    connector = Connector(name=topic, config=config)
    lab.deploy(connector)
    return lab.flow(topic)


def application(lab: Lab, run: Run, flow: Flow) -> Application:
    name = f"{run.path.name}-{flow.topic}"
    return Application(
        lab.spark, name, topic=flow.remote, bootstrap=flow.bootstrap(flow.target), per_batch=RECORDS // 10
    )


@contextmanager
def running(app: Application) -> Iterator[None]:
    app.start(every_s=0.5)
    try:
        yield
    finally:
        app.stop()


def outcomes(verdicts: list[Verdict]) -> dict[str, Outcome]:
    return {v.check: v.outcome for v in verdicts if v.outcome is not Outcome.NOT_APPLICABLE}


def test_stopped_and_started_again_it_has_every_record_once(lab: Lab, run: Run, flow: Flow) -> None:
    app = application(lab, run, flow)
    plan = Plan(run="feedf10e", records=RECORDS, rate_per_s=RATE_PER_S, headers=True)

    with Producing(lab.source, flow.topic, plan, run.path / flow.topic) as orders:
        lab.target.wait_for_records(flow.remote, at_least=100, timeout_s=RECORDS_ARRIVE_S)
        with running(app):
            first = app.wait_until_read(500)
        orders.wait_for_acked(first + 500)  # meanwhile records go on flowing
        with running(app):
            second = app.wait_until_read(first + 500)
        orders.wait()
    assert orders.tally.acked == RECORDS
    assert first < second

    lab.target.wait_for_records(flow.remote, at_least=RECORDS, timeout_s=RECORDS_ARRIVE_S)
    app.start()  # from the checkpoint to the end, then it ends by itself
    app.wait_until_ended()

    told = outcomes(verify_output(lab.spark, flow, app.records()))
    assert set(told.values()) == {Outcome.PASS}, told
    assert {"loss", "duplicates", "payload", "headers"} <= told.keys()


def test_an_output_that_lost_and_doubled_records_is_found_out(lab: Lab, run: Run, flow: Flow) -> None:
    """As an application leaves it whose checkpoint does not fit its output: the verdict names them."""
    with Producing(lab.source, flow.topic, Plan(run="feedf20e", records=90), run.path / flow.topic) as orders:
        orders.wait()
    lab.target.wait_for_records(flow.remote, at_least=90, timeout_s=RECORDS_ARRIVE_S)
    app = application(lab, run, flow)
    app.start()
    app.wait_until_ended()
    once = app.records()
    spoilt = once.where("offset > 0").unionAll(once.where("offset >= 28"))

    verdicts = {v.check: v for v in verify_output(lab.spark, flow, spoilt)}

    assert verdicts["duplicates"].outcome is Outcome.FAIL
    names = {coordinates["id"] for coordinates in verdicts["duplicates"].first}
    assert names == {record_id("feedf20e", sequence) for sequence in range(84, 90)}
    assert verdicts["loss"].outcome is Outcome.FAIL
    names = {coordinates["id"] for coordinates in verdicts["loss"].first}
    assert names == {record_id("feedf20e", sequence) for sequence in range(3)}

    # Nothing is missing or repeated here, so that only the block which differs is looked at.
    other = f.when(f.col("offset") == 5, f.lit(b"other")).otherwise(f.col("value"))
    verdicts = {v.check: v for v in verify_output(lab.spark, flow, once.withColumn("value", other))}

    assert verdicts["payload"].outcome is Outcome.FAIL
    assert {coordinates["t_first"] for coordinates in verdicts["payload"].first} == {5}
