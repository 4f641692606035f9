"""What MM2 writes for itself, and copies besides records, is decoded and judged as it really is.

Claim: offset syncs, checkpoints and heartbeats of a running MM2 decode, in Python and in Spark, to what
Kafka's own formatters print and the clients say; topic configs, ACLs and group offsets on the target
are what the rules in lab.verify.parity expect; and the checks over all this pass.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lab import mm2_records, offsets
from lab.harness import Lab
from lab.kafka import Acl, Cluster, ClusterError, Record
from lab.mm2 import CHECKPOINT, HEARTBEAT, Connector
from lab.spark import topic_frame
from lab.verify.checks import run_checks
from lab.verify.checks.acls import SameAcls
from lab.verify.checks.topic_configs import SameTopicConfigs
from lab.verify.checks.topic_set import SameTopics
from lab.verify.evidence import LEDGER_COLUMNS, PARTITION_COLUMNS, Histories, evidence
from lab.verify.flow import Flow
from lab.verify.internals import rows_table
from lab.verify.mm2_checks import checks, read, tables
from lab.verify.parity import (
    AclRow,
    ConfigRow,
    Rule,
    TopicRow,
    acl_rows,
    config_rows,
    own_configs,
    topic_rows,
)
from lab.verify.verdict import Outcome, Verdict
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import Plan, produce
from scenarios.commands import lab_command
from scenarios.verifier import internals as generated

pytestmark = pytest.mark.topology("basic-mirror")

ORDERS, GUARDED = "internals_orders", "internals_guarded"
HEAD, BEHIND = "billing", "audit-é"
RECORDS, READ_BEHIND, LAG_MAX = 400, 150, 10
FORMATTERS = "org.apache.kafka.connect.mirror.formatters"
SERVICES = {"source": ("broker", "broker:29092"), "target": ("broker2", "broker2:29093")}


def acl(principal: str, operation: str, *, permission: str = "allow", pattern: str = "literal") -> Acl:
    return Acl(
        resource="topic",
        name=GUARDED,
        pattern=pattern,
        principal=f"User:{principal}",
        host="*",
        operation=operation,
        permission=permission,
    )


@pytest.fixture(scope="module")
def source_connector(lab: Lab) -> Connector:
    config = lab.connector(
        "test_mirror",
        topics=f"{ORDERS},{GUARDED}",
        **{
            "offset.lag.max": str(LAG_MAX),
            "sync.topic.configs.interval.seconds": "1",
            "sync.topic.acls.interval.seconds": "1",
        },
    ).config
    return Connector(name="internals-source", config=config)


@pytest.fixture(scope="module")
def checkpoint_connector(source_connector: Connector) -> Connector:
    return _sibling(
        source_connector,
        CHECKPOINT,
        **{
            "topics": ORDERS,
            "groups": f"{HEAD},{BEHIND}",
            "emit.checkpoints.interval.seconds": "1",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "checkpoints.topic.replication.factor": "1",
        },
    )


def _sibling(connector: Connector, kind: str, **config: str) -> Connector:
    shared = ("cluster.alias", "bootstrap.servers")
    taken = {key: value for key, value in connector.config.items() if key.endswith(shared)}
    name = f"internals-{kind.rpartition('.Mirror')[2].removesuffix('Connector').lower()}"
    return Connector(name=name, config={"connector.class": kind, **taken, **config})


@pytest.fixture(scope="module", autouse=True)
def flow(lab: Lab, source_connector: Connector, checkpoint_connector: Connector) -> Iterator[None]:
    """Records, two groups, one at the head and one behind, and the three connectors at work."""
    lab.source.create_topic(
        ORDERS, partitions=2, configs={"retention.ms": "7200000", "segment.ms": "3600000"}
    )
    granted = [acl("reader", "read"), acl("writer", "write"), acl("owner", "all")]
    granted += [acl("nobody", "write", permission="deny"), acl("team", "read", pattern="prefixed")]
    for each in granted:
        lab.source.create_acl(each)
    try:
        lab.deploy(source_connector)
        remote = source_connector.remote_topic(ORDERS)
        for part in range(4):  # syncs come with time, so that the group behind has one near it
            plan = Plan(run=f"internals{part}", records=RECORDS // 4)
            assert produce(lab.source, ORDERS, plan, lambda _: None).acked == RECORDS // 4
            lab.target.wait_for_records(
                remote, at_least=(part + 1) * RECORDS // 4, timeout_s=RECORDS_ARRIVE_S
            )
        for group, count in ((HEAD, RECORDS), (BEHIND, READ_BEHIND)):
            lab.shell(
                "broker",
                f"kafka-console-consumer --bootstrap-server broker:29092 --topic {ORDERS} --from-beginning "
                f"--group '{group}' --max-messages {count} >/dev/null 2>&1",
            )
        heartbeats = {"emit.heartbeats.interval.seconds": "1", "heartbeats.topic.replication.factor": "1"}
        lab.deploy(_sibling(source_connector, HEARTBEAT, **heartbeats))
        lab.deploy(checkpoint_connector)
        wait_until(
            lambda: _synced(lab, checkpoint_connector),
            timeout_s=RECORDS_ARRIVE_S,
            what=f'group "{HEAD}" synced to the target',
            transient=(ClusterError,),  # its first group ever makes the cluster create their topic
        )
        yield
    finally:
        for cluster in (lab.source, lab.target):
            for each in cluster.acls() or ():
                if each.name.endswith(GUARDED):
                    cluster.delete_acl(each)


def _synced(lab: Lab, connector: Connector) -> bool | NotYet:
    """All that is at the head on the source is close to it on the target."""
    remote = connector.remote_topic(ORDERS)
    committed = lab.target.group_offsets(HEAD)
    ends = lab.target.offsets(remote)
    near = [
        p for p in ends if (remote, p) in committed and ends[p].end - committed[remote, p].offset < LAG_MAX
    ]
    return True if len(near) == 2 else NotYet(f"{ {p: o.offset for (_, p), o in committed.items()} }")


def _read(cluster: Cluster, topic: str) -> list[Record]:
    count = sum(place.count for place in cluster.offsets(topic).values())
    found = list(islice(cluster.read(topic, from_start=True, idle_s=5), count))
    assert found, f"nothing in {topic}"
    return found


def _frame(lab: Lab, cluster: Cluster, topic: str) -> DataFrame:
    bootstrap = lab.internal_bootstrap(cluster.alias)
    return topic_frame(lab.spark, topic, cluster.offsets(topic), bootstrap=bootstrap)


def _printed(lab: Lab, cluster: Cluster, topic: str, formatter: str, count: int) -> list[str]:
    """What Kafka's own formatter prints of the first so many records."""
    broker, address = SERVICES[cluster.alias]
    return lab.shell(
        broker,
        f"kafka-console-consumer --bootstrap-server {address} --topic {topic} --from-beginning "
        f"--max-messages {count} --timeout-ms 20000 --formatter {FORMATTERS}.{formatter} 2>/dev/null",
    ).splitlines()


