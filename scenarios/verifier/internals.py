"""Generated doings of MM2 besides records, and ways to spoil them: what the checks over them must find.

A clean case is a source with holes, a target with replays, the syncs that MM2 would have written, perhaps
after those of an earlier flow to another topic, two groups, one at the head and one behind, their
checkpoints and synced offsets, and the configs, ACLs and topics that lab.verify.parity expects. A defect
changes one thing and names the check that must fire.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Final

from pyspark.sql import DataFrame

from lab.spark import SparkSession
from lab.verify.checks import Check
from lab.verify.checks.acls import SameAcls
from lab.verify.checks.checkpoints import MonotonicCheckpoints
from lab.verify.checks.coverage import CheckpointCoverage
from lab.verify.checks.group_offsets import SyncedGroupOffsets
from lab.verify.checks.skipped import NothingSkipped
from lab.verify.checks.sync_pairs import TrueSyncPairs
from lab.verify.checks.tightness import TightTranslation
from lab.verify.checks.topic_configs import SameTopicConfigs
from lab.verify.checks.topic_set import SameTopics
from lab.verify.checks.translation import SafeTranslation
from lab.verify.evidence import LEDGER_COLUMNS, PARTITION_COLUMNS, RECORD_COLUMNS, Histories, evidence
from lab.verify.internals import (
    ACL_COLUMNS,
    CHECKPOINT_COLUMNS,
    CONFIG_COLUMNS,
    GROUP_COLUMNS,
    SYNC_COLUMNS,
    TOPIC_COLUMNS,
    checkpoints_table,
    groups_table,
    syncs_table,
    table,
)
from lab.verify.parity import AclRow, ConfigRow, GroupRow, Rule, TopicRow

LAG_MAX: Final = 5
REMOTE: Final = "source.orders"
HEAD, BEHIND = "head", "behind"
CHECKS: Final[tuple[Check, ...]] = (
    *(TrueSyncPairs(), NothingSkipped(), SafeTranslation(), TightTranslation(offset_lag_max=LAG_MAX)),
    *(MonotonicCheckpoints(), CheckpointCoverage(offset_lag_max=LAG_MAX), SyncedGroupOffsets()),
    *(SameTopicConfigs(), SameAcls(), SameTopics()),
)


@dataclass
class Sync:
    partition: int
    upstream: int
    downstream: int


@dataclass
class Checkpoint:
    group: str
    partition: int
    upstream: int
    downstream: int


@dataclass
class Partition:
    """Offsets of the source's records, and for each record of the target its offset and the source's."""

    source: list[int]
    target: list[tuple[int, int]]

    @property
    def t_end(self) -> int:
        return self.target[-1][0] + 1


@dataclass
class Doings:
    partitions: list[Partition]
    syncs: list[Sync] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    configs: list[ConfigRow] = field(default_factory=list)
    acls: list[AclRow] = field(default_factory=list)
    topics: list[TopicRow] = field(default_factory=list)

    def group(self, name: str, partition: int) -> GroupRow:
        return next(g for g in self.groups if (g.group, g.partition) == (name, partition))

    def change(self, name: str, partition: int, **changes: Any) -> None:
        self.groups = [
            replace(g, **changes) if (g.group, g.partition) == (name, partition) else g for g in self.groups
        ]

    def of(self, name: str, partition: int) -> list[Checkpoint]:
        return [c for c in self.checkpoints if (c.group, c.partition) == (name, partition)]

    def forget(self, name: str, partition: int) -> None:
        self.checkpoints = [c for c in self.checkpoints if (c.group, c.partition) != (name, partition)]


def clean(seed: int) -> Doings:
    rng = random.Random(seed)  # noqa: S311
    doings = Doings([_partition(rng) for _ in range(2)])
    for number, partition in enumerate(doings.partitions):
        syncs = list(_syncs(partition))
        if rng.random() < 0.3:
            doings.syncs += [Sync(number, up, down + 7) for up, down in syncs]
        doings.syncs += [Sync(number, *pair) for pair in syncs]
        behind = rng.randrange(len(partition.source) // 3, len(partition.source) * 2 // 3)
        head = partition.source[-1] + 1 + rng.randrange(2)
        for name, last in ((HEAD, head), (BEHIND, partition.source[behind])):
            reached = sorted(rng.sample([o for o in partition.source if o < last], 3))
            doings.checkpoints += _checkpoints(name, number, [*reached, last], syncs)
            downstream = [c.downstream for c in doings.of(name, number)]
            doings.groups.append(
                GroupRow(
                    group=name,
                    topic=REMOTE,
                    partition=number,
                    s_committed=last,
                    t_committed=downstream[-1],
                    t_before=downstream[0],
                    t_state="empty",
                    synced=True,
                    due_ms=1_000_000,
                    s_owed=last,
                )
            )
    _trim(doings, _TRIMMED_FROM + 10 + rng.randrange(10), mirrored=range(_TRIMMED_FROM, _TRIMMED_FROM + 40))
    doings.configs, doings.acls, doings.topics = list(_CONFIGS), list(_ACLS), list(_TOPICS)
    return doings


_TRIMMED, _TRIMMED_FROM = 2, 2000  # the partition that nobody reads, and its first offset ever


def _trim(doings: Doings, start: int, *, mirrored: Sequence[int]) -> list[Sync]:
    """The last partition: a source without holes that begins at `start`, and what was mirrored, in order."""
    source = list(range(start, _TRIMMED_FROM + 40))
    partition = Partition(source, list(enumerate(mirrored)))
    doings.partitions[_TRIMMED:] = [partition]
    doings.syncs = [s for s in doings.syncs if s.partition != _TRIMMED]
    written = [Sync(_TRIMMED, *pair) for pair in dict.fromkeys(_syncs(partition))]
    doings.syncs += written
    return written


def _partition(rng: random.Random) -> Partition:
    """Offsets go up by one, or by two where a transaction ended; on the target some are replayed."""
    start = rng.choice((0, 0, 1000))
    source = [start]
    for _ in range(rng.randrange(40, 80)):
        source.append(source[-1] + rng.choice((1, 1, 1, 1, 2)))
    target: list[tuple[int, int]] = []
    at, offset = 0, 0
    replays = rng.randrange(3)
    while at < len(source):
        target.append((offset, source[at]))
        offset += rng.choice((1, 1, 1, 1, 2))
        if replays and 10 < at < len(source) - 1 and rng.random() < 0.05:
            at, replays = at - rng.randrange(1, 10), replays - 1
        else:
            at += 1
    return Partition(source, target)


def _syncs(partition: Partition) -> Iterator[tuple[int, int]]:
    """As OffsetSyncWriter writes them, the last with the task's commit."""
    last_down, before = -1, None
    for downstream, upstream in partition.target:
        if before is None or upstream != before + 1 or downstream - (last_down + 1) >= LAG_MAX:
            last_down = downstream
            yield upstream, downstream
        before = upstream
    yield partition.target[-1][1], partition.target[-1][0]


