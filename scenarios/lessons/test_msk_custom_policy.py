"""MM2's three connectors on Connect, with a replication policy of our own, copy a cluster while it works.

An old cluster, `msksource`, with a producer and a consumer group at work, and a new one, `mskdest`, with a
Connect worker beside it. You start the worker, deploy MM2's three connectors by PUT, and see topics, their
configs, their ACLs, what groups have committed, and records arrive, under their own names: a policy of the
lab's own keeps them (docs/replication-policies.md). On the way you see what does not arrive.

The clusters of this tutorial are in a cloud. Here `lab status` takes the place of the stack, and
`lab exec SERVICE bash` that of logging in to an instance. Nobody logs in to the clusters: IAM is left out.

Follow along: `lab up migration`, then type what each step shows.
"""

import json
from collections.abc import Iterator

import pytest

from lab.connect import ConnectError
from lab.harness import Lab, Wish, stop_profile
from lab.kafka import Acl, ClusterError
from lab.mm2 import CUSTOM_POLICY
from lab.producing import Producing
from lab.run import Run
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, NotYet, wait_until
from lab.workload import Plan
from scenarios.diagnosing import Doctor
from scenarios.expressions import wait_for

pytestmark = pytest.mark.topology("migration")

TOPIC, CANARY = "ExampleTopic", "__amazon_msk_canary"
GROUP, CONSOLE = "mm2TestConsumer1", "console-consumer-1"
AT_SOURCE, AT_DEST = "--bootstrap-server msksource:9092", "--bootstrap-server mskdest:9092"
LITTLE = "KAFKA_HEAP_OPTS=-Xmx64m"
DAY_MS = "86400000"
BACKLOG, RECORDS = 5_000, 20_000
SECOND = "high-availability"


@pytest.fixture(scope="module", autouse=True)
def applications(lab: Lab, run: Run) -> Iterator[None]:
    """What is at work before there is any mirror, and goes on: a producer and two consumer groups."""
    create = f"kafka-topics.sh --create {AT_SOURCE} --partitions 3 --topic {TOPIC}"
    lab.shell("msksource", f"{create} --config retention.ms={DAY_MS} --config min.insync.replicas=1")
    lab.source.create_topic(CANARY)
    read = f"{LITTLE} kafka-console-consumer.sh {AT_SOURCE} --topic {TOPIC} --from-beginning"
    acls = {cluster: set(cluster.acls() or ()) for cluster in (lab.source, lab.target)}
    with write(lab, run, "before", records=BACKLOG) as before:
        assert before.wait().acked == BACKLOG
    with (
        lab.shell_in_background("msksource", f"{read} --group {GROUP} >/dev/null"),
        lab.shell_in_background("msksource", f"{read} --group {CONSOLE} >/dev/null"),
        write(lab, run, "meanwhile", rate_per_s=10),
    ):
        for group in (GROUP, CONSOLE):
            wait_until_committed(lab, group)
        yield
    for cluster, others in acls.items():
        for acl in set(cluster.acls() or ()) - others:
            cluster.delete_acl(acl)


def write(
    lab: Lab, run: Run, name: str, *, records: int | None = None, rate_per_s: float | None = None
) -> Producing:
    plan = Plan(run=f"{name}{run.path.name[9:15]}", records=records, rate_per_s=rate_per_s)
    return Producing(lab.source, TOPIC, plan, run.path / name)


def wait_until_committed(lab: Lab, group: str) -> None:
    """Offsets are asked for once the group is there: a new cluster has no coordinator to tell them."""

    def observe() -> bool | NotYet:
        if lab.source.group_states().get(group) != "stable":
            return NotYet("it has no member yet")
        found = lab.source.group_offsets(group)
        return len(found) == 3 or NotYet(f"{len(found)} partitions")

    what = f'group "{group}" commits in all partitions'
    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=what, transient=(ClusterError,))


def put(lab: Lab, file: str, name: str) -> dict[str, object]:
    """As the tutorial does it: the file as it is, under a name."""
    body = lab.topology.connector_files()[file].read_text()
    json_body = "-H 'Content-Type: application/json' --data-binary @-"
    told = lab.shell(
        "connect", f"curl -s -X PUT {json_body} localhost:8083/connectors/{name}/config", stdin=body
    )
    answer: dict[str, object] = json.loads(told)
    return answer