def _same(plain: list[object], frame: DataFrame, count: int) -> None:
    """Spark's rows are the plain dataclasses, field by field."""
    rows = frame.withColumnRenamed("position", "offset").orderBy("offset").limit(count).collect()
    assert [row.asDict() for row in rows] == [vars(each) for each in plain]


def test_offset_syncs_are_what_kafkas_formatter_prints(lab: Lab, source_connector: Connector) -> None:
    topic = source_connector.offset_syncs_topic
    records = _read(lab.source, topic)
    syncs = [s for r in records if (s := mm2_records.offset_sync(r))]
    told = [
        f"OffsetSync{{topicPartition={s.topic}-{s.partition}, upstreamOffset={s.upstream}, "
        f"downstreamOffset={s.downstream}}}"
        for s in syncs
    ]
    assert _printed(lab, lab.source, topic, "OffsetSyncFormatter", len(told)) == told
    _same(list(syncs), offsets.offset_syncs(_frame(lab, lab.source, topic)), len(syncs))
    assert {s.topic for s in syncs} == {ORDERS}
    assert {s.partition for s in syncs} == {0, 1}


def test_checkpoints_are_what_kafkas_formatter_prints_and_the_groups_committed(
    lab: Lab, checkpoint_connector: Connector
) -> None:
    topic = checkpoint_connector.checkpoints_topic
    records = _read(lab.target, topic)
    checkpoints = [c for r in records if (c := mm2_records.checkpoint(r))]
    told = [
        f"Checkpoint{{consumerGroupId={c.group}, topicPartition={c.topic}-{c.partition}, "
        f"upstreamOffset={c.upstream}, downstreamOffset={c.downstream}, metadata={c.metadata}}}"
        for c in checkpoints
    ]
    assert _printed(lab, lab.target, topic, "CheckpointFormatter", len(told)) == told
    _same(list(checkpoints), offsets.checkpoints(_frame(lab, lab.target, topic)), len(checkpoints))
    committed = lab.source.group_offsets(HEAD)
    latest = {c.partition: c.upstream for c in checkpoints if c.group == HEAD}
    assert latest == {partition: place.offset for (_, partition), place in committed.items()}
    assert {c.topic for c in checkpoints} == {checkpoint_connector.remote_topic(ORDERS)}