def _checkpoints(
    group: str, partition: int, reached: Sequence[int], syncs: Sequence[tuple[int, int]]
) -> Iterator[Checkpoint]:
    """As MirrorCheckpointTask emits them: of the newest sync at or before, and never back."""
    last = -1
    for upstream in reached:
        up, down = next(pair for pair in reversed(syncs) if pair[0] <= upstream)
        downstream = down if up == upstream else down + 1
        if downstream > last:
            last = downstream
            yield Checkpoint(group, partition, upstream, downstream)


def _config(key: str, rule: Rule, expected: str | None) -> ConfigRow:
    return ConfigRow(topic="orders", key=key, rule=rule, expected=expected, found=expected, judged=True)


_CONFIGS: Final = (
    _config("retention.ms", Rule.COPIED, "7200000"),
    _config("cleanup.policy", Rule.COPIED, "compact"),
    _config("max.message.bytes", Rule.RESET, None),
    _config("min.insync.replicas", Rule.UNTOUCHED, "1"),
    replace(_config("message.timestamp.type", Rule.UNTOUCHED, None), found="CreateTime", judged=False),
)


def _acl(principal: str, operation: str, *, expected: bool, found: bool, before: bool | None) -> AclRow:
    return AclRow(
        topic=REMOTE,
        pattern="literal",
        principal=f"User:{principal}",
        host="*",
        operation=operation,
        permission="allow",
        expected=expected,
        found=found,
        before=before,
    )