# -- what is there -----------------------------------------------------------------------------------


def test_10_two_clusters_that_know_nothing_of_each_other(lab: Lab) -> None:
    """`lab status`: an old cluster and a new one, one Connect worker, Spark for the proof, monitoring.

    One node each is enough: no step of this lesson needs a second broker.
    """
    states = {box.service: box.health for box in lab.containers()}
    running = ("msksource", "mskdest", "connect", "exporter", "prometheus")
    assert {name: states[name] for name in running} == dict.fromkeys(running, "healthy")
    assert "connect-2" not in states
    ids = {
        lab.shell(node, f"kafka-metadata-quorum.sh {at} describe --status").splitlines()[0]
        for node, at in (("msksource", AT_SOURCE), ("mskdest", AT_DEST))
    }
    assert len(ids) == 2


def test_11_a_producer_and_a_consumer_group_are_at_work(lab: Lab) -> None:
    """The topics first, in `lab exec msksource bash`; the second stands for what a provider has for itself:

        kafka-topics.sh --create --bootstrap-server msksource:9092 --topic ExampleTopic --partitions 3 \\
            --config retention.ms=86400000 --config min.insync.replicas=1
        kafka-topics.sh --create --bootstrap-server msksource:9092 --topic __amazon_msk_canary

    `lab produce ExampleTopic --records 5000`, then `lab produce ExampleTopic --rate 10 --for 2h`, which goes
    on in a terminal of its own. In another one, in `lab exec msksource bash`:

        kafka-console-consumer.sh --bootstrap-server msksource:9092 --topic ExampleTopic \\
            --from-beginning --group mm2TestConsumer1

    Give the group a name: without one it is `console-consumer-` and a number, and MM2 leaves such out. To see
    that in step 53, start the same in one more terminal without `--group mm2TestConsumer1`.
    """
    before = sum(offsets.count for offsets in lab.source.offsets(TOPIC).values())
    lab.source.wait_for_records(TOPIC, at_least=before + 10, timeout_s=RECORDS_ARRIVE_S)
    described = f"{LITTLE} kafka-consumer-groups.sh --describe {AT_SOURCE} --group {GROUP} --state"
    assert "Stable" in lab.shell("msksource", described)


def test_20_the_worker_is_started(lab: Lab) -> None:
    """A service of the lab takes the place of systemd: `lab logs connect`, and in it "Herder started".

    The herder shares work out among the workers. That it started says that this one reached the new
    cluster and has read Connect's own topics there. In `lab exec connect bash`:
    `curl -X GET http://localhost:8083 | jq .` and `cat /etc/kafka-connect/kafka-connect.properties`.
    """
    assert "Herder started" in lab.project.logs("connect")
    told = json.loads(lab.shell("connect", "curl -s -X GET http://localhost:8083 | jq ."))
    assert told["version"] == lab.kafka_version
    properties = lab.shell("connect", "cat /etc/kafka-connect/kafka-connect.properties").splitlines()
    assert "bootstrap.servers=mskdest:9092" in properties


def test_21_before_the_new_cluster_has_only_connects_topics(lab: Lab) -> None:
    """`kafka-topics.sh --list` on both sides. `__amazon_msk_canary` stands for topics that a provider of
    clusters has for itself.
    """
    told = lab.shell("msksource", f"kafka-topics.sh --list {AT_SOURCE}").split()
    assert {TOPIC, CANARY} <= set(told)
    assert not [topic for topic in told if "mm2" in topic]
    told = lab.shell("mskdest", f"kafka-topics.sh --list {AT_DEST}").split()
    ours = {"connect-configs", "connect-offsets", "connect-status"}
    assert set(told) - {"__consumer_offsets"} == ours