def test_heartbeats_carry_the_workers_clock_and_both_aliases(lab: Lab, source_connector: Connector) -> None:
    topic = source_connector.heartbeats_topic
    records = _read(lab.target, topic)
    beats = [b for r in records if (b := mm2_records.heartbeat(r))]
    told = [
        f"Heartbeat{{sourceClusterAlias={b.source}, targetClusterAlias={b.target}, "
        f"timestamp={b.timestamp_ms}}}"
        for b in beats
    ]
    assert _printed(lab, lab.target, topic, "HeartbeatFormatter", len(told)) == told
    _same(list(beats), offsets.heartbeats(_frame(lab, lab.target, topic)), len(beats))
    assert {(b.source, b.target) for b in beats} == {("source", "target")}
    assert all(b.timestamp_ms == b.written_ms for b in beats)


def test_the_commands_show_what_was_decoded(
    lab: Lab, source_connector: Connector, checkpoint_connector: Connector
) -> None:
    syncs, checkpoints = source_connector.offset_syncs_topic, checkpoint_connector.checkpoints_topic
    for command, cluster, topic, decode in (
        ("offset-syncs", lab.source, syncs, mm2_records.offset_sync),
        ("checkpoints", lab.target, checkpoints, mm2_records.checkpoint),
        ("heartbeats", lab.target, source_connector.heartbeats_topic, mm2_records.heartbeat),
    ):
        records = _read(cluster, topic)
        decoded = [asdict(found) for r in records if (found := decode(r))]
        done = lab_command(command, "--source", "source", "--json", "--name", lab.name)
        (told,) = done.json.values()
        where = {"cluster": cluster.alias, "in": topic}
        assert told[: len(decoded)] == [where | each for each in decoded], command
        latest = lab_command(command, "--latest", "--json", "--name", lab.name).json
        assert len(next(iter(latest.values()))) == len({r.key for r in records}), "one of each key"


