"""The verdict is right about topics as users have them: written by plain clients, old, trimmed, compacted.

Claim: without a ledger, where the source has lost its beginning, records are equal, keys are compacted,
transactions are open, the target keeps less than the source, or MM2 stands still for a while, a faithful
mirror is PASS; records that arrive twice, were skipped, or were written by somebody else are FAIL, counted
exactly; and what nobody can know any more is UNKNOWN.
"""

import time
from threading import Timer

import pytest
from confluent_kafka import Producer

from lab.harness import Lab
from lab.verify.verdict import Outcome
from lab.wait import NotYet, wait_until
from scenarios.under_load import hold
from scenarios.user_topics import KeyAndValue, UserTopic, failing, missing, numbered, passes, summary, write

# Of its own: where a cluster had any transaction, offsets that are missing may have been its markers.
pytestmark = pytest.mark.topology("basic-mirror", lab="users")

TICK: KeyAndValue = (None, b"tick")
EACH_SYNCED = {"offset.lag.max": "0"}  # else the first alone, which the source has no more
COMPACTED_S = 30.0  # the log cleaner looks every 15 s
NOT_COPIED = "segment.ms, min.cleanable.dirty.ratio"
PATIENCE_S, JUDGED_S = 20.0, 40.0  # of a verification: for the target, and what Spark may take then
LONGER_THAN_QUIET_S = 13.0  # in which a target that does not grow was taken for one that never will


def test_records_that_arrive_twice_are_counted_where_the_source_lost_its_beginning(
    lab: Lab, topic: str
) -> None:
    """Every old topic has lost its beginning, and what MM2 mirrored of that is on the target once."""
    user = UserTopic(lab, topic, overrides=EACH_SYNCED)
    user.put(numbered(0, 15))
    user.mirror(expect=15)
    lab.source.delete_records(topic, {0: 7})
    passes(user.verdicts(), records=8)

    user.go_on_at(7)
    user.arrived(15 + 8)
    verdicts = user.verdicts()
    assert failing(verdicts) == {"duplicates"}, summary(verdicts)
    assert verdicts["duplicates"].counts["extra"] == 8
    first = verdicts["duplicates"].first
    assert [(at["partition"], at["offset"]) for at in first] == [(0, offset) for offset in range(7, 15)]

    allowed = lab.verify(topic, allow_duplicates=True)
    (duplicates,) = [verdict for verdict in allowed.verdicts if verdict.check == "duplicates"]
    assert (allowed.outcome, duplicates.counts["extra"]) == (Outcome.PASS, 8)


def test_records_that_retention_takes_before_mm2_are_missing(lab: Lab, topic: str) -> None:
    """Nothing is left of them but the step that MM2 made over them."""
    user = UserTopic(lab, topic)
    user.put(numbered(0, 10))
    user.mirror(expect=10)
    user.pause()
    user.put(numbered(10, 10))
    user.resume()
    user.arrived(20)
    passes(user.verdicts(), records=20)

    user.pause()
    user.put(numbered(20, 10))
    lab.source.delete_records(topic, {0: 25})
    user.resume()
    user.arrived(25)
    missing(user.verdicts(), 5)


@pytest.mark.parametrize("partitions", [1, 3])
def test_equal_records_are_told_apart_by_their_places(lab: Lab, topic: str, partitions: int) -> None:
    user = UserTopic(lab, topic, partitions=partitions)
    for partition in range(partitions):
        user.put([TICK] * 200, partition=partition)
    user.mirror(expect=200 * partitions)
    passes(user.verdicts(), records=200 * partitions)

    last = max(record.timestamp_ms or 0 for record in lab.target.snapshot(user.remote))
    write(lab.target, user.remote, [TICK], timestamps_ms=[last])
    verdicts = user.verdicts()
    assert failing(verdicts) & {"duplicates", "phantoms"}, summary(verdicts)
    loss = verdicts["loss"]
    assert (loss.outcome, loss.counts["owed"]) == (Outcome.PASS, 200 * partitions)


def test_of_equal_records_one_is_lost_and_another_doubled(lab: Lab, topic: str) -> None:
    """As many on both sides, and all of them equal but for their timestamps."""
    user = UserTopic(lab, topic)
    half_an_hour_ago_ms = int(time.time() - 1800) * 1000
    minutes = [half_an_hour_ago_ms + n * 60_000 for n in range(30)]
    write(lab.source, topic, [TICK] * 20, timestamps_ms=minutes[:20])
    user.mirror(expect=20)
    passes(user.verdicts(), records=20)

    user.stop()
    write(lab.source, topic, [TICK] * 10, timestamps_ms=minutes[20:])
    user.go_on_at(21)
    user.arrived(29)
    user.go_on_at(29)
    user.arrived(30)
    verdicts = user.verdicts()
    missing(verdicts, 1)
    assert "duplicates" in failing(verdicts), summary(verdicts)
    assert verdicts["duplicates"].counts["extra"] == 1