def test_30_a_policy_is_found_on_the_class_path_only(lab: Lab) -> None:
    """Where does the jar of a policy go? Not into a folder of `plugin.path`: that is for connectors,
    converters and the like. A connector sees the classes that lie beside its own, and MM2's own are in
    Kafka's `libs`. So is `mirror-lab-policies.jar`; the same policy in another jar shows the difference.
    """
    jars = lab.shell("connect", "ls /opt/kafka/libs /usr/share/java/mirror-lab").split()
    assert {"mirror-lab-policies.jar", "policy-on-plugin-path.jar"} <= set(jars)
    properties = lab.shell("connect", "cat /etc/kafka-connect/kafka-connect.properties").splitlines()
    assert "plugin.path=/usr/share/java" in properties
    elsewhere = "io.mirrorlab.policy.PolicyOnPluginPath"
    refused = lab.connector("mm2-msc", **{"replication.policy.class": elsewhere})
    with pytest.raises(ConnectError, match=f"{elsewhere} could not be found") as told:
        lab.connect.deploy(refused)
    assert told.value.status == 400
    assert lab.connect.validate(lab.connector("mm2-msc")) == []
    assert lab.connect.names() == []


# -- three connectors --------------------------------------------------------------------------------


def test_40_the_source_connector_has_a_task_for_each_partition(lab: Lab) -> None:
    """In compose/migration/connectors:

        curl -X PUT -H "Content-Type: application/json" --data @mm2-msc.json \\
            http://localhost:8083/connectors/mm2-msc/config | jq .
        curl -s localhost:8083/connectors/mm2-msc/status | jq .

    Its `tasks.max` is 4 and it has 3 tasks, since there are 3 partitions to share out.
    """
    answer = put(lab, "mm2-msc", "mm2-msc")
    assert (answer["name"], answer["type"]) == ("mm2-msc", "source")
    config = lab.connect.config("mm2-msc")
    assert (config["tasks.max"], config["replication.policy.class"]) == ("4", CUSTOM_POLICY)
    status = lab.connect.wait_until_runs("mm2-msc")
    assert [task.state for task in status.tasks] == ["RUNNING"] * 3


def test_41_the_checkpoint_connector_with_offset_sync(lab: Lab) -> None:
    """The same with `--data @mm2-cpc-sync.json` and mm2-cpc in the address: `lab mm2 deploy mm2-cpc-sync`.

    One name and two files: mm2-cpc.json is the same connector without `sync.group.offsets.enabled`, for
    those who carry offsets over with a program of their own.
    """
    assert put(lab, "mm2-cpc-sync", "mm2-cpc")["name"] == "mm2-cpc"
    assert lab.connect.wait_until_runs("mm2-cpc").running
    assert lab.connect.config("mm2-cpc")["sync.group.offsets.enabled"] == "true"
    without = lab.connector("mm2-cpc")
    assert without.name == "mm2-cpc"
    assert "sync.group.offsets.enabled" not in without.config


def test_42_the_heartbeat_connector(lab: Lab) -> None:
    """`curl -X PUT … --data @mm2-hbc.json …/connectors/mm2-hbc/config`. It writes where the worker writes,
    into the new cluster: of the old one its heartbeats say nothing.
    """
    assert put(lab, "mm2-hbc", "mm2-hbc")["name"] == "mm2-hbc"
    assert lab.connect.wait_until_runs("mm2-hbc").running
    assert lab.connect.names() == ["mm2-cpc", "mm2-hbc", "mm2-msc"]


# -- what arrives, and what does not -----------------------------------------------------------------


def test_50_topics_afterwards(lab: Lab) -> None:
    """`kafka-topics.sh --list` again, on both sides. MM2 keeps offset syncs in the old cluster, checkpoints
    and heartbeats in the new one. ExampleTopic has its own name; the canary is not there, since topics that
    begin with `__` are never mirrored, though `"topics": ".*"` selects them.
    """
    lab.source.wait_for_topic("mm2-offset-syncs.mskdest.internal")
    for topic in (TOPIC, "heartbeats", "msksource.checkpoints.internal"):
        lab.target.wait_for_topic(topic)
    assert set(lab.target.topic_names()) == {
        *("connect-configs", "connect-offsets", "connect-status", "__consumer_offsets"),
        *(TOPIC, "heartbeats", "msksource.checkpoints.internal"),
    }
    assert lab.connector("mm2-msc").selects(CANARY)
    assert len(lab.target.offsets(TOPIC)) == 3