def test_any_offset_and_name_is_the_same_in_spark_and_in_python(lab: Lab) -> None:
    """Literal bytes: negative and largest numbers, names beyond ASCII, a tombstone, an unknown version."""
    name = "café-日本".encode()
    key = struct.pack(">h", len(name)) + name + struct.pack(">i", 2**31 - 1)
    numbers = (0, -1, 2**63 - 1, -(2**63), 2**31, -(2**32))
    values = [struct.pack(">qq", number, -number - 1) for number in numbers]
    records = [
        Record(partition=0, offset=n, timestamp_ms=0, key=key, value=value, headers=())
        for n, value in enumerate([*values, None])
    ]
    syncs = [s for r in records if (s := mm2_records.offset_sync(r))]
    assert len(syncs) == len(numbers)
    _same(list(syncs), offsets.offset_syncs(_made(lab, records)), len(records))

    unknown = replace(records[0], key=b"\0\1g" + key, value=b"\0\1" + bytes(18))
    with pytest.raises(mm2_records.NotDecodable, match="version 1"):
        mm2_records.checkpoint(unknown)
    with pytest.raises(PySparkException, match="no checkpoint of version 0 at partition 0, offset 0"):
        offsets.checkpoints(_made(lab, [unknown])).collect()


def _made(lab: Lab, records: list[Record]) -> DataFrame:
    rows = [(bytearray(r.key or b""), r.value and bytearray(r.value), 0, r.offset) for r in records]
    frame = lab.spark.createDataFrame(rows, "key binary, value binary, partition int, offset long")
    return frame.withColumn("timestamp", f.timestamp_millis(f.lit(0)))


def test_all_checks_over_what_mm2_did_pass(
    lab: Lab, source_connector: Connector, checkpoint_connector: Connector
) -> None:
    """MM2's topics are frozen first, then the groups, then the mirrored topics.

    A checkpoint that was written this very moment need not have been synced yet.
    """
    newest = _newest_ms(_read(lab.target, checkpoint_connector.checkpoints_topic))
    wait_until(
        lambda: (
            read(_flow(lab, source_connector, checkpoint_connector)).due_ms >= newest or NotYet("too new")
        ),
        timeout_s=RECORDS_ARRIVE_S,
        what="the newest checkpoint is due",
    )
    state = read(_flow(lab, source_connector, checkpoint_connector))
    with evidence(_histories(lab, source_connector.remote_topic(ORDERS))) as found:
        its = checks(state)
        judged = run_checks(tables(lab.spark, state, found, its), its)[0]
    verdicts = {v.check: v for v in judged}
    assert verdicts.pop("skipped").outcome is Outcome.NOT_APPLICABLE, "the source has deleted nothing"
    assert {check: v.outcome for check, v in verdicts.items()} == dict.fromkeys(verdicts, Outcome.PASS), (
        judged
    )
    assert verdicts["sync_pairs"].counts["judged"] == verdicts["sync_pairs"].counts["pairs"]
    assert (verdicts["coverage"].counts["places"], verdicts["coverage"].counts["covered"]) == (4, 4)
    assert verdicts["tightness"].counts["at_head"] == 2
    assert verdicts["tightness"].counts["behind"] == 2


def _newest_ms(records: list[Record]) -> int:
    return max(r.timestamp_ms or 0 for r in records)


def test_without_a_checkpoint_connector_its_questions_do_not_arise(
    lab: Lab, source_connector: Connector
) -> None:
    state = read(_flow(lab, source_connector, None))
    with evidence(_histories(lab, source_connector.remote_topic(ORDERS))) as found:
        its = checks(state)
        judged = run_checks(tables(lab.spark, state, found, its), its)[0]
    outcomes = {v.check: v.outcome for v in judged}
    assert outcomes.pop("skipped") is Outcome.NOT_APPLICABLE, "the source has deleted nothing"
    about_groups = ("translation", "tightness", "checkpoints", "coverage", "group_offsets")
    assert {check: outcomes.pop(check) for check in about_groups} == dict.fromkeys(
        about_groups, Outcome.NOT_APPLICABLE
    )
    assert outcomes == dict.fromkeys(outcomes, Outcome.PASS), judged


