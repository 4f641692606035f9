"""A group and its producer move to a new cluster: nothing is skipped, and what is read again was said before.

The old cluster is `msksource`, the new one `mskdest`, as in the lesson before (test_msk_custom_policy.py). A
policy of the lab's own keeps the topics' names, so neither the consumer's code nor the producer's changes:
both only get other bootstrap servers. Consumers go first, the producer afterwards, MM2 last.

How long nobody reads and how long nobody writes is what such a move has to be approved for: the run's folder
has a table of the steps (`migration-*.txt`), and Spark's verdict over what was processed on both clusters.

Follow along: `lab up migration`. The consumer of this lesson writes down what it has processed, so that
Spark can judge it; take Kafka's console consumer in its place. With a pattern, clients look for new topics
every 5 minutes (`topic.metadata.refresh.interval.ms`, `metadata.max.age.ms`); this one does every 5 seconds.
"""

from collections.abc import Iterator

import pytest

from lab.harness import Lab
from lab.mm2 import CUSTOM_POLICY
from lab.run import Run
from lab.verify.verdict import Outcome
from scenarios.migrating import PARTITIONS, Migration

pytestmark = pytest.mark.topology("migration")

TOPIC, GROUP = "ExampleTopic", "mm2TestConsumer2"
BACKLOG, SOME = 2_000, 500


@pytest.fixture(scope="module")
def move(lab: Lab, run: Run) -> Iterator[Migration]:
    """The old cluster with its topic, and nothing at work yet."""
    lab.source.create_topic(TOPIC, partitions=PARTITIONS)
    move = Migration(lab, run, GROUP, (TOPIC,), ("mm2-msc", "mm2-cpc", "mm2-hbc"))
    yield move
    move.close()


def test_10_a_producer_and_a_consumer_are_at_work(lab: Lab, move: Migration) -> None:
    """In one terminal a producer, which makes the topic and goes on until you stop it:

        lab produce ExampleTopic --partitions 3 --rate 200 --keys 100 --for 1h

    In another, in `lab exec msksource bash`, the consumer with a pattern:

        kafka-console-consumer.sh --bootstrap-server msksource:9092 --include '.*ExampleTopic' \\
            --group mm2TestConsumer2 --from-beginning
    """
    move.start_producers(lab.source)
    move.start_application(lab.source).wait_for_processed(BACKLOG)
    assert lab.source.group_states()[GROUP] == "stable"


def test_20_mm2_starts(lab: Lab, move: Migration) -> None:
    """`lab mm2 deploy mm2-msc mm2-cpc mm2-hbc`, or three times `curl -X PUT … --data @mm2-msc.json`.

    It begins with the oldest record that is still there: those from before its start arrive too.
    """
    move.start_mm2()
    assert lab.connect.config("mm2-msc")["replication.policy.class"] == CUSTOM_POLICY
    assert {o.start for o in lab.target.offsets(TOPIC).values()} == {0}
    assert sum(o.count for o in lab.target.offsets(TOPIC).values()) >= BACKLOG


def test_30_offset_sync_starts(move: Migration) -> None:
    """The tutorial's Java program is `lab sync-offsets` here, with the same options. A file names the
    destination, as `consumer.properties_sync_dest` does:

        echo bootstrap.servers=127.0.0.1:29092 >consumer.properties_sync_dest
        lab sync-offsets -cgi mm2TestConsumer2 -src msksource -pfp consumer.properties_sync_dest \\
            -rpc CustomReplicationPolicy
    """
    move.start_sync("-rpc", "CustomReplicationPolicy")


def test_40_the_consumer_stops_and_commits_what_it_has_processed(lab: Lab, move: Migration) -> None:
    """A clean stop, with a synchronous commit: Ctrl-C. The producer goes on: from here on nobody reads."""
    said = move.stop_application()
    assert said.clean
    assert said.standing.uncommitted == 0
    assert move.committed(lab.source) == said.standing.positions


