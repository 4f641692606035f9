"""What the clients read of MM2 besides records: its topics' ends, groups, configs, ACLs and topics.

It comes before the ends of the mirrored topics are named. What a cluster refuses to tell is left out, and the
checks over it then say UNKNOWN.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from lab.kafka import ABSENT, WITHOUT_MEMBERS, Acl, Cluster, ClusterError, Offsets
from lab.mm2 import Connector
from lab.mm2_records import checkpoint, decoded, newest
from lab.verify import parity
from lab.verify.due import PATIENCE_S, SHORT_S, Dues
from lab.verify.flow import Flow
from lab.verify.seen import Before, Seen
from lab.verify.standing import Standing
from lab.wait import NotYet, TimedOut, wait_until

T = TypeVar("T")
ASK_AGAIN_S: Final = 3.0
_TRANSACTIONS: Final = "__transaction_state"  # a cluster makes it for its first transaction
_KEEP_S: Final = 7200.0  # how long what was seen may be of use, whatever the intervals are


@dataclass(frozen=True, kw_only=True)
class Mm2State:
    """What the clients read at one moment; None is what a cluster would not tell."""

    flow: Flow
    syncs: Mapping[int, Offsets]
    checkpoints: Mapping[int, Offsets]
    groups: list[parity.GroupRow] | None
    configs: list[parity.ConfigRow] | None
    acls: list[parity.AclRow] | None
    topics: list[parity.TopicRow] | None
    has_acls: bool  # False: the source is known to have no authorizer, and so none
    transactions: bool  # whether the source cluster is known to have had any
    later: Mapping[str, str]  # check → when it will judge what is not due yet

    @property
    def due_ms(self) -> int:
        """Checkpoints written before it must have been synced to the target's groups."""
        return min((group.due_ms for group in self.groups or ()), default=0)


def read(flow: Flow) -> Mm2State:
    """Name the ends of MM2's topics, then read what the clients can: groups, configs, ACLs, topics.

    Again, while something is not as it should be that MM2's next round, coming soon, may put right.
    """
    seen = Seen.load(flow.seen, _ids(flow))
    dues = Dues.of(flow.connector, flow.checkpointer or flow.connector)
    found: list[tuple[Mm2State, Before]] = []
    begun_ms = _now_ms()

    def look() -> bool | NotYet:
        standing = Standing(seen, dues, begun_ms if not found else _now_ms(), begun_ms)
        seen.new_look()
        found[:] = [_look(flow, standing)]
        return NotYet(", ".join(standing.waits)) if standing.waits else True

    with contextlib.suppress(TimedOut):  # then it is judged as it is
        wait_until(look, timeout_s=SHORT_S + 2 * PATIENCE_S, what="MM2's next round", pause_s=0.5)
    state, now = found[0]
    keep_s = min(_KEEP_S, max(dues.covered.after_s, dues.synced.after_s))
    seen.save(now, keep_ms=now.at_ms - keep_s * 1000)
    return state


def _now_ms() -> int:
    return int(time.time() * 1000)


def _look(flow: Flow, standing: Standing) -> tuple[Mm2State, Before]:
    connector, before = flow.connector, standing.seen.before
    syncs = _ends(flow.syncs_at, connector.offset_syncs_topic) if flow.emits_syncs else {}
    checkpointer = flow.checkpointer if flow.emits_checkpoints else None
    checkpoints = _ends(flow.target, checkpointer.checkpoints_topic) if checkpointer else {}
    groups = _or_none(lambda: _groups(flow, checkpointer, standing)) if checkpointer else ([], {})
    configs = _or_none(lambda: _configs(flow, before))
    acls = _or_none(lambda: _acls(flow, before))
    topics = _or_none(
        lambda: parity.topic_rows(connector, flow.source.topics(), flow.target.topics(), kafka_4=flow.kafka_4)
    )
    state = Mm2State(
        flow=flow,
        syncs=syncs,
        checkpoints=checkpoints,
        groups=None if groups is None else groups[0],
        configs=None if configs is None else standing.configs(configs[0]),
        acls=None if acls is None else standing.acls(acls[0]),
        topics=None if topics is None else standing.topics(topics),
        has_acls=acls is None or acls[1] is not None,
        transactions=flow.source.has_topic(_TRANSACTIONS),
        later=standing.later,
    )
    return state, Before(
        at_ms=standing.now_ms,
        acls=None if acls is None else acls[2],
        configs=None if configs is None else configs[1],
        groups=None if groups is None else groups[1],
    )