def test_51_topic_configs_come_too_but_not_all(lab: Lab) -> None:
    """`kafka-configs.sh --describe --entity-type topics --entity-name ExampleTopic` on both sides.

    `retention.ms` came with the topic; a change follows within `sync.topic.configs.interval.seconds`, here 10
    instead of 600. `min.insync.replicas` does not come: it depends on the cluster.
    """
    assert lab.source.topic_configs([TOPIC])[TOPIC]["min.insync.replicas"].own
    configs = lab.target.topic_configs([TOPIC])[TOPIC]
    assert (configs["retention.ms"].value, configs["retention.ms"].own) == (DAY_MS, True)
    assert not configs["min.insync.replicas"].own

    at = f"{AT_SOURCE} --entity-type topics --entity-name {TOPIC}"
    lab.shell("msksource", f"{LITTLE} kafka-configs.sh --alter {at} --add-config max.message.bytes=2000000")

    def observe() -> bool | NotYet:
        found = lab.target.topic_configs([TOPIC])[TOPIC]["max.message.bytes"].value
        return found == "2000000" or NotYet(f"max.message.bytes={found}")

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="the changed config on the target")
    assert not lab.target.topic_configs([TOPIC])[TOPIC]["min.insync.replicas"].own


def test_52_acls_come_too_but_never_the_right_to_write(lab: Lab) -> None:
    """In `lab exec msksource bash`, then `kafka-acls.sh --bootstrap-server mskdest:9092 --list`:

        acls="kafka-acls.sh --bootstrap-server msksource:9092 --add"
        $acls --allow-principal User:app --producer --topic ExampleTopic
        $acls --allow-principal User:owner --operation All --topic ExampleTopic
        $acls --allow-principal User:auditor --operation Read --topic Example --resource-pattern-type prefixed
        $acls --allow-principal User:app --operation Read --group mm2TestConsumer1

    Producers of the new cluster need rights of their own: "write" is not copied, "all" becomes "read", and
    neither ACLs of prefixes nor those of groups come. What is deleted in the old cluster stays in the new.
    """
    add = f"{LITTLE} kafka-acls.sh {AT_SOURCE} --add --allow-principal User:"
    prefixed = "--topic Example --resource-pattern-type prefixed"
    for words in (
        f"app --producer --topic {TOPIC}",
        f"owner --operation All --topic {TOPIC}",
        f"auditor --operation Read {prefixed}",
        f"app --operation Read --group {GROUP}",
    ):
        lab.shell("msksource", add + words)
    assert len(lab.source.acls() or ()) == 6

    def allowed(user: str, operation: str) -> Acl:
        topic = {"resource": "topic", "name": TOPIC, "pattern": "literal", "host": "*"}
        return Acl(**topic, principal=f"User:{user}", operation=operation, permission="allow")

    copied = {allowed("app", "describe"), allowed("app", "create"), allowed("owner", "read")}

    def observe() -> set[Acl] | NotYet:
        found = set(lab.target.acls() or ())
        return found if found >= copied else NotYet(f"{len(found & copied)} of {len(copied)}")

    assert wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="ACLs on the target") == copied


def test_53_groups_come_too_but_not_those_of_console_consumers(lab: Lab) -> None:
    """`kafka-consumer-groups.sh --describe --group mm2TestConsumer1` at the new cluster: it has offsets
    there, and no member. They are a little behind, never ahead. `groups.exclude` is by default
    `console-consumer-.*, connect-.*, __.*`, so that the console consumer without a name is missing.
    """

    def observe() -> dict[tuple[str, int], int] | NotYet:
        found = {place: at.offset for place, at in lab.target.group_offsets(GROUP).items() if at.offset > 0}
        return found if len(found) == 3 else NotYet(f"{len(found)} partitions")

    synced = wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f'group "{GROUP}" on the target')
    ends = lab.source.offsets(TOPIC)
    assert all(
        topic == TOPIC and offset <= ends[partition].end for (topic, partition), offset in synced.items()
    )
    assert lab.source.group_states()[CONSOLE] == "stable"
    groups = lab.target.group_states()
    assert groups[GROUP] == "empty"
    assert CONSOLE not in groups