_ACLS: Final = (
    _acl("reader", "read", expected=True, found=True, before=False),
    _acl("owner", "read", expected=True, found=True, before=False),
    _acl("admin", "all", expected=False, found=True, before=True),  # the target's own
    _acl("guest", "write", expected=False, found=True, before=None),  # nobody knows whose
)


def _topic(name: str, *, selected: bool, there: bool, internal: bool = False) -> TopicRow:
    return TopicRow(
        topic=name,
        remote=f"source.{name}",
        selected=selected,
        internal=internal,
        s_partitions=2,
        t_partitions=3 if there else None,
    )


_TOPICS: Final = (
    _topic("orders", selected=True, there=True),
    _topic("payments", selected=True, there=True),
    _topic("old", selected=False, there=True),
    _topic("__consumer_offsets", selected=False, there=False, internal=True),
)


# -- defects ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Defect:
    """`spoil` changes a clean case and gives what the check's first coordinates must name."""

    name: str
    check: str
    spoil: Callable[[Doings], Mapping[str, Any]]
    also: frozenset[str] = frozenset()


def _defect(name: str, check: str, *also: str) -> Callable[..., Any]:
    def register(spoil: Callable[[Doings], Mapping[str, Any]]) -> Callable[[Doings], Mapping[str, Any]]:
        DEFECTS.append(Defect(name=name, check=check, spoil=spoil, also=frozenset(also)))
        return spoil

    return register


DEFECTS: Final[list[Defect]] = []


def _late(doings: Doings) -> Sync:
    """The last sync of partition 0 after which another record stands on both sides, and that is of use."""
    last = doings.partitions[0].target[-1][0]
    return next(s for s in reversed(doings.syncs) if s.partition == 0 and s.downstream < last)


@_defect("a sync names the next record of the target", "sync_pairs")
def _(doings: Doings) -> Mapping[str, Any]:
    sync = _late(doings)
    sync.downstream = next(t for t, _ in doings.partitions[0].target if t > sync.downstream)
    return vars(sync)


@_defect("a sync names the next record of the source", "sync_pairs")
def _(doings: Doings) -> Mapping[str, Any]:
    sync = _late(doings)
    sync.upstream = next(o for o in doings.partitions[0].source if o > sync.upstream)
    return vars(sync)


@_defect("a sync points beyond the target's end", "sync_pairs")
def _(doings: Doings) -> Mapping[str, Any]:
    sync = _late(doings)
    sync.downstream = doings.partitions[0].t_end
    return vars(sync)


@_defect("a sync names the record before on the target", "sync_pairs")
def _(doings: Doings) -> Mapping[str, Any]:
    sync = _late(doings)
    sync.downstream = max(t for t, _ in doings.partitions[0].target if t < sync.downstream)
    return vars(sync)


def _but(*skipped: int) -> list[int]:
    """All offsets that the trimmed partition ever had but some, by their distance from the first."""
    return [_TRIMMED_FROM + n for n in range(40) if n not in skipped]


@_defect("a connector was paused for longer than the source kept its records", "skipped")
def _(doings: Doings) -> Mapping[str, Any]:
    _trim(doings, _TRIMMED_FROM + 15, mirrored=_but(10, 11, 12, 13, 14))
    return {"partition": _TRIMMED, "upstream": _TRIMMED_FROM + 15, "skipped": 5}


@_defect("one record was skipped, and its sync came late", "skipped")
def _(doings: Doings) -> Mapping[str, Any]:
    at_gap = _TRIMMED_FROM + 12
    written = _trim(doings, at_gap, mirrored=_but(11))
    doings.syncs.remove(next(s for s in written if s.upstream == at_gap))
    after = next(s for s in written if s.upstream > at_gap)
    return {"partition": _TRIMMED, "upstream": after.upstream, "skipped": 1}


@_defect("records were skipped, and no sync tells of it yet", "skipped")
def _(doings: Doings) -> Mapping[str, Any]:
    at_gap = _TRIMMED_FROM + 35
    for sync in _trim(doings, at_gap, mirrored=_but(33, 34)):
        if sync.upstream >= at_gap:
            doings.syncs.remove(sync)
    return {"partition": _TRIMMED, "upstream": _TRIMMED_FROM + 39, "skipped": 2}


