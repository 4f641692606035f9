"""Heartbeats travel along a chain of clusters and tell its links; names tell MM2 what would go in a circle.

Four clusters stand in a row: `us-east`, `us-west`, `backup`, `archive`. A tutorial says that heartbeats get
propagated, so that chains like `backup.us-west.us-east.heartbeat` are possible, and that cycle detection
prevents infinite recursion. You build that chain, read what its topics' names say, break a link and find it
by the heartbeats that fail to come. Then you close the chain to a ring, and let two clusters mirror each
other: with names that tell where a record has been nothing goes round, without them a record does for ever.

The topic is called `heartbeats`, and a name with three prefixes needs four clusters.

Follow along: `lab up chain`, then type what each step shows.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.harness import Lab
from lab.kafka import ClusterError
from lab.mm2 import IDENTITY_POLICY
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios import connector_files
from scenarios.commands import Done, lab_command
from scenarios.connector_files import count, mm2
from scenarios.diagnosing import Doctor
from scenarios.java_library import upstream_clusters

pytestmark = pytest.mark.topology("chain")

CHAIN = ("us-east", "us-west", "backup", "archive")
EAST, WEST, BACKUP, ARCHIVE = CHAIN
HEARTBEATS, ORDERS = "heartbeats", "orders"
LINKS, BEATS = ([f"mm2-{kind}-{alias}" for alias in CHAIN[:-1]] for kind in ("src", "hbt"))
RING = f"mm2-src-{ARCHIVE}"
LATE_MS = 5_000
RECORDS = 200
Made = dict[tuple[str, str], int]


def command(lab: Lab, *arguments: str) -> Done:
    done = lab_command(*arguments, "--name", lab.name)
    if done.code:  # of one that did not answer at once, whoever looks again and again hears more
        raise ClusterError(f"lab {' '.join(arguments)}: {done.err or done.out}")
    return done


def set_(**keys: str) -> list[str]:
    """Options that change keys of a connector file; `target_cluster_alias` is target.cluster.alias."""
    return [part for key, value in keys.items() for part in ("--set", f"{key.replace('_', '.')}={value}")]


BACK = set_(
    target_cluster_alias=EAST,
    target_cluster_bootstrap_servers=f"{EAST}:9092",
    producer_override_bootstrap_servers=f"{EAST}:9092",
)
LOOPING = set_(topics="looping", replication_policy_class=IDENTITY_POLICY)


def topics(lab: Lab, last: str) -> dict[str, set[str]]:
    """By cluster those of a name, whatever prefixes they have."""
    return {
        alias: {name for name in lab.cluster(alias).topic_names() if name.rpartition(".")[2] == last}
        for alias in CHAIN
    }


def wait_for(what: str, observe: Callable[[], object], wanted: object) -> None:
    def seen() -> bool | NotYet:
        return (now := observe()) == wanted or NotYet(str(now))

    wait_until(seen, timeout_s=RECORDS_ARRIVE_S, what=what, transient=(ClusterError,))


def newest(lab: Lab) -> Made:
    """When the newest heartbeat of each topic was made, by the clock of the worker that made them all."""
    found = command(lab, "heartbeats", "--latest", "--json").json["heartbeats"]
    made: Made = {}
    for beat in found:
        place = (beat["cluster"], beat["in"])
        made[place] = max(beat["timestamp_ms"], made.get(place, 0))
    return made


def late(lab: Lab) -> set[tuple[str, str]]:
    """Topics whose newest heartbeat is 5 s older than the newest of all."""
    made = newest(lab)
    return {place for place, ms in made.items() if ms < max(made.values()) - LATE_MS}


# -- a chain -----------------------------------------------------------------------------------------


def test_10_each_cluster_gets_heartbeats_of_its_own(lab: Lab) -> None:
    """A heartbeat connector writes one small record per second. On Connect it writes where its worker's
    producer points; `producer.override.bootstrap.servers` in the three files sends it to the source of a
    link, since what is to prove a link has to travel over it.

        lab mm2 deploy mm2-hbt-us-east mm2-hbt-us-west mm2-hbt-backup
        lab heartbeats
    """
    assert command(lab, "heartbeats", "--json").json["heartbeats"] == []
    mm2_deploy(lab, *BEATS)
    wait_for("heartbeats in three clusters", lambda: set(newest(lab)), {(a, HEARTBEATS) for a in CHAIN[:-1]})


def mm2_deploy(lab: Lab, *arguments: str) -> None:
    done = mm2(lab, "deploy", *arguments)
    assert done.code == 0, done.err


def test_11_a_link_takes_heartbeats_along_unasked(lab: Lab) -> None:
    """`lab mm2 deploy mm2-src-us-east mm2-src-us-west mm2-src-backup`. Their files say `.*orders`, and there
    is no such topic: `lab mm2 validate` warns that heartbeats are all that would be mirrored.

    On each cluster now: `lab topics --cluster archive --internal`. Every link puts the alias of its source
    before the name, so the name is the way, to be read from right to left:
    `backup.us-west.us-east.heartbeats` was `heartbeats` on us-east, then went through us-west and backup.
    """
    warned = mm2(lab, "validate", *LINKS, "--json")
    assert warned.code == 0
    assert {
        (problem["severity"], problem["key"], "heartbeats only" in problem["message"])
        for found in warned.json["connectors"].values()
        for problem in found
    } == {("warning", "topics", True)}
    mm2_deploy(lab, *LINKS)
    wait_for("every heartbeats topic of the chain", lambda: topics(lab, HEARTBEATS), {
        EAST: {"heartbeats"},
        WEST: {"heartbeats", "us-east.heartbeats"},
        BACKUP: {"heartbeats", "us-west.heartbeats", "us-west.us-east.heartbeats"},
        # an empty `heartbeats` too: the last link's heartbeat connector makes it on its target
        ARCHIVE: {
            "heartbeats", "backup.heartbeats", "backup.us-west.heartbeats",
            "backup.us-west.us-east.heartbeats",
        },
    })  # fmt: skip


def test_12_a_heartbeat_is_the_same_wherever_it_comes(lab: Lab) -> None:
    """`lab heartbeats --all`: a heartbeat says for which link it was made, from `source` to `target`, and
    when. The copy at the end of the chain still says us-east and us-west: of its way only the name tells.
    """
    far = (ARCHIVE, "backup.us-west.us-east.heartbeats")
    wait_for("heartbeats over three links", lambda: far in newest(lab), True)
    found = command(lab, "heartbeats", "--all", "--json").json["heartbeats"]
    links = {(beat["source"], beat["target"]) for beat in found}
    assert links == {(EAST, WEST), (WEST, BACKUP), (BACKUP, ARCHIVE)}
    first, last = (
        {(b["source"], b["target"], b["timestamp_ms"]) for b in found if (b["cluster"], b["in"]) == place}
        for place in ((EAST, HEARTBEATS), far)
    )
    assert last
    assert last <= first, "nothing but what us-east has"


def test_13_the_names_tell_upstream_clusters_and_hops(lab: Lab) -> None:
    """Kafka's Java library reads no more than these names: `RemoteClusterUtils.upstreamClusters` collects
    the prefixes of all heartbeats topics, and `replicationHops` counts how many a cluster is away.
    """
    assert upstream_clusters(lab, ARCHIVE) == {BACKUP: 1, WEST: 2, EAST: 3}
    assert upstream_clusters(lab, WEST) == {EAST: 1}
    assert upstream_clusters(lab, EAST) == {}


def test_20_a_broken_link_shows_where_heartbeats_stop_to_come(lab: Lab) -> None:
    """`lab mm2 pause mm2-src-us-west`, wait some seconds, `lab heartbeats`. Whatever came over the link from
    us-west to backup has grown old, on backup and behind it; `backup.heartbeats` on archive is young. The
    first cluster on its way where a heartbeat is old has the broken link before it.

    Topics stay: the library still finds all clusters upstream. A name says which way there is, only the age
    of the newest heartbeat says that it is open.
    """
    assert mm2(lab, "pause", LINKS[1]).code == 0
    wait_for("heartbeats late behind the paused link", lambda: late(lab), {
        (BACKUP, "us-west.heartbeats"),
        (BACKUP, "us-west.us-east.heartbeats"),
        (ARCHIVE, "backup.us-west.heartbeats"),
        (ARCHIVE, "backup.us-west.us-east.heartbeats"),
    })  # fmt: skip
    assert upstream_clusters(lab, ARCHIVE) == {BACKUP: 1, WEST: 2, EAST: 3}


def test_21_a_link_that_heals_delivers_what_it_owes(lab: Lab) -> None:
    """`lab mm2 resume mm2-src-us-west`: no heartbeat is late any more, and those of the pause have come too.

    A heartbeat connector that stops looks otherwise, `lab mm2 pause mm2-hbt-us-east`: its heartbeats are old
    in the cluster where it writes already, and in all behind it.
    """
    made = timestamps(lab, EAST, HEARTBEATS)
    assert mm2(lab, "resume", LINKS[1]).code == 0
    wait_for("no heartbeat is late", lambda: late(lab), set())

    def missing() -> set[int]:
        arrived = timestamps(lab, ARCHIVE, "backup.us-west.us-east.heartbeats")
        return {ms for ms in made - arrived if ms >= min(arrived)}

    wait_for("heartbeats that have not come", missing, set())

    assert mm2(lab, "pause", BEATS[0]).code == 0
    of_us_east = {
        (EAST, "heartbeats"),
        (WEST, "us-east.heartbeats"),
        (BACKUP, "us-west.us-east.heartbeats"),
        (ARCHIVE, "backup.us-west.us-east.heartbeats"),
    }
    wait_for("us-east's heartbeats late everywhere", lambda: late(lab), of_us_east)
    assert mm2(lab, "resume", BEATS[0]).code == 0
    wait_for("no heartbeat is late", lambda: late(lab), set())


def timestamps(lab: Lab, cluster: str, topic: str) -> set[int]:
    found = command(lab, "heartbeats", "--all", "--json").json["heartbeats"]
    return {beat["timestamp_ms"] for beat in found if (beat["cluster"], beat["in"]) == (cluster, topic)}


# -- a ring ------------------------------------------------------------------------------------------


def test_30_other_topics_take_the_same_way(lab: Lab) -> None:
    """`lab produce first_orders --records 200 --cluster us-east`, and 200 records are on archive as
    `backup.us-west.us-east.first_orders`: a pattern such as `.*orders` selects a topic that has come from
    elsewhere, too.
    """
    command(lab, "produce", "first_orders", "--records", str(RECORDS), "--cluster", EAST, "--json")
    lab.cluster(ARCHIVE).wait_for_records(
        "backup.us-west.us-east.first_orders", at_least=RECORDS, timeout_s=RECORDS_ARRIVE_S
    )


def test_31_and_nothing_is_wrong(lab: Lab) -> None:
    """`lab diagnose`, half a minute after the broken link has healed: nothing found."""
    Doctor(lab).says_nothing()


def test_32_in_a_ring_everything_ends_where_it_began(lab: Lab, tmp_path: Path) -> None:
    """Copy mm2-src-backup.json to mm2-src-archive.json, let it read from archive and write to us-east, and
    `lab mm2 deploy mm2-src-archive.json`: a ring. Does everything go round for ever?

    No link takes a topic back to a cluster that its name has. On us-east there is `archive.backup.us-west.…`,
    and no topic with all four: each cluster ends up with one topic of each other's heartbeats, and with its
    own. That is cycle detection, and the name is all that it looks at.
    """
    ends = {
        f"{side}.cluster.{key}": f"{alias}{port}"
        for side, alias in (("source", ARCHIVE), ("target", EAST))
        for key, port in (("alias", ""), ("bootstrap.servers", ":9092"))
    }
    override = {"producer.override.bootstrap.servers": f"{EAST}:9092"}
    mm2_deploy(lab, connector_files.write(tmp_path, lab, LINKS[2], RING, **ends, **override))
    wait_for("one topic of each cluster's heartbeats", lambda: topics(lab, HEARTBEATS), ring())
    before = newest(lab)[EAST, "archive.backup.us-west.heartbeats"]

    def goes_on() -> bool | NotYet:
        now = newest(lab)[EAST, "archive.backup.us-west.heartbeats"]
        return now >= before + 10_000 or NotYet(f"{now - before} ms more")

    # each link looks for new topics every 2 s
    wait_until(goes_on, timeout_s=RECORDS_ARRIVE_S, what="heartbeats of ten more seconds")
    assert topics(lab, HEARTBEATS) == ring(), "and no topic more"
    assert count(lab, EAST, "first_orders") == RECORDS
    assert {name for name in lab.cluster(EAST).topic_names() if name.endswith("orders")} == {"first_orders"}


def ring() -> dict[str, set[str]]:
    """The names that come of the rule: each way that has no cluster twice."""
    return {
        alias: {
            ".".join([*(CHAIN[(at - step) % 4] for step in range(1, hops + 1)), HEARTBEATS])
            for hops in range(4)
        }
        for at, alias in enumerate(CHAIN)
    }


# -- two clusters that mirror each other -------------------------------------------------------------


def test_40_with_prefixes_two_clusters_can_mirror_each_other(lab: Lab) -> None:
    """`lab mm2 undeploy`, also of mm2-src-archive, then a link from us-east to us-west and one back:

        lab mm2 deploy mm2-src-us-east
        lab mm2 deploy mm2-src-us-west --set target.cluster.alias=us-east \\
            --set target.cluster.bootstrap.servers=us-east:9092 \\
            --set producer.override.bootstrap.servers=us-east:9092

    Records on both sides:

        lab produce orders --records 200 --cluster us-east
        lab produce orders --records 200 --cluster us-west

    `lab topics`: each cluster has its own and, prefixed, the other's, 200 and 200.
    """
    assert mm2(lab, "undeploy").code == mm2(lab, "undeploy", RING).code == 0
    both_ways_are_fine(lab, ORDERS)


def both_ways_are_fine(lab: Lab, topic: str) -> None:
    """Deploy both links as their files say, and show by counts and verdicts that nothing goes round."""
    for alias in (EAST, WEST):
        command(lab, "produce", topic, "--records", str(RECORDS), "--cluster", alias, "--json")
    mm2_deploy(lab, LINKS[0])
    mm2_deploy(lab, LINKS[1], *BACK)
    expected = {
        EAST: {topic: RECORDS, f"us-west.{topic}": RECORDS},
        WEST: {topic: RECORDS, f"us-east.{topic}": RECORDS},
    }

    def seen() -> dict[str, dict[str, int]]:
        return {
            alias: {
                name: count(lab, alias, name)
                for name in lab.cluster(alias).topic_names()
                if name.rpartition(".")[2] == topic
            }
            for alias in expected
        }

    wait_for(f'own and prefixed records of "{topic}" on both sides', seen, expected)
    for alias in (EAST, WEST):
        judged = lab.verify(topic, source=alias)
        assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is not Outcome.PASS]
        phantoms = next(v for v in judged.verdicts if v.check == "phantoms")
        assert (phantoms.counts["on_target"], phantoms.counts["returned"]) == (RECORDS, 0)
    assert seen() == expected, "it has stayed so while Spark judged"


def test_50_without_prefixes_validate_names_the_loop(lab: Lab) -> None:
    """A policy that keeps names takes from MM2 what it looks at. Three records, and one link, in bash:

        lab mm2 undeploy
        lab produce looping --records 3 --cluster us-east
        looping="--set topics=looping
            --set replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
        lab mm2 deploy mm2-src-us-east $looping

    Then ask about the link back:

        back="--set target.cluster.alias=us-east --set target.cluster.bootstrap.servers=us-east:9092
            --set producer.override.bootstrap.servers=us-east:9092"
        lab mm2 validate mm2-src-us-west $back $looping

    It is an error, before anything has gone round, and `lab mm2 deploy` refuses the same. The worker itself
    finds nothing to object to.
    """
    assert mm2(lab, "undeploy").code == 0
    command(lab, "produce", "looping", "--records", "3", "--cluster", EAST, "--json")
    mm2_deploy(lab, LINKS[0], *LOOPING)
    lab.cluster(WEST).wait_for_records("looping", at_least=3, timeout_s=RECORDS_ARRIVE_S)
    named = mm2(lab, "validate", LINKS[1], *BACK, *LOOPING, "--json")
    assert named.code == 1
    assert [(p["severity"], p["key"]) for p in named.json["connectors"][LINKS[1]]] == [
        ("error", "replication.policy.class")
    ]
    refused = mm2(lab, "deploy", LINKS[1], *BACK, *LOOPING)
    assert refused.code == 2
    assert '"mm2-src-us-east" mirrors "looping" the other way' in refused.err
    assert lab.connect.names() == [LINKS[0]]
    assert count(lab, EAST, "looping") == count(lab, WEST, "looping") == 3


def test_51_a_record_goes_round_for_ever(lab: Lab) -> None:
    """`lab mm2 deploy mm2-src-us-west $back $looping --force` deploys it all the same. Watch `lab topics`:
    three records are hundreds within seconds, on both sides, and every connector is RUNNING. Pause one soon:
    `lab mm2 pause mm2-src-us-west`.

    `lab verify looping --cluster us-east` then says FAIL: the check `phantoms` finds all three records in
    the source more often than the ledger says that they were sent.
    """
    try:
        mm2_deploy(lab, LINKS[1], *BACK, *LOOPING, "--force")
        for alias in (EAST, WEST):
            lab.cluster(alias).wait_for_records("looping", at_least=300, timeout_s=RECORDS_ARRIVE_S)
        assert all(status.running for status in lab.connect.statuses())
    finally:
        assert mm2(lab, "pause", LINKS[1]).code == 0
    judged = lab.verify("looping", source=EAST)
    assert judged.outcome is Outcome.FAIL
    phantoms = next(v for v in judged.verdicts if v.check == "phantoms")
    assert (phantoms.outcome, phantoms.counts["returned"]) == (Outcome.FAIL, 3)


def test_52_repaired_nothing_goes_round(lab: Lab) -> None:
    """Delete both connectors and the topic, which nobody can tell apart from its copies any more, and deploy
    both as their files say, with the default policy: own records here, the other's under a prefix.

        lab mm2 undeploy
        lab exec us-east kafka-topics.sh --delete --topic looping --bootstrap-server us-east:9092
        lab exec us-west kafka-topics.sh --delete --topic looping --bootstrap-server us-west:9092
        lab produce mended_orders --records 200 --cluster us-east
        lab produce mended_orders --records 200 --cluster us-west
        lab mm2 deploy mm2-src-us-east
        lab mm2 deploy mm2-src-us-west $back
    """
    assert mm2(lab, "undeploy").code == 0
    for alias in (EAST, WEST):
        lab.cluster(alias).delete_topics("looping")
    both_ways_are_fine(lab, "mended_orders")