def test_a_compacted_topic_is_judged_by_its_last_values(lab: Lab, topic: str) -> None:
    """The source is cleaned, and the target still has all that was mirrored."""
    user = UserTopic(
        lab,
        topic,
        configs={"cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.01"},
        overrides={"config.properties.exclude": NOT_COPIED, **EACH_SYNCED},
    )
    user.put([(b"a", b"1"), (b"b", b"1"), (b"c", b"1"), (b"a", b"2"), (b"b", None), (b"c", b"2")])
    user.mirror(expect=6)
    hold(0.4)  # the segment is old enough now, and ends with the next record
    user.put([(b"d", b"1")])
    user.arrived(7)

    def cleaned() -> bool | NotYet:
        left = [record.offset for record in lab.source.snapshot(topic)]
        return left == [3, 4, 5, 6] or NotYet(f"offsets {left}")

    wait_until(cleaned, timeout_s=COMPACTED_S, what="the source is compacted", pause_s=0.5)
    assert len(lab.target.snapshot(user.remote)) == 7
    verdicts = user.verdicts()
    passes(verdicts, records=4)
    assert verdicts["compaction"].counts["keys"] == 4

    write(lab.target, user.remote, [(b"a", b"1"), (b"b", b"9")])
    verdicts = user.verdicts()
    assert "compaction" in failing(verdicts), summary(verdicts)
    wrong = verdicts["compaction"]
    assert (wrong.counts["stale"], wrong.counts["alive"]) == (1, 1)
    assert sorted((at["s_offset"], at["t_offset"]) for at in wrong.first) == [(3, 7), (4, 8)]


def test_an_open_transaction_holds_up_nothing_that_comes_before_it(lab: Lab, topic: str) -> None:
    """A connector that reads committed records stops before it, and so does what is owed."""
    user = UserTopic(lab, topic, overrides={"source.consumer.isolation.level": "read_committed"})
    user.put(numbered(0, 10))
    user.mirror(expect=10)
    passes(user.verdicts(), records=10)

    producer = lab.source.producer(**{"transactional.id": topic, "transaction.timeout.ms": 300_000})
    producer.init_transactions()
    sent(producer, topic, numbered(10, 5))
    user.put(numbered(15, 3))
    begin = time.monotonic()
    done, verdicts = user.by_command("--timeout", f"{PATIENCE_S:g}")
    assert done.code == 0, summary(verdicts)
    passes(verdicts, records=10)
    assert time.monotonic() - begin < PATIENCE_S + JUDGED_S

    producer.commit_transaction()
    user.arrived(18)
    sent(producer, topic, numbered(18, 5))
    producer.abort_transaction()
    user.put(numbered(23, 1))
    user.arrived(19)
    passes(user.verdicts(), records=19)


def sent(producer: Producer, topic: str, records: list[KeyAndValue]) -> None:
    """In a transaction that stays open: whoever reads committed records waits before it."""
    producer.begin_transaction()
    for key, value in records:
        producer.produce(topic, key=key, value=value, partition=0)
    assert producer.flush() == 0


def test_what_the_target_keeps_no_longer_is_unknown_and_a_hole_is_missing(lab: Lab, topic: str) -> None:
    """Each side deletes by itself: what the target has deleted may have been mirrored or not."""
    user = UserTopic(lab, topic)
    user.put(numbered(0, 10))
    user.mirror(expect=10)
    passes(user.verdicts(), records=10)

    lab.target.delete_records(user.remote, {0: 4})
    done, verdicts = user.by_command()
    assert done.code == 3, summary(verdicts)
    assert verdicts["loss"].outcome is Outcome.UNKNOWN
    assert "4" in verdicts["loss"].meaning
    assert "target" in verdicts["loss"].meaning

    user.stop()
    user.put(numbered(10, 10))
    user.go_on_at(15)
    user.arrived(6 + 5)
    missing(user.verdicts(), 5)


def test_mm2_may_stand_still_until_the_time_is_over(lab: Lab, topic: str) -> None:
    """Paused when the verification begins: the deadline is the user's."""
    user = UserTopic(lab, topic)
    user.put(numbered(0, 10))
    user.mirror(expect=10)
    user.pause()
    user.put(numbered(10, 10))

    resuming = Timer(LONGER_THAN_QUIET_S, user.resume)
    resuming.start()
    try:
        passes(user.verdicts(timeout_s=120), records=20)
    finally:
        resuming.join()

    user.pause()
    user.put(numbered(20, 5))
    verdicts = user.verdicts(timeout_s=12)
    missing(verdicts, 5)
    assert "catch_up" in failing(verdicts), summary(verdicts)