@_defect("records were skipped, and after them some repeated", "skipped")
def _(doings: Doings) -> Mapping[str, Any]:
    kept = _but(20, 21, 22)
    again = [_TRIMMED_FROM + n for n in range(25, 40)]
    _trim(doings, _TRIMMED_FROM + 30, mirrored=[*kept, *again])
    return {"partition": _TRIMMED, "upstream": _TRIMMED_FROM + 23, "skipped": 3}


def _point(doings: Doings, name: str, partition: int, downstream: int) -> Mapping[str, Any]:
    """Make the latest checkpoint, and what was synced of it, say another downstream offset."""
    latest = doings.of(name, partition)[-1]
    latest.downstream = downstream
    doings.change(name, partition, t_committed=downstream, t_before=-1)
    return {"group": name, "partition": partition, "downstream": downstream}


@_defect("a checkpoint skips exactly one record", "translation")
def _(doings: Doings) -> Mapping[str, Any]:
    upstream = doings.of(BEHIND, 0)[-1].upstream
    first = next(o for o in doings.partitions[0].source if o >= upstream)
    last_copy = max(t for t, o in doings.partitions[0].target if o == first)
    return {**_point(doings, BEHIND, 0, last_copy + 1), "first_skipped": first}


@_defect("a group behind is sent to the target's end", "translation")
def _(doings: Doings) -> Mapping[str, Any]:
    upstream = doings.of(BEHIND, 1)[-1].upstream
    first = next(o for o in doings.partitions[1].source if o >= upstream)
    return {**_point(doings, BEHIND, 1, doings.partitions[1].t_end), "first_skipped": first}


@_defect("a checkpoint lies beyond the target's end", "translation", "group_offsets")
def _(doings: Doings) -> Mapping[str, Any]:
    return _point(doings, HEAD, 0, doings.partitions[0].t_end + 3)


@_defect("the source's offset was copied as it is", "translation", "group_offsets")
def _(doings: Doings) -> Mapping[str, Any]:
    for partition in doings.partitions:  # as after a retention: the source began long ago
        if partition.source[0] == 0:
            partition.source = [o + 5000 for o in partition.source]
            partition.target = [(t, o + 5000) for t, o in partition.target]
    for sync in doings.syncs:
        sync.upstream += 5000 if sync.upstream < 1000 else 0
    for checkpoint in doings.checkpoints:
        checkpoint.upstream += 5000 if checkpoint.upstream < 1000 else 0
    for group in list(doings.groups):
        if group.s_committed < 1000:
            doings.change(group.group, group.partition, s_committed=group.s_committed + 5000)
    return _point(doings, HEAD, 1, doings.of(HEAD, 1)[-1].upstream)


def _alone(doings: Doings, partition: int, downstream: int) -> Mapping[str, Any]:
    """The group at the head has this one checkpoint."""
    upstream = doings.group(HEAD, partition).s_committed
    doings.forget(HEAD, partition)
    doings.checkpoints.append(Checkpoint(HEAD, partition, upstream, downstream))
    doings.change(HEAD, partition, t_committed=downstream, t_before=-1)
    return {"group": HEAD, "partition": partition, "downstream": downstream}


@_defect("a group at the head is sent to the beginning", "tightness")
def _(doings: Doings) -> Mapping[str, Any]:
    return _alone(doings, 0, 0)


@_defect("a group at the head re-reads just offset.lag.max records", "tightness")
def _(doings: Doings) -> Mapping[str, Any]:
    return {**_alone(doings, 1, doings.partitions[1].target[-LAG_MAX][0]), "redelivered": LAG_MAX}


@_defect("a group at the head has an old checkpoint", "tightness")
def _(doings: Doings) -> Mapping[str, Any]:
    first, place = doings.of(HEAD, 0)[0], doings.group(HEAD, 0)
    doings.forget(HEAD, 0)
    first.upstream, first.downstream = doings.partitions[0].target[4][1], doings.partitions[0].target[4][0]
    doings.checkpoints.append(first)
    doings.change(HEAD, 0, t_committed=first.downstream, t_before=-1)
    return {"group": HEAD, "partition": 0, "s_committed": place.s_committed}


