"""A difference is wrong once it has stood for as long as MM2 may take."""

from collections.abc import Mapping

from lab.kafka import Offsets
from lab.mm2 import CHECKPOINT, SOURCE, Connector
from lab.mm2_records import Checkpoint
from lab.verify.due import Dues
from lab.verify.parity import AclRow, ConfigRow, GroupRow, Rule, TopicRow
from lab.verify.seen import Seen
from lab.verify.standing import Standing

MINUTE_MS = 60_000
SHORT = {
    f"{task}.interval.seconds": "5"
    for task in ("refresh.topics", "sync.topic.configs", "refresh.groups", "emit.checkpoints")
}


def look(seen: Seen, now_ms: int, config: Mapping[str, str] | None = None, *, begun_ms: int = 0) -> Standing:
    source = Connector(name="m", config={"connector.class": SOURCE, **(config or {})})
    checkpoints = Connector(name="c", config={"connector.class": CHECKPOINT, **(config or {})})
    return Standing(seen, Dues.of(source, checkpoints), now_ms, begun_ms)


def config_row(found: str, rule: Rule = Rule.COPIED) -> ConfigRow:
    return ConfigRow(topic="orders", key="retention.ms", rule=rule, expected="7", found=found, judged=True)


def topic(there: int | None) -> TopicRow:
    return TopicRow(
        topic="orders",
        remote="source.orders",
        selected=True,
        internal=False,
        s_partitions=2,
        t_partitions=there,
    )


def acl(found: bool) -> AclRow:
    return AclRow(
        topic="source.orders",
        pattern="literal",
        principal="User:a",
        host="*",
        operation="read",
        permission="allow",
        expected=True,
        found=found,
    )


def test_a_difference_is_due_when_it_has_stood_for_the_interval() -> None:
    seen = Seen(["a"])
    first, later = look(seen, 0), look(seen, 11 * MINUTE_MS)

    assert [row.due for row in first.configs([config_row("1")])] == [False]
    assert [row.due for row in first.topics([topic(1)])] == [False]
    assert [row.due for row in first.acls([acl(False)])] == [False]
    assert first.later == {
        "topic_configs": "will be judged after 00:10:10 UTC (sync.topic.configs.interval.seconds is 600)",
        "topic_set": "will be judged after 00:10:10 UTC (refresh.topics.interval.seconds is 600)",
        "acls": "will be judged after 00:10:10 UTC (sync.topic.acls.interval.seconds is 600)",
    }
    assert [row.due for row in later.configs([config_row("1")])] == [True]
    assert [row.due for row in later.topics([topic(1)])] == [True]
    assert [row.due for row in later.acls([acl(False)])] == [True]
    assert later.later == {}


def test_another_difference_begins_anew() -> None:
    seen = Seen(["a"])
    look(seen, 0).configs([config_row("1")])

    assert [row.due for row in look(seen, 11 * MINUTE_MS).configs([config_row("2")])] == [False]


def test_what_is_right_and_what_mm2_must_not_touch_is_never_early() -> None:
    standing = look(Seen(["a"]), 0)
    rows = [config_row("7"), config_row("8", Rule.UNTOUCHED)]

    assert standing.configs(rows) == rows
    assert standing.topics([topic(2), topic(3)]) == [topic(2), topic(3)]
    assert (standing.acls([acl(True)]), standing.later) == ([acl(True)], {})


def test_a_short_interval_is_waited_for_and_a_long_one_is_not() -> None:
    short, long = look(Seen(["a"]), 0, SHORT), look(Seen(["a"]), 0)
    for standing in (short, long):
        standing.configs([config_row("1")])
        standing.topics([topic(None)])

    assert (short.waits, long.waits) == (["topic_configs", "topic_set"], [])
    passed = look(short.seen, 16_000, SHORT)
    assert [row.due for row in passed.configs([config_row("1")])] == [True]
    assert passed.waits == []


def group(s_committed: int = 10, t_committed: int = 5, state: str = "empty") -> GroupRow:
    return GroupRow(
        group="billing",
        topic="source.orders",
        partition=0,
        s_committed=s_committed,
        t_committed=t_committed,
        t_before=None,
        t_state=state,
        synced=True,
        due_ms=0,
    )


def test_a_group_is_settled_known_and_rested_after_its_intervals() -> None:
    seen = Seen(["a"])
    times = (0, 2 * MINUTE_MS, 5 * MINUTE_MS, 12 * MINUTE_MS)
    (rows,) = zip(*(look(seen, at).groups([group()]) for at in times), strict=True)

    assert [(row.settled, row.known, row.rested) for row in rows] == [
        (False, False, False),
        (True, False, False),
        (True, False, True),
        (True, True, True),
    ]
    assert [row.s_owed for row in rows] == [-1, 10, 10, 10]


def test_a_group_that_moves_owes_where_it_stood_an_interval_ago() -> None:
    seen = Seen(["a"])
    look(seen, 0).groups([group(10)])
    look(seen, MINUTE_MS).groups([group(20)])
    (row,) = look(seen, 2 * MINUTE_MS).groups([group(30)])

    assert (row.s_owed, row.settled) == (10, False)


def test_a_group_that_is_read_on_the_target_is_not_rested() -> None:
    seen = Seen(["a"])
    look(seen, 0).groups([group(state="stable")])
    look(seen, 9 * MINUTE_MS).groups([group()])

    assert [row.rested for row in look(seen, 10 * MINUTE_MS).groups([group()])] == [False]
    assert [row.rested for row in look(seen, 13 * MINUTE_MS).groups([group()])] == [True]


def checkpoint(downstream: int) -> Checkpoint:
    return Checkpoint(
        group="billing",
        topic="source.orders",
        partition=0,
        upstream=9,
        downstream=downstream,
        metadata="",
        offset=0,
        written_ms=0,
    )


ENDS = ({0: Offsets(start=0, end=10)}, {0: Offsets(start=0, end=10)})


def waits(found: list[Checkpoint], row: GroupRow, config: Mapping[str, str]) -> list[str]:
    standing = look(Seen(["a"]), 0, config)
    standing.await_groups(standing.groups([row]), found, ENDS, 5)
    return standing.waits


def test_a_group_is_waited_for_while_mm2_may_do_something_about_it() -> None:
    here, synced = group(), {**SHORT, "sync.group.offsets.interval.seconds": "5"}

    assert waits([], here, SHORT) == ['a checkpoint of group "billing"']
    assert waits([checkpoint(5)], here, SHORT) == ['a newer checkpoint of group "billing"']
    assert waits([checkpoint(6)], here, SHORT) == []
    assert waits([checkpoint(6)], here, synced) == ['the offset of group "billing" on the target']
    assert waits([checkpoint(6)], group(t_committed=6), synced) == []
    assert waits([], group(9), SHORT) == [], "it is behind the head"
    assert waits([], here, {}) == [], "intervals are long"


def test_nobody_waits_for_a_group_that_moves_on() -> None:
    seen = Seen(["a"])
    first = look(seen, 0, SHORT)
    first.await_groups(first.groups([group(10)]), [checkpoint(5)], ENDS, 5)
    second = look(seen, 2_000, SHORT)
    second.await_groups(second.groups([group(12)]), [checkpoint(5)], ENDS, 5)

    assert first.waits == ['a newer checkpoint of group "billing"']
    assert second.waits == []