def _groups(
    flow: Flow, checkpointer: Connector, standing: Standing
) -> tuple[list[parity.GroupRow], dict[str, dict[int, int]]]:
    """The rows, and what groups without members have committed on the target."""
    names = [g for g in flow.source.group_states() if checkpointer.takes_group(g)]
    states = flow.target.group_states()
    there = {group: flow.target.group_offsets(group) for group in names if group in states}
    before = standing.seen.before
    rows = parity.group_rows(
        checkpointer,
        flow.topic,
        {group: flow.source.group_offsets(group) for group in names},
        there,
        states,
        due_ms=int(standing.now_ms - min(standing.dues.synced.after_s, _KEEP_S) * 1000),
        before=before.groups if before else None,
    )
    rows = standing.groups(rows)
    if standing.groups_may_wait and not all(row.settled and row.known and row.rested for row in rows):
        snapshot = flow.target.snapshot(checkpointer.checkpoints_topic)
        ends = tuple(
            cluster.offsets(topic) if cluster.has_topic(topic) else {}
            for cluster, topic in ((flow.source, flow.topic), (flow.target, flow.remote))
        )
        bound = int(flow.connector.config.get("offset.lag.max", "100"))
        standing.await_groups(rows, decoded(checkpoint, newest(snapshot)), (ends[0], ends[1]), bound)
    idle = {group: there.get(group, {}) for group in names if states.get(group, ABSENT) in WITHOUT_MEMBERS}
    remote = checkpointer.remote_topic(flow.topic)
    return rows, {
        group: {place[1]: at.offset for place, at in committed.items() if place[0] == remote}
        for group, committed in idle.items()
    }


def _configs(
    flow: Flow, before: Before | None
) -> tuple[list[parity.ConfigRow], dict[str, str | None] | None]:
    """The rows, and what the topic on the target has set itself."""
    there = [flow.remote] if flow.target.has_topic(flow.remote) else []
    target = flow.target.topic_configs(there)
    then = before.configs if before else None
    rows = parity.config_rows(
        flow.connector,
        flow.source.topic_configs([flow.topic]),
        target,
        None if then is None else {flow.remote: then},
    )
    return rows, parity.own_configs(target[flow.remote]) if there else None


def _acls(flow: Flow, before: Before | None) -> tuple[list[parity.AclRow], list[Acl] | None, list[Acl]]:
    """The rows, what the source has, None without an authorizer, and what the target has."""
    given = flow.source.acls()
    there = flow.target.acls() or []
    then = before.acls if before else None
    rows = parity.acl_rows(flow.connector, given or [], there, then, kafka_4=flow.kafka_4)
    return rows, given, there


def _ids(flow: Flow) -> list[str]:
    """What tells both topics from earlier ones of their names; nothing where no verdict is kept."""
    ends = ((flow.source, flow.topic), (flow.target, flow.remote)) if flow.seen else ()
    return [cluster.topic_id(topic) if cluster.has_topic(topic) else "" for cluster, topic in ends]


def _ends(cluster: Cluster, topic: str) -> Mapping[int, Offsets]:
    """Nothing when the topic is empty, or not there, as before MM2's first record of the kind."""
    ends = cluster.offsets(topic) if cluster.has_topic(topic) else {}
    return ends if any(place.count for place in ends.values()) else {}


def _or_none(ask: Callable[[], T]) -> T | None:
    """Asked again for a moment: while topics come and go, some have no leader yet."""
    try:
        return wait_until(ask, timeout_s=ASK_AGAIN_S, what="an answer", transient=(ClusterError,))
    except TimedOut:
        return None