@_defect("a checkpoint goes back by one", "checkpoints")
def _(doings: Doings) -> Mapping[str, Any]:
    latest = doings.of(BEHIND, 0)[-1]
    doings.checkpoints.append(replace(latest, downstream=latest.downstream - 1))
    return {"group": BEHIND, "partition": 0, "downstream": latest.downstream - 1}


@_defect("a checkpoint goes back although its group went on", "checkpoints")
def _(doings: Doings) -> Mapping[str, Any]:
    latest = doings.of(HEAD, 1)[-1]
    doings.checkpoints.append(replace(latest, upstream=latest.upstream + 1, downstream=latest.downstream - 2))
    return {"group": HEAD, "partition": 1, "prev_downstream": latest.downstream}


@_defect("an old checkpoint lies between two", "checkpoints")
def _(doings: Doings) -> Mapping[str, Any]:
    latest = doings.of(HEAD, 0)[-1]
    doings.checkpoints += [replace(latest, downstream=0), replace(latest)]
    return {"group": HEAD, "partition": 0, "downstream": 0}


@_defect("a partition of a group at the head has no checkpoint", "coverage")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.forget(HEAD, 0)
    doings.change(HEAD, 0, t_committed=-1, t_before=-1)
    return {"group": HEAD, "partition": 0}


@_defect("a group at the head has no checkpoint but was synced before", "coverage")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.forget(HEAD, 1)
    return {"group": HEAD, "partition": 1}


@_defect("a new group has no checkpoint", "coverage")
def _(doings: Doings) -> Mapping[str, Any]:
    place = doings.group(HEAD, 1)
    doings.groups.append(replace(place, group="new", t_committed=-1, t_before=None, t_state="absent"))
    return {"group": "new", "partition": 1}


@_defect("a group behind moved on to near the head, and its checkpoint did not", "coverage")
def _(doings: Doings) -> Mapping[str, Any]:
    partition, first = doings.partitions[0], doings.of(BEHIND, 0)[0]
    doings.forget(BEHIND, 0)
    first.downstream, first.upstream = partition.target[2]
    doings.checkpoints.append(first)
    committed = partition.source[-2]
    doings.change(
        BEHIND, 0, s_committed=committed, s_owed=committed, t_committed=first.downstream, t_before=None
    )
    return {"group": BEHIND, "partition": 0, "s_committed": committed, "downstream": first.downstream}


@_defect("a synced offset is one behind", "group_offsets")
def _(doings: Doings) -> Mapping[str, Any]:
    due = doings.of(HEAD, 0)[-1].downstream
    doings.change(HEAD, 0, t_committed=due - 1, t_before=-1)
    return {"group": HEAD, "partition": 0, "t_committed": due - 1, "due": due}


@_defect("a group was never synced", "group_offsets")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.change(BEHIND, 1, t_committed=-1, t_before=None, t_state="absent")
    return {"group": BEHIND, "partition": 1, "t_committed": -1}


@_defect("an offset on the target went back", "group_offsets")
def _(doings: Doings) -> Mapping[str, Any]:
    now = doings.group(BEHIND, 0).t_committed
    doings.change(BEHIND, 0, t_before=now + 1)
    return {"group": BEHIND, "partition": 0, "t_before": now + 1}


@_defect("an offset ran ahead of every checkpoint", "group_offsets")
def _(doings: Doings) -> Mapping[str, Any]:
    end = doings.partitions[1].t_end
    doings.change(BEHIND, 1, t_committed=end)
    return {"group": BEHIND, "partition": 1, "t_committed": end}


def _replaced(doings: Doings, key: str, found: str | None) -> Mapping[str, Any]:
    doings.configs = [replace(row, found=found) if row.key == key else row for row in doings.configs]
    return {"topic": "orders", "key": key, "found": found} if found else {"topic": "orders", "key": key}


@_defect("a config was not copied", "topic_configs")
def _(doings: Doings) -> Mapping[str, Any]:
    return _replaced(doings, "retention.ms", "604800000")


@_defect("a target's own config was not reset", "topic_configs")
def _(doings: Doings) -> Mapping[str, Any]:
    return _replaced(doings, "max.message.bytes", "1500000")


@_defect("an excluded config was copied", "topic_configs")
def _(doings: Doings) -> Mapping[str, Any]:
    return _replaced(doings, "min.insync.replicas", "2")