def test_60_the_lag_starts_high_and_goes_to_zero(lab: Lab, run: Run) -> None:
    """`lab mm2 pause mm2-msc`, `lab produce ExampleTopic --records 20000`, `lab mm2 resume mm2-msc`; look
    at Prometheus or Grafana meanwhile (`lab open prometheus`), or at `lab lag ExampleTopic --watch`.

    `mirror_lab_record_lag` is the lag as it is. `kafka_consumer_records_lag` is what MM2's own consumers say
    over JMX, one for each partition: how far they were behind when they last read. Paused, they are silent.
    """
    exact = f'sum(mirror_lab_record_lag{{flow="msksource->mskdest",topic="{TOPIC}"}})'
    own = f'kafka_consumer_records_lag{{topic="{TOPIC}",client_id=~".*replication-consumer"}}'
    wait_for(lab, f"count({own})", to_be=3)
    lab.connect.pause("mm2-msc")
    lab.connect.wait_until_state("mm2-msc", "PAUSED")
    with write(lab, run, "backlog", records=RECORDS) as backlog:
        assert backlog.wait().acked == RECORDS
    wait_for(lab, exact, at_least=RECORDS)
    lab.connect.resume("mm2-msc")
    wait_for(lab, exact, to_be=0)
    wait_for(lab, f"sum({own})", to_be=0)


def test_70_spark_proves_that_all_of_it_arrived(lab: Lab) -> None:
    """`lab verify ExampleTopic`, while the producer goes on: records, configs, ACLs, checkpoints, groups."""
    judged = lab.verify(TOPIC)
    assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is not Outcome.PASS]
    verdicts = {verdict.check: verdict for verdict in judged.verdicts}
    assert verdicts["loss"].counts["owed"] >= BACKLOG + RECORDS
    for check in ("topic_configs", "acls", "group_offsets", "order", "duplicates"):
        assert verdicts[check].outcome is Outcome.PASS


def test_71_and_nothing_is_wrong(lab: Lab) -> None:
    """`lab diagnose`: nothing found, while applications are at work on the old cluster."""
    Doctor(lab).says_nothing()


def test_80_a_second_worker_takes_over(lab: Lab) -> None:
    """`lab up migration --profile high-availability` adds the tutorial's second instance, and
    `lab fault inject kill --set victim=connect --for 60s` takes the first away and brings it back. Meanwhile
    `lab mm2 status` shows that the second one has all connectors and tasks, and records flow on. Some may
    arrive twice: a task that moves repeats what came after its last committed offset.
    """
    grown = Lab.up(Wish(topology="migration", name=lab.name, kafka=lab.kafka_version, profiles=(SECOND,)))
    try:
        wait_until_workers(grown, {"connect:8083", "connect-2:8083"})
        lab.project.kill("connect")
        try:
            wait_until_workers(grown, {"connect-2:8083"})
            before = sum(offsets.count for offsets in lab.target.offsets(TOPIC).values())
            lab.target.wait_for_records(TOPIC, at_least=before + 50, timeout_s=RECORDS_ARRIVE_S)
        finally:
            lab.project.start("connect", timeout_s=SERVICES_HEALTHY_S)
        grown.run = lab.run
        judged = grown.verify(TOPIC, allow_duplicates=True)
        assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is not Outcome.PASS]
    finally:
        grown.close()
        stop_profile(lab.name, SECOND)
    wait_until_workers(lab, {"connect:8083"})


def wait_until_workers(lab: Lab, workers: set[str]) -> None:
    """Until these, and no others, run connectors and tasks, and all of them."""

    def observe() -> bool | NotYet:
        statuses = lab.connect.statuses()
        seen = {w for s in statuses for w in (s.worker, *(task.worker for task in s.tasks))}
        running = len(statuses) == 3 and all(s.running for s in statuses)
        return (running and seen == workers) or NotYet(", ".join(map(str, statuses)))

    wait_until(
        observe,
        timeout_s=RECORDS_ARRIVE_S,
        what=f"all connectors run on {', '.join(sorted(workers))}",
        transient=(ConnectError,),
    )