def _flow(lab: Lab, connector: Connector, checkpointer: Connector | None) -> Flow:
    return Flow(
        topic=ORDERS,
        connector=connector,
        checkpointer=checkpointer,
        source=lab.source,
        target=lab.target,
        bootstraps={alias: lab.internal_bootstrap(alias) for alias in ("source", "target")},
    )


def _histories(lab: Lab, remote: str) -> Histories:
    ends = {"s": lab.source.offsets(ORDERS), "t": lab.target.offsets(remote)}
    frames = {
        side: topic_frame(lab.spark, topic, ends[side], bootstrap=lab.internal_bootstrap(alias)).select(
            f.lit(0).alias("case"),
            *("partition", "offset", f.unix_millis("timestamp").alias("timestamp")),
            f.col("timestampType").alias("timestamp_type"),
            *("key", "value", "headers"),
        )
        for side, topic, alias in (("s", ORDERS, "source"), ("t", remote, "target"))
    }
    partitions = [
        (0, p, s.start, s.end, 0, ends["t"][p].start, ends["t"][p].end, 0, False, False)
        for p, s in ends["s"].items()
    ]
    return Histories(
        source=frames["s"],
        target=frames["t"],
        ledger=lab.spark.createDataFrame([], LEDGER_COLUMNS),
        partitions=lab.spark.createDataFrame(partitions, PARTITION_COLUMNS),
    )


def test_a_targets_own_config_is_reset_and_an_excluded_one_is_left_alone(
    lab: Lab, source_connector: Connector
) -> None:
    """MM2 resets what the target alone has set: the source's default wins, as a reset."""
    remote = source_connector.remote_topic(ORDERS)
    before = {remote: own_configs(lab.target.topic_configs([remote])[remote])}
    lab.target.set_topic_config(remote, **{"max.message.bytes": "1500000"})
    # second, so that a sync which copies it comes after the other
    lab.source.set_topic_config(ORDERS, **{"segment.ms": "5000000", "min.insync.replicas": "2"})
    rows: list[ConfigRow] = []

    def observe() -> bool | NotYet:
        rows[:] = config_rows(
            source_connector,
            lab.source.topic_configs([ORDERS]),
            lab.target.topic_configs([remote]),
            before,
        )
        wrong = [r for r in rows if r.judged and r.expected != r.found]
        return NotYet(str(wrong)) if wrong else True

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="topic configs as MM2's rules have them")
    by_key = {row.key: row for row in rows}
    assert (by_key["segment.ms"].rule, by_key["segment.ms"].found) == (Rule.COPIED, "5000000")
    assert (by_key["max.message.bytes"].rule, by_key["max.message.bytes"].found) == (Rule.RESET, None)
    assert by_key["min.insync.replicas"].rule == Rule.UNTOUCHED
    assert _judged(lab, {"configs": (ConfigRow, rows)}, SameTopicConfigs()) == Outcome.PASS


def test_acls_of_topics_are_copied_without_the_right_to_write(lab: Lab, source_connector: Connector) -> None:
    rows: list[AclRow] = []

    def observe() -> bool | NotYet:
        rows[:] = acl_rows(source_connector, lab.source.acls() or [], lab.target.acls() or [], before=[])
        return NotYet(str(rows)) if any(r.expected and not r.found for r in rows) else True

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="ACLs as MM2 copies them")
    assert [(r.principal, r.operation, r.permission, r.expected, r.found) for r in rows] == [
        ("User:nobody", "write", "deny", True, True),
        ("User:owner", "read", "allow", True, True),
        ("User:reader", "read", "allow", True, True),
    ]
    assert _judged(lab, {"acls": (AclRow, rows)}, SameAcls()) == Outcome.PASS


CLEAN = 60  # random histories without a defect


