"""The same move with Kafka's default policy: topics arrive as `msksource.ExampleTopic`, producers choose.

With the DefaultReplicationPolicy a mirrored topic has the source's alias before its name. A consumer with the
pattern `.*ExampleTopic` reads it under either name. A producer has two ways: its topic is created on the new
cluster under the old name, and nothing changes in its code; or it goes on in the mirrored topic, and its code
changes. Here two producers move, one each way, and one group reads both.

The steps are those of test_migration_custom_policy.py, with what differs. Follow along: `lab up migration`.
"""

from collections.abc import Iterator

import pytest

from lab.harness import Lab
from lab.mm2 import DEFAULT_POLICY
from lab.run import Run
from lab.verify.verdict import Outcome
from scenarios.migrating import PARTITIONS, Migration

pytestmark = pytest.mark.topology("migration")

CREATED, MOVED, GROUP = "ExampleTopic", "SecondExampleTopic", "mm2TestConsumer3"
TOPICS = (CREATED, MOVED)
REMOTE = {topic: f"msksource.{topic}" for topic in TOPICS}
BACKLOG, SOME = 2_000, 500


@pytest.fixture(scope="module")
def move(lab: Lab, run: Run) -> Iterator[Migration]:
    """The old cluster with its topics, and nothing at work yet."""
    for topic in TOPICS:
        lab.source.create_topic(topic, partitions=PARTITIONS)
    move = Migration(lab, run, GROUP, TOPICS, ("mm2-src", "mm2-chk", "mm2-hbt"))
    yield move
    move.close()


def test_10_two_producers_and_a_consumer_are_at_work(lab: Lab, move: Migration) -> None:
    """In two terminals a producer each, and the consumer in a third, in `lab exec msksource bash`:

        lab produce ExampleTopic --partitions 3 --rate 200 --keys 100 --for 1h
        lab produce SecondExampleTopic --partitions 3 --rate 200 --keys 100 --for 1h

        kafka-console-consumer.sh --bootstrap-server msksource:9092 --include '.*ExampleTopic' \\
            --group mm2TestConsumer3 --from-beginning
    """
    move.start_producers(lab.source)
    standing = move.start_application(lab.source).wait_for_processed(BACKLOG)
    assert set(standing.assigned or ()) == {(topic, p) for topic in TOPICS for p in range(PARTITIONS)}


def test_20_mm2_starts(lab: Lab, move: Migration) -> None:
    """`lab mm2 deploy mm2-src mm2-chk mm2-hbt`. On the new cluster topics begin with `msksource.`"""
    move.start_mm2()
    assert lab.connect.config("mm2-src")["replication.policy.class"] == DEFAULT_POLICY
    names = lab.target.topic_names()
    assert set(REMOTE.values()) <= set(names)
    assert not set(TOPICS) & set(names)


def test_30_offset_sync_starts(move: Migration) -> None:
    """The names in the checkpoints have the prefix already, so no policy has to be given:

    echo bootstrap.servers=127.0.0.1:29092 >consumer.properties_sync_dest
    lab sync-offsets -cgi mm2TestConsumer3 -src msksource -pfp consumer.properties_sync_dest
    """
    move.start_sync()


def test_40_the_consumer_stops_and_commits_what_it_has_processed(lab: Lab, move: Migration) -> None:
    """Ctrl-C: from here on nobody reads."""
    said = move.stop_application()
    assert said.clean
    assert move.committed(lab.source) == said.standing.positions


def test_50_its_last_offsets_are_synced_then_sync_stops(move: Migration) -> None:
    """`lab checkpoints --group mm2TestConsumer3`: the topic has its new name."""
    checkpoints = move.wait_until_synced()
    assert set(checkpoints) == {(topic, p) for topic in REMOTE.values() for p in range(PARTITIONS)}
    assert move.stop_sync() == 130
    _, skipped, exact = move.compare()
    assert skipped == 0
    assert exact


def test_60_the_consumer_starts_on_the_new_cluster(lab: Lab, move: Migration) -> None:
    """Its code is the same, with `mskdest:9092`: the pattern fits both names."""
    application = move.start_application(lab.target)
    standing = application.wait_for_processed(SOME)
    assert set(standing.assigned or ()) == {(t, p) for t in REMOTE.values() for p in range(PARTITIONS)}


def test_70_the_producers_stop_and_the_pipeline_runs_empty(move: Migration) -> None:
    """Ctrl-C for both: from here on nobody writes."""
    move.stop_producers()
    move.wait_until_pipeline_is_empty()


def test_71_one_of_the_topics_is_created_on_the_new_cluster(lab: Lab, move: Migration) -> None:
    """The tutorial's option, with as many partitions as before, or keys would change theirs:

        kafka-topics.sh --create --bootstrap-server mskdest:9092 --topic ExampleTopic --partitions 3

    The consumer has its partitions once it has looked for new topics; what is written before that it reads
    from the start, if its `auto.offset.reset` is `earliest`. With `latest` those records would be skipped.
    """
    assert move.application is not None
    with move.step("the source topic is created, and the group finds it"):
        lab.target.create_topic(CREATED, partitions=PARTITIONS)
        standing = move.application.wait_until_assigned(PARTITIONS * 3)
    assert {topic for topic, _ in standing.assigned or ()} == {CREATED, *REMOTE.values()}


def test_80_the_producers_start_on_the_new_cluster(lab: Lab, move: Migration) -> None:
    """One into ExampleTopic as ever, the other into `msksource.SecondExampleTopic`, after MM2's records:

    lab produce ExampleTopic --rate 200 --keys 100 --for 1h --cluster mskdest
    lab produce msksource.SecondExampleTopic --rate 200 --keys 100 --for 1h --cluster mskdest
    """
    before = sum(o.end for o in lab.target.offsets(REMOTE[MOVED]).values())
    move.start_producers(lab.target, to={MOVED: REMOTE[MOVED]})
    move.wait_for_acked(SOME)
    assert sum(o.end for o in lab.target.offsets(CREATED).values()) >= SOME
    assert sum(o.end for o in lab.target.offsets(REMOTE[MOVED]).values()) >= before + SOME


def test_90_mm2_stops_and_all_go_on(move: Migration) -> None:
    """`lab mm2 stop mm2-src mm2-chk mm2-hbt`"""
    move.stop_mm2()
    assert move.application is not None
    move.application.wait_for_processed(move.application.standing.processed + SOME)


def test_99_spark_proves_that_nothing_was_skipped(move: Migration) -> None:
    """Over both clusters and all three topics; each stream is in the order in which its producer sent it."""
    move.stop_producers()
    judged = move.conclude(allowed_again=move.said_again)
    assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is not Outcome.PASS]
    counts = judged.verdict("read_again").counts
    assert counts["again"] == counts["again_on_mskdest"] == move.said_again
    assert {(row["cluster"], row["topic"]) for row in judged.partitions} == {
        *(("msksource", topic) for topic in TOPICS),
        *(("mskdest", topic) for topic in (CREATED, REMOTE[MOVED])),
    }
    assert not any(row["skipped"] or row["inverted"] for row in judged.partitions)
    assert all(row["acked"] > 0 for row in judged.partitions)