@_defect("an excluded config was wiped", "topic_configs")
def _(doings: Doings) -> Mapping[str, Any]:
    return _replaced(doings, "min.insync.replicas", None)


@_defect("an ACL was not copied", "acls")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.acls = [replace(a, found=False) if a.principal == "User:reader" else a for a in doings.acls]
    return {"principal": "User:reader", "found": False}


@_defect("the right to write was copied", "acls")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.acls.append(_acl("writer", "write", expected=False, found=True, before=False))
    return {"principal": "User:writer", "operation": "write"}


@_defect("all rights were copied instead of reading", "acls")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.acls = [replace(a, found=False) if a.principal == "User:owner" else a for a in doings.acls]
    doings.acls.append(_acl("owner", "all", expected=False, found=True, before=False))
    return {"principal": "User:owner", "operation": "all"}


@_defect("a selected topic is missing", "topic_set")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.topics[1] = replace(doings.topics[1], t_partitions=None)
    return {"topic": "payments", "t_partitions": None}


@_defect("a topic was created with one partition", "topic_set")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.topics[0] = replace(doings.topics[0], t_partitions=1)
    return {"topic": "orders", "t_partitions": 1}


@_defect("an internal topic was mirrored", "topic_set")
def _(doings: Doings) -> Mapping[str, Any]:
    doings.topics[3] = replace(doings.topics[3], t_partitions=50)
    return {"topic": "__consumer_offsets", "t_partitions": 50}


# -- as evidence -----------------------------------------------------------------------------------


@contextmanager
def tables(spark: SparkSession, cases: Sequence[Doings]) -> Iterator[Mapping[str, DataFrame]]:
    """The evidence of all cases, each under its place in the list."""
    with evidence(_histories(spark, cases)) as found:
        records, partitions = found["records"], found["partitions"]
        syncs = [
            (c, "orders", s.partition, s.upstream, s.downstream, position, 0)
            for c, doings in enumerate(cases)
            for position, s in enumerate(doings.syncs)
        ]
        random.Random(0).shuffle(syncs)  # noqa: S311 - their positions tell their order, not the rows
        checkpoints = table(
            spark,
            CHECKPOINT_COLUMNS,
            [
                (c, p.group, REMOTE, p.partition, p.upstream, p.downstream, "", position, 0)
                for c, doings in enumerate(cases)
                for position, p in enumerate(doings.checkpoints)
            ],
        )

        def rows(columns: str, name: str) -> DataFrame:
            found = [(c, *astuple(row)) for c, doings in enumerate(cases) for row in getattr(doings, name)]
            return table(spark, columns, found)

        yield {
            "syncs": syncs_table(table(spark, SYNC_COLUMNS, syncs), records, partitions),
            "checkpoints": checkpoints_table(checkpoints),
            "groups": groups_table(rows(GROUP_COLUMNS, "groups"), checkpoints, records, partitions),
            "configs": rows(CONFIG_COLUMNS, "configs"),
            "acls": rows(ACL_COLUMNS, "acls"),
            "topics": rows(TOPIC_COLUMNS, "topics"),
        }


def _histories(spark: SparkSession, cases: Sequence[Doings]) -> Histories:
    source: list[tuple[Any, ...]] = []
    target: list[tuple[Any, ...]] = []
    ends = []
    for c, doings in enumerate(cases):
        for p, partition in enumerate(doings.partitions):
            of = (partition.source, [o for _, o in partition.target])
            at = (partition.source, [t for t, _ in partition.target])
            for side, upstreams, places in zip((source, target), of, at, strict=True):
                for upstream, place in zip(upstreams, places, strict=True):
                    value = bytearray(f"{p}-{upstream}".encode())
                    side.append((c, p, place, 0, 0, None, value, []))
            s_end = partition.source[-1] + 1
            ends.append((c, p, partition.source[0], s_end, None, 0, partition.t_end, None, False, False))
    return Histories(
        source=spark.createDataFrame(source, RECORD_COLUMNS),
        target=spark.createDataFrame(target, RECORD_COLUMNS),
        ledger=spark.createDataFrame([], LEDGER_COLUMNS),
        partitions=spark.createDataFrame(ends, PARTITION_COLUMNS),
    )