def test_50_its_last_offset_is_synced_then_sync_stops(lab: Lab, move: Migration) -> None:
    """`lab checkpoints --group mm2TestConsumer2` until `upstream` is what the group has committed, or does
    not change any more: MM2 writes a checkpoint only when the offset on the target moves forward. Then Ctrl-C
    in the terminal of `lab sync-offsets`. `lab groups --compare --group mm2TestConsumer2` says what would be
    read again, or skipped, by a consumer that starts on the new cluster now.
    """
    checkpoints = move.wait_until_synced()
    assert set(checkpoints) == {(TOPIC, p) for p in range(PARTITIONS)}
    assert move.stop_sync() == 130
    _, skipped, exact = move.compare()
    assert skipped == 0
    assert exact


def test_60_the_consumer_starts_on_the_new_cluster(lab: Lab, move: Migration) -> None:
    """The same program with `mskdest:9092`. It finds offsets of its group there and goes on."""
    move.start_application(lab.target).wait_for_processed(SOME)
    assert lab.target.group_states()[GROUP] == "stable"


def test_70_the_producer_stops_and_the_pipeline_runs_empty(lab: Lab, move: Migration) -> None:
    """Ctrl-C: from here on nobody writes. Empty means two things: `lab lag ExampleTopic` says 0, and so does
    the group's lag on the new cluster in `lab groups --group mm2TestConsumer2`. Who starts the producer
    before that mixes new records with old ones: scenarios/test_migration_cautions.py shows it.
    """
    move.stop_producers()
    move.wait_until_pipeline_is_empty()


def test_80_the_producer_starts_on_the_new_cluster(lab: Lab, move: Migration) -> None:
    """The same program with other bootstrap servers, into the topic of the same name:

    lab produce ExampleTopic --rate 200 --keys 100 --for 1h --cluster mskdest
    """
    before = sum(o.end for o in lab.target.offsets(TOPIC).values())
    move.start_producers(lab.target)
    move.wait_for_acked(SOME)
    assert sum(o.end for o in lab.target.offsets(TOPIC).values()) >= before + SOME


def test_90_mm2_stops_and_both_go_on(lab: Lab, move: Migration) -> None:
    """`lab mm2 stop mm2-msc mm2-cpc mm2-hbc`; the old cluster is not needed any more."""
    move.stop_mm2()
    assert move.application is not None
    move.application.wait_for_processed(move.application.standing.processed + SOME)


def test_91_kafkas_own_consumer_goes_on_as_the_same_group(lab: Lab, move: Migration) -> None:
    """Offsets are the cluster's, not a client's: after librdkafka, Java goes on where that one stopped.

        kafka-console-consumer.sh --bootstrap-server mskdest:9092 --topic ExampleTopic \\
            --group mm2TestConsumer2 --max-messages 100
    """
    stopped = move.stop_application()
    said = move.resume_with_kafkas_own(lab.target, 100)
    assert said.standing.processed == 100
    at = stopped.standing.positions
    assert sum(end - at[place] for place, end in said.standing.positions.items()) == 100
    move.start_application(lab.target)


def test_99_spark_proves_that_nothing_was_skipped(move: Migration) -> None:
    """Over what was processed on both clusters: every record that either cluster has acknowledged was
    processed, in its partition's order. Those that were read again are as many as was said before the switch.
    """
    move.stop_producers()
    judged = move.conclude(allowed_again=move.said_again)
    assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is not Outcome.PASS]
    counts = judged.verdict("read_again").counts
    assert counts["again"] == counts["again_on_mskdest"] == move.said_again
    assert sum(row["acked"] for row in judged.partitions) == judged.verdict("skipped").counts["acked"]
    assert {(row["cluster"], row["skipped"], row["inverted"]) for row in judged.partitions} == {
        ("msksource", 0, 0),
        ("mskdest", 0, 0),
    }
    assert move.write_pause_s is not None
    assert move.read_pause_s > 0
