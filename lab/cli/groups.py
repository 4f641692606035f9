"""groups: consumer groups with what they have committed; with --compare those of both ends of a flow."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from lab.cli import console
from lab.cli.options import Json, Name
from lab.errors import BadInput, nearest
from lab.harness import Lab
from lab.kafka import Cluster
from lab.lag import alike, mirrored_topics
from lab.mm2 import CHECKPOINT, SOURCE, Connector
from lab.mm2_records import checkpoint, decoded, newest, offset_sync
from lab.mm2_renaming import require_known_names
from lab.switching import Compared, Switch, Switching, compare

_COLUMNS: Final = ("cluster", "group", "state", "topic", "partition", "committed", "end", "lag")
_COMPARED: Final = (
    "group",
    "topic",
    "partition",
    "source",
    "lag",
    "state",
    "target",
    "lag",
    "state",
    "a switch now",
)


def register(app: typer.Typer) -> None:
    app.command("groups")(groups_)


def groups_(
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="GROUP", help="Only this group; repeat for several."),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Only in this topic.")] = None,
    compare_: Annotated[
        bool, typer.Option("--compare", help="Source and target side by side, and what a switch would cost.")
    ] = False,
    source: Annotated[
        str | None, typer.Option("--source", metavar="ALIAS", help="With --compare: only from this cluster.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ALIAS", help="Without --compare: only of this cluster."),
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """List consumer groups with their states, committed offsets and lag."""
    if compare_ and cluster:
        raise BadInput("--compare is about two clusters", "leave --cluster out; --source chooses a flow")
    if source and not compare_:
        raise BadInput("--source goes with --compare", "--cluster chooses a cluster")
    lab = Lab.attach(name)
    if compare_:
        _compare(lab, source, group, topic, as_json=json)
        return
    clusters = [lab.cluster(alias) for alias in ([cluster] if cluster else lab.topology.roles.clusters)]
    found = [entry for each in clusters for entry in _groups(each, group, topic)]
    console.show(
        {"groups": found},
        as_json=json,
        text=lambda: console.table("Groups", _COLUMNS, list(_rows(found)), empty="none"),
    )


def _groups(cluster: Cluster, wanted: list[str] | None, topic: str | None) -> Iterator[dict[str, Any]]:
    states = {g: s for g, s in sorted(cluster.group_states().items()) if not wanted or g in wanted}
    committed = {group: cluster.group_offsets(group) for group in states}
    ends = cluster.offsets_of({t for its in committed.values() for t, _ in its})
    for group, state in states.items():
        places = sorted(place for place in committed[group] if topic in (None, place[0]))
        offsets = []
        for place in places:
            offset, end = committed[group][place].offset, ends[place].end if place in ends else None
            lag = None if end is None else end - offset
            offsets.append(
                {"topic": place[0], "partition": place[1], "committed": offset, "end": end, "lag": lag}
            )
        if offsets or topic is None:
            yield {"cluster": cluster.alias, "group": group, "state": state, "offsets": offsets}


def _rows(found: list[dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    for entry in found:
        its = (entry["cluster"], entry["group"], entry["state"])
        for o in entry["offsets"]:
            yield (*its, o["topic"], o["partition"], o["committed"], o["end"], o["lag"])
        if not entry["offsets"]:
            yield (*its, "", "", "", "", "")


# -- both clusters ---------------------------------------------------------------------------------------


def _compare(
    lab: Lab, source: str | None, groups: list[str] | None, topic: str | None, *, as_json: bool
) -> None:
    known = lab.known_connectors()
    flows = [c for c in known if c.connector_class == SOURCE and source in (None, c.source_alias)]
    if not flows:
        aliases = sorted({c.source_alias for c in known})
        raise BadInput(
            f'no source connector reads from "{source}"' if source else "there is no source connector",
            nearest(source, aliases) if source else '"lab mm2 deploy" deploys one',
        )
    require_known_names(flows)
    checkpointers = [c for c in known if c.connector_class == CHECKPOINT]
    rows = [
        row for flow in alike(flows) for row in _flow(lab, flow, checkpointers, groups=groups, topic=topic)
    ]
    console.show(
        {"groups": [_data(row) for row in rows]},
        as_json=as_json,
        text=lambda: console.table(
            "Groups on both sides", _COMPARED, [_row(row) for row in rows],
            empty="no group has committed in a topic that is on both",
        ),
    )  # fmt: skip


def _flow(
    lab: Lab,
    flow: list[Connector],
    checkpointers: list[Connector],
    *,
    groups: list[str] | None,
    topic: str | None,
) -> list[Compared]:
    first = flow[0]
    source, target = lab.ends(first)
    topics = [name for name in source.topic_names() if topic in (None, name)]

    there = set(target.topic_names())
    mirrored = [m for m in mirrored_topics(flow, topics, kafka_4=lab.kafka_4) if m.remote in there]
    syncs = [
        sync
        for at, name in sorted({(c.offset_syncs_alias, c.offset_syncs_topic) for c in flow})
        for sync in decoded(offset_sync, (source if at == first.source_alias else target).snapshot(name))
    ]
    ends = (first.source_alias, first.target_alias)
    holders = {c.checkpoints_topic for c in checkpointers if (c.source_alias, c.target_alias) == ends}
    checkpoints = [c for name in sorted(holders) for c in decoded(checkpoint, newest(target.snapshot(name)))]
    with closing(Switching(source, target, syncs, isolation=first.isolation)) as switching:
        return compare(source, target, mirrored, checkpoints, switching, groups=groups)


def _data(row: Compared) -> dict[str, Any]:
    sides = {
        side: {**asdict(its), "lag": its.lag}
        for side, its in (("source", row.source), ("target", row.target))
    }
    return {**asdict(row), **sides, "from_checkpoint": row.from_checkpoint}


def _row(row: Compared) -> tuple[object, ...]:
    sides = [v for s in (row.source, row.target) for v in (s.committed, s.lag, s.state)]
    told = "starts where auto.offset.reset says" if row.starts_at is None else _told(row.switch)
    if row.from_checkpoint:
        told = f"not synced yet; from its checkpoint: {told}"
    return (row.group, row.source.topic, row.partition, *sides, told)


def _told(switch: Switch | None) -> str:
    if switch is None or switch.again is None or switch.skipped is None:
        return "not known" + (f": {switch.reason}" if switch else "")
    about = "" if switch.exact else "at most "
    parts = [
        does.format(f"{about}{count:,}")
        for does, count in (
            ("reads {} again", switch.again),
            ("skips {} not read on the source", switch.skipped),
        )
        if count
    ]
    return " and ".join(parts) or "goes on exactly there"
