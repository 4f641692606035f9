"""What MM2 makes of a source's topics, configs, ACLs and groups, beside what the target has.

Each function takes what the clients read and gives rows: expected and found. The rules are those of
MirrorSourceConnector and MirrorCheckpointTask with their default filters; the checks only compare.
`before` is what the target had at an earlier moment, when someone looked: without it nobody can say
whether MM2 or somebody else wrote what stands there now.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from lab.kafka import ABSENT, Acl, GroupOffset, Topic, TopicConfig
from lab.mm2 import Connector, listed

_CONFIGS_EXCLUDED: Final = (
    r"follower\.replication\.throttled\.replicas, leader\.replication\.throttled\.replicas, "
    r"message\.timestamp\.difference\.max\.ms, message\.timestamp\.type, "
    r"unclean\.leader\.election\.enable, min\.insync\.replicas"
)

Configs = Mapping[str, Mapping[str, TopicConfig]]
Committed = Mapping[tuple[str, int], GroupOffset]


class Rule(StrEnum):
    """What becomes of one config key of a mirrored topic."""

    COPIED = "copied"  # the target has the source's value
    RESET = "reset"  # the target's topic has no value of its own
    UNTOUCHED = "untouched"  # excluded: the target has what it had


@dataclass(frozen=True, kw_only=True)
class TopicRow:
    topic: str
    remote: str
    selected: bool
    internal: bool
    s_partitions: int
    t_partitions: int | None  # None: the target has no such topic
    due: bool = True  # False: what is wrong may be put right by MM2's next round


@dataclass(frozen=True, kw_only=True)
class ConfigRow:
    topic: str
    key: str
    rule: str
    expected: str | None
    found: str | None
    judged: bool  # False: untouched, and nobody looked before
    due: bool = True


@dataclass(frozen=True, kw_only=True)
class AclRow:
    topic: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str
    expected: bool
    found: bool
    before: bool | None = None
    due: bool = True


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """A group's place in one partition of a mirrored topic, on both sides; -1 where it has none.

    `due_ms`: checkpoints written before it must have been synced by now.
    `t_before` is None when nobody looked; give it only if no member read on the target since.
    `fresh_ms`: a checkpoint that was written since is as new as MM2 has to make them.
    `s_owed` is what it had committed when the last checkpoint that is owed was due; -1 when nobody looked.
    `settled`, `known`, `rested`: it has stood at `s_committed`, has committed anything at all, and has stood
    at `t_committed` without members, for as long as MM2 may take to do something about it.
    """

    group: str
    topic: str
    partition: int
    s_committed: int
    t_committed: int
    t_before: int | None
    t_state: str
    synced: bool
    due_ms: int
    fresh_ms: int = 0
    s_owed: int = -1
    settled: bool = True
    known: bool = True
    rested: bool = True


def topic_rows(
    connector: Connector, source: Iterable[Topic], target: Iterable[Topic], *, kafka_4: bool = False
) -> list[TopicRow]:
    there = {topic.name: topic.partitions for topic in target}
    return [
        TopicRow(
            topic=topic.name,
            remote=remote,
            selected=connector.mirrors(topic.name, kafka_4=kafka_4),
            internal=connector.is_internal(topic.name, kafka_4=kafka_4),
            s_partitions=topic.partitions,
            # of a name that both clusters use for themselves nothing can be said
            t_partitions=None if remote == topic.name and topic.internal else there.get(remote),
        )
        for topic in source
        for remote in (connector.remote_topic(topic.name),)
    ]


def config_rows(
    connector: Connector,
    source: Configs,
    target: Configs,
    before: Mapping[str, Mapping[str, str | None]] | None = None,
) -> list[ConfigRow]:
    """One row per config key of the source's topics; those that are not on the target are left out.

    `before` has what the topics of the target had set themselves, by topic and key.
    What the source's broker sets for all its topics is MM2's to ignore or to copy, by version: no row.
    """
    return [
        _config_row(
            connector, topic, key, config, target[remote], None if before is None else before.get(remote)
        )
        for topic, configs in source.items()
        for remote in (connector.remote_topic(topic),)
        if remote in target
        for key, config in configs.items()
        if not config.read_only and not config.sensitive and config.origin != "static_broker_config"
    ]


def _config_row(
    connector: Connector,
    topic: str,
    key: str,
    config: TopicConfig,
    target: Mapping[str, TopicConfig],
    before: Mapping[str, str | None] | None,
) -> ConfigRow:
    row = ConfigRow(
        topic=topic, key=key, rule=Rule.RESET, expected=None, found=_own(target, key), judged=True
    )
    reset = config.default and connector.config.get("use.defaults.from", "target") == "target"
    if listed(connector.excluded("config.properties", _CONFIGS_EXCLUDED), key):
        # Whatever else stands there now, somebody else has set.
        by_mm2 = row.found == (None if reset else config.value)
        expected = None if before is None else before.get(key) if by_mm2 else row.found
        return replace(row, rule=Rule.UNTOUCHED, expected=expected, judged=before is not None)
    if reset:
        return row
    found = target[key].value if key in target else None
    return replace(row, rule=Rule.COPIED, expected=config.value, found=found)


def _own(configs: Mapping[str, TopicConfig], key: str) -> str | None:
    return configs[key].value if key in configs and configs[key].own else None


def own_configs(configs: Mapping[str, TopicConfig]) -> dict[str, str | None]:
    """What a topic has set itself."""
    return {key: config.value for key, config in configs.items() if config.own}


def acl_rows(
    connector: Connector,
    source: Iterable[Acl],
    target: Iterable[Acl],
    before: Iterable[Acl] | None = None,
    *,
    kafka_4: bool = False,
) -> list[AclRow]:
    """What must be there, and whatever else the target has for names that the connector gives.

    Of the latter only what the source has as well, of a topic that the connector mirrors, can be its work;
    of the rest `before` stays None.
    """
    own = [acl for acl in source if acl.resource == "topic" and connector.mirrors(acl.name, kafka_4=kafka_4)]
    at_source = {replace(acl, name=connector.remote_topic(acl.name)) for acl in own}
    expected = {copied for acl in own if (copied := _copied(connector, acl))}
    prefix = connector.remote_topic("")
    found = {
        acl
        for acl in target
        if acl in expected or (acl.resource == "topic" and prefix and acl.name.startswith(prefix))
    }
    earlier = None if before is None else set(before)
    return [
        AclRow(
            topic=acl.name,
            pattern=acl.pattern,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission=acl.permission,
            expected=acl in expected,
            found=acl in found,
            before=None if earlier is None or acl not in expected | at_source | earlier else acl in earlier,
        )
        for acl in sorted(expected | found)
    ]


def _copied(connector: Connector, acl: Acl) -> Acl | None:
    """What becomes of an ACL: only literal ones of topics are copied, and never the right to write."""
    if acl.resource != "topic" or acl.pattern != "literal":
        return None
    if acl.permission == "allow" and acl.operation == "write":
        return None
    reading = acl.permission == "allow" and acl.operation == "all"
    return replace(acl, name=connector.remote_topic(acl.name), operation="read" if reading else acl.operation)


def group_rows(
    connector: Connector,
    topic: str,
    source: Mapping[str, Committed],
    target: Mapping[str, Committed],
    t_states: Mapping[str, str],
    *,
    due_ms: int,
    before: Mapping[str, Mapping[int, int]] | None = None,
) -> list[GroupRow]:
    """One row per group and partition that it has committed on the source, for one source topic.

    `before` has what groups without members had committed on the target, by group and partition.
    `connector` is the checkpoint connector; its groups are left out that it does not select.
    """
    remote = connector.remote_topic(topic)
    synced = connector.config.get("sync.group.offsets.enabled") == "true"
    return [
        GroupRow(
            group=group,
            topic=remote,
            partition=partition,
            s_committed=committed.offset,
            t_committed=_offset(target, group, remote, partition),
            t_before=None if before is None or group not in before else before[group].get(partition, -1),
            t_state=t_states.get(group, ABSENT),
            synced=synced,
            due_ms=due_ms,
        )
        for group, places in sorted(source.items())
        if connector.takes_group(group)
        for (name, partition), committed in sorted(places.items())
        if name == topic
    ]


def _offset(committed: Mapping[str, Committed], group: str, topic: str, partition: int) -> int:
    place = committed.get(group, {}).get((topic, partition))
    return -1 if place is None else place.offset