def test_every_defect_fires_its_check_and_its_companions_only(lab: Lab) -> None:
    """Generated doings of MM2, all in one batch: 60 without a defect, then each defect in three."""
    clean = [generated.clean(seed) for seed in range(CLEAN)]
    spoiled = [(defect, generated.clean(1_000 + n)) for defect in generated.DEFECTS for n in range(3)]
    expected = [defect.spoil(doings) for defect, doings in spoiled]
    cases = [*clean, *(doings for _, doings in spoiled)]
    with generated.tables(lab.spark, cases) as found:
        judged = run_checks(found, generated.CHECKS, range(len(cases)))
    alarms = {seed: failed for seed in range(CLEAN) if (failed := _failed(judged[seed]))}
    assert alarms == {}
    assert all(v.outcome is Outcome.PASS for seed in range(CLEAN) for v in judged[seed])
    for case, ((defect, _), named) in enumerate(zip(spoiled, expected, strict=True), start=CLEAN):
        failed = _failed(judged[case])
        assert set(failed) == {defect.check} | defect.also, (defect.name, failed)
        shown = [{key: row.get(key) for key in named} for row in failed[defect.check].first]
        assert dict(named) in shown, (defect.name, named, failed[defect.check].first)


def _failed(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    return {v.check: v for v in verdicts if v.outcome is Outcome.FAIL}


def test_selected_topics_are_there_and_internal_ones_are_not(lab: Lab, source_connector: Connector) -> None:
    rows = topic_rows(source_connector, lab.source.topics(), lab.target.topics())
    chosen = {row.topic: row.t_partitions for row in rows if row.selected}
    assert chosen == {ORDERS: 2}
    internal = {row.topic for row in rows if row.internal}
    assert {source_connector.offset_syncs_topic, "__consumer_offsets"} <= internal
    assert _judged(lab, {"topics": (TopicRow, rows)}, SameTopics()) == Outcome.PASS


def _judged(lab: Lab, rows: Mapping[str, tuple[type, list]], check: object) -> Outcome:  # type: ignore[type-arg]
    found = {name: rows_table(lab.spark, kind, of) for name, (kind, of) in rows.items()}
    return run_checks(found, [check])[0][0].outcome  # type: ignore[list-item]


PAUSED = "internals_paused"


def test_what_a_paused_connector_missed_shows_in_its_offset_syncs(
    lab: Lab, source_connector: Connector
) -> None:
    """Records that retention takes before MM2 goes on are nowhere any more; the jump of its syncs stays."""
    connector = Connector(name="internals-paused", config={**source_connector.config, "topics": PAUSED})
    lab.source.create_topic(PAUSED, partitions=1)
    lab.deploy(connector)
    _write(lab, connector, arrive=10)
    assert _skipped(lab).outcome is Outcome.NOT_APPLICABLE, "the source has deleted nothing"
    lab.connect.pause(connector.name)
    lab.connect.wait_until_state(connector.name, "PAUSED")
    _write(lab, connector, arrive=10)
    lab.source.delete_records(PAUSED, {0: 15})
    lab.connect.resume(connector.name)
    lab.target.wait_for_records(connector.remote_topic(PAUSED), at_least=15, timeout_s=RECORDS_ARRIVE_S)

    found = _skipped(lab)
    assert found.outcome is Outcome.FAIL
    assert (found.counts["records"], found.counts["in_ledger"]) == (5, 5)
    (gap,) = found.first
    assert (gap["partition"], gap["skipped"]) == (0, 5)
    assert gap["prev_upstream"] < 15 <= gap["upstream"]


def _write(lab: Lab, connector: Connector, *, arrive: int) -> None:
    """By the command, which keeps a ledger."""
    lab_command("produce", PAUSED, "--records", "10", "--json", "--name", lab.name)
    remote = connector.remote_topic(PAUSED)
    lab.target.wait_for_records(remote, at_least=arrive, timeout_s=RECORDS_ARRIVE_S)


def _skipped(lab: Lab) -> Verdict:
    (found,) = (v for v in lab.verify(PAUSED, only=["skipped"]).verdicts if v.check == "skipped")
    return found
