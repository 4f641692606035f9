"""Each caution of a migration's tutorial is there for a reason, and the verdict finds who did not heed it.

Claim: a group that commits, is synced, and whose producer waits until the pipeline is empty, skips nothing,
keeps the order and reads again what was said before. A consumer that is killed reads again, beside that,
exactly what it had processed since its last commit. One that starts on the new cluster before its offsets are
synced begins at `auto.offset.reset`: it reads all of it again, or skips what came meanwhile. A producer that
moves while records are under way breaks the order, and nothing else. And who waits for a checkpoint of the
last commit may wait for ever: one that would translate to the same place is not written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from lab.consumption import Consumption
from lab.harness import Lab
from lab.kafka import GroupOffset
from lab.mm2_records import decoded, offset_sync
from lab.run import Run
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.migrating import PARTITIONS, Migration

pytestmark = pytest.mark.topology("migration")

SOME = 300
NEVER_S = 3_600.0


@contextmanager
def migration(lab: Lab, run: Run, name: str) -> Iterator[Migration]:
    """Records are produced, read, committed and mirrored; the application has stopped cleanly."""
    topic = f"{name}ExampleTopic"
    lab.source.create_topic(topic, partitions=PARTITIONS)
    move = Migration(lab, run, f"{name}Consumer", (topic,), ("mm2-msc", "mm2-cpc", "mm2-hbc"), pattern=topic)
    try:
        move.start_producers(lab.source)
        move.start_application(lab.source).wait_for_processed(SOME)
        move.start_mm2()
        assert move.stop_application().clean
        yield move
    finally:
        move.close()


def synced(move: Migration) -> int:
    """The group's offsets are on the new cluster; so many records are said to be read again."""
    move.start_sync()
    move.wait_until_synced()
    assert move.stop_sync() == 130
    again, skipped, exact = move.compare()
    assert (skipped, exact) == (0, True)
    return again


@contextmanager
def held_up(lab: Lab) -> Iterator[None]:
    """Records stay under way: MM2 does not mirror."""
    lab.connect.pause("mm2-msc")
    lab.connect.wait_until_state("mm2-msc", "PAUSED")
    try:
        yield
    finally:
        lab.connect.resume("mm2-msc")


def ended(move: Migration) -> Consumption:
    """Everything is mirrored and processed, and all stop."""
    lab = move.lab
    move.stop_producers()
    lab.target.wait_for_records(move.topics[0], at_least=move.acked, timeout_s=RECORDS_ARRIVE_S)
    return move.conclude()


def outcomes(judged: Consumption) -> dict[str, str]:
    return {verdict.check: str(verdict.outcome) for verdict in judged.verdicts}


FINE = dict.fromkeys(("skipped", "read_again", "processing_order", "foreign"), "PASS")


def test_with_every_caution_nothing_is_skipped_and_the_order_is_kept(lab: Lab, run: Run) -> None:
    with migration(lab, run, "careful") as move:
        again = synced(move)
        move.start_application(lab.target)
        with held_up(lab):
            move.wait_for_acked(SOME)
            move.stop_producers()
        move.wait_until_pipeline_is_empty()
        move.start_producers(lab.target)
        move.wait_for_acked(SOME)
        judged = ended(move)

    assert outcomes(judged) == FINE
    assert judged.verdict("read_again").counts["again"] == again


def test_a_killed_consumer_reads_again_what_it_had_not_committed(lab: Lab, run: Run) -> None:
    with migration(lab, run, "killed") as move:
        move.start_application(lab.source, commit_every_s=NEVER_S).wait_for_processed(SOME)
        killed = move.stop_application(cleanly=False)
        again = synced(move)
        move.start_application(lab.target)
        judged = ended(move)

    assert not killed.clean
    uncommitted = killed.standing.uncommitted
    assert uncommitted == killed.standing.processed >= SOME
    assert outcomes(judged) == FINE
    assert judged.verdict("read_again").counts["again_on_mskdest"] == uncommitted + again


def more_than_it_has_read(move: Migration) -> bool | NotYet:
    """In each partition: "latest" is then a place behind the group's."""
    (topic,) = move.topics
    ends = {p: o.end for p, o in move.lab.target.offsets(move.remote(topic)).items()}
    read = {p: at for (_, p), at in move.committed(move.lab.source).items()}
    return all(ends[p] > at for p, at in read.items()) or NotYet(f"{ends}, it has read to {read}")


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_consumer_that_is_there_before_its_offsets_begins_at_its_reset(
    lab: Lab, run: Run, reset: str
) -> None:
    with migration(lab, run, reset) as move:
        before = move.sessions[0].standing.processed
        move.wait_for_acked(SOME)
        move.wait_until_mirrored()
        wait_until(
            partial(more_than_it_has_read, move), timeout_s=RECORDS_ARRIVE_S, what="some that it has not read"
        )
        assert move.committed(lab.target) == {}
        move.start_application(lab.target, auto_offset_reset=reset)
        judged = ended(move)

    told = judged.verdict("read_again").counts["again_on_mskdest"], judged.verdict("skipped")
    if reset == "earliest":
        assert outcomes(judged) == FINE
        assert told[0] == before, "all of it"
    else:
        assert outcomes(judged) == {**FINE, "skipped": "FAIL"}
        assert told[0] == 0
        assert told[1].outcome is Outcome.FAIL
        assert told[1].counts["skipped"] > 0
        assert {first["cluster"] for first in told[1].first} == {"msksource"}


def test_a_producer_that_does_not_wait_breaks_the_order(lab: Lab, run: Run) -> None:
    with migration(lab, run, "hasty") as move:
        synced(move)
        move.start_application(lab.target)
        with held_up(lab):
            move.wait_for_acked(SOME)
            move.stop_producers()
            move.start_producers(lab.target)
            move.wait_for_acked(SOME)
            move.stop_producers()
            move.wait_until_all_is_processed()
        judged = ended(move)

    assert outcomes(judged) == {**FINE, "processing_order": "FAIL"}
    order = judged.verdict("processing_order")
    assert order.counts["inverted"] > 0
    assert {first["cluster"] for first in order.first} == {"msksource"}, "overtaken by those of mskdest"


def test_a_commit_that_is_translated_to_the_same_place_has_no_checkpoint(lab: Lab, run: Run) -> None:
    with migration(lab, run, "still") as move:
        move.wait_for_acked(SOME)
        move.stop_producers()
        move.wait_until_mirrored()
        move.start_sync()
        move.wait_until_synced()
        committed = move.committed(lab.source)
        # What has a sync is translated to the very record, what comes after it to the next one.
        known = syncs(lab)
        further = {
            place: offset + 1
            for place, offset in committed.items()
            if {(*place, offset), (*place, offset + 1)}.isdisjoint(known)
        }
        assert further
        before = move.wait_until_synced()
        lab.source.commit(
            move.group, {place: GroupOffset(offset=offset) for place, offset in further.items()}
        )
        after = move.wait_until_synced()
        assert move.stop_sync() == 130
        _, skipped, exact = move.compare()

    assert {place: after[place].upstream for place in further} == {
        place: before[place].upstream for place in further
    }
    assert (skipped, exact) == (0, True)


def syncs(lab: Lab) -> set[tuple[str, int, int]]:
    """Topic, partition and offset of every record that MM2 has an offset sync of."""
    found = decoded(offset_sync, lab.source.snapshot("mm2-offset-syncs.mskdest.internal"))
    return {(sync.topic, sync.partition, sync.upstream) for sync in found}
