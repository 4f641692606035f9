"""What is wrong between connectors: each is right by itself, together they do not do what they say."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from lab.mm2 import CHECKPOINT, DEFAULT_POLICY, SOURCE, Connector, Problem, Severity

# By these the checkpoint connector finds what the source connector wrote; with MM2's defaults.
_NAMING: Final = {
    "replication.policy.class": DEFAULT_POLICY,
    "replication.policy.separator": ".",
    "replication.policy.internal.topic.separator.enabled": "true",
    "offset-syncs.topic.location": "source",
}
_CLUSTERS: Final = ("source.cluster.", "target.cluster.", "security.", "sasl.", "ssl.")
# These decide whether a cluster can be reached at all. The others may differ for good reason: other users.
_REACHING: Final = ("bootstrap.servers", "security.protocol", "sasl.mechanism")
_IDENTITIES: Final = ("sasl.", "ssl.")


def problems_between(
    chosen: Sequence[Connector], deployed: Iterable[Connector], topics: Iterable[str]
) -> dict[str, list[Problem]]:
    """By connector that was chosen: what it does not share with those of its flow, and endless loops.

    A connector that is deployed under a chosen one's name is about to be replaced and does not count.
    """
    names = {connector.name for connector in chosen}
    others = [connector for connector in deployed if connector.name not in names]
    known = list(topics)
    return {
        connector.name: [
            *(problem for peer in _peers(connector, chosen, others) for problem in _unlike(connector, peer)),
            *_loops(connector, [*chosen, *others], known),
        ]
        for connector in chosen
    }


def _peers(
    connector: Connector, chosen: Sequence[Connector], others: Sequence[Connector]
) -> Iterator[Connector]:
    """Those to compare with: of a flow's connectors the source connector is the measure."""
    for peer in (*chosen, *others):
        same_flow = (peer.source_alias, peer.target_alias) == (connector.source_alias, connector.target_alias)
        if not same_flow or peer.connector_class == connector.connector_class:
            continue
        if peer.connector_class == SOURCE or (connector.connector_class == SOURCE and peer in others):
            yield peer


def _unlike(connector: Connector, peer: Connector) -> Iterator[Problem]:
    naming = _NAMING if {connector.connector_class, peer.connector_class} == {SOURCE, CHECKPOINT} else {}
    for key, default in naming.items():
        mine, its = connector.config.get(key, default), peer.config.get(key, default)
        alike = key == "replication.policy.class" and connector.keeps_names and peer.keeps_names
        if mine != its and not alike:
            yield Problem(
                severity=Severity.ERROR,
                key=key,
                message=(
                    f'"{_last(mine)}" here, "{_last(its)}" in "{peer.name}": '
                    "consumer groups would get no offsets in the topics that it mirrors"
                ),
                remedy=f'set "{key}": "{its}" here, or the same in both',
            )
    for key in sorted({k for k in (*connector.config, *peer.config) if k.startswith(_CLUSTERS)}):
        mine, its = connector.config.get(key, ""), peer.config.get(key, "")
        if mine == its or key.endswith(".alias") or set(mine.split(",")) & set(its.split(",")):
            continue
        reaching = key.endswith(_REACHING)
        if reaching or any(part in key for part in _IDENTITIES):
            yield Problem(
                severity=Severity.ERROR if reaching else Severity.WARNING,
                key=key,
                message=f'not the same as in "{peer.name}", which talks to the same cluster',
                remedy="give both the same value" + ("" if reaching else ", if they are to be the same user"),
            )


def _last(value: str) -> str:
    """A class without its package; anything else as it is."""
    return value.rpartition(".")[2] or value


def _loops(connector: Connector, all_: Sequence[Connector], topics: Sequence[str]) -> Iterator[Problem]:
    """Without prefixes MM2 cannot see that a record has come from where it goes."""
    if connector.connector_class != SOURCE or not connector.keeps_names:
        return
    for other in all_:
        if other.connector_class != SOURCE or not other.keeps_names or not _opposite(connector, other):
            continue
        shared = next((t for t in _candidates(connector, other, topics) if _both(connector, other, t)), None)
        if shared is not None:
            yield Problem(
                severity=Severity.ERROR,
                key="replication.policy.class",
                message=(
                    f'"{other.name}" mirrors "{shared}" the other way, also under the same name: '
                    "each record would go round for ever"
                ),
                remedy="use DefaultReplicationPolicy in one direction, or other topics",
            )


def _opposite(one: Connector, other: Connector) -> bool:
    def addresses(connector: Connector, side: str) -> set[str]:
        return set(connector.config.get(f"{side}.cluster.bootstrap.servers", "").split(",")) - {""}

    if (one.source_alias, one.target_alias) == (other.target_alias, other.source_alias):
        return True
    return all(
        addresses(one, side) & addresses(other, back)
        for side, back in (("source", "target"), ("target", "source"))
    )


def _candidates(one: Connector, other: Connector, topics: Sequence[str]) -> Iterator[str]:
    """Topics that exist, and what was written as a pattern: a plain name, or the same pattern in both."""
    yield from (topic for topic in topics if not topic.startswith("__") and not topic.endswith("internal"))
    yield from (mine for mine, its in product(one.topic_patterns, other.topic_patterns) if mine == its)
    yield from (*one.topic_patterns, *other.topic_patterns)


def _both(one: Connector, other: Connector, topic: str) -> bool:
    return all(topic in connector.topic_patterns or connector.selects(topic) for connector in (one, other))
