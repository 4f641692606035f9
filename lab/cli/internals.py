"""checkpoints, offset-syncs, heartbeats: what MM2 writes for itself, decoded."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

import typer

from lab.cli import console
from lab.cli.options import Json, Name
from lab.errors import BadInput, nearest
from lab.harness import Lab
from lab.kafka import Record
from lab.mm2 import CHECKPOINT, HEARTBEATS, SOURCE, Connector
from lab.mm2_records import (
    Checkpoint,
    Heartbeat,
    OffsetSync,
    checkpoint,
    decoded,
    heartbeat,
    newest,
    offset_sync,
)

R = TypeVar("R", Checkpoint, OffsetSync, Heartbeat)

Source = Annotated[
    str | None, typer.Option("--source", metavar="ALIAS", help="Only of this source; of all if not given.")
]
Topic = Annotated[
    str | None,
    typer.Option("--topic", metavar="TOPIC", help="Only about this topic, by its name on either side."),
]
Latest = Annotated[
    bool | None,
    typer.Option(
        "--latest/--all",
        help="--latest: the newest record of each key, the default of a table. "
        "--all: every record that is there, the default with --json.",
    ),
]
Limit = Annotated[int, typer.Option(min=1, metavar="N", help="Rows of the table.")]
_LIMIT: Final = 50


def register(app: typer.Typer) -> None:
    app.command("checkpoints")(checkpoints)
    app.command("offset-syncs")(offset_syncs)
    app.command("heartbeats")(heartbeats)


def checkpoints(
    group: Annotated[str | None, typer.Option("--group", metavar="GROUP", help="Only of this group.")] = None,
    topic: Topic = None,
    source: Source = None,
    latest: Latest = None,
    limit: Limit = _LIMIT,
    name: Name = None,
    json: Json = False,
) -> None:
    """Show MM2's checkpoints: where a group of the source may go on on the target."""
    lab = Lab.attach(name)
    connectors = _connectors(lab, CHECKPOINT, source)
    holders = {(lab.ends(c)[1].alias, c.checkpoints_topic) for c in connectors}
    _show(
        lab, holders, checkpoint, latest=latest, limit=limit, as_json=json,
        title="Checkpoints",
        columns=("group", "topic", "partition", "upstream", "downstream", "metadata", "written"),
        key=lambda c: (c.group, c.topic, c.partition),
        row=lambda _, c: (
            c.group, c.topic, c.partition, c.upstream, c.downstream, c.metadata, _time(c.written_ms)
        ),
        wanted=lambda c: (
            group in (None, c.group) and (topic is None or c.topic in _names(topic, connectors))
        ),
        empty="none; MM2 writes them once a group has committed in a topic of which records are mirrored",
    )  # fmt: skip


def offset_syncs(
    topic: Topic = None,
    source: Source = None,
    latest: Latest = None,
    limit: Limit = _LIMIT,
    name: Name = None,
    json: Json = False,
) -> None:
    """Show MM2's offset syncs: which offset on the target holds which record of the source."""
    lab = Lab.attach(name)
    connectors = _connectors(lab, SOURCE, source)
    holders = {
        (lab.ends(c)[0 if c.offset_syncs_alias == c.source_alias else 1].alias, c.offset_syncs_topic)
        for c in connectors
    }
    _show(
        lab, holders, offset_sync, latest=latest, limit=limit, as_json=json,
        title="Offset syncs",
        columns=("topic", "partition", "upstream", "downstream", "written"),
        key=lambda s: (s.topic, s.partition),
        row=lambda _, s: (s.topic, s.partition, s.upstream, s.downstream, _time(s.written_ms)),
        wanted=lambda s: topic is None or topic in _names(s.topic, connectors),
        empty="none; MM2 writes the first with the first records that it mirrors",
    )  # fmt: skip


def heartbeats(
    source: Source = None,
    latest: Latest = None,
    limit: Limit = _LIMIT,
    name: Name = None,
    json: Json = False,
) -> None:
    """Show MM2's heartbeats, on every cluster that has some: own ones, and mirrored ones under a prefix."""
    lab = Lab.attach(name)
    known = lab.known_connectors()
    aliases = {*lab.topology.roles.clusters, *(a for c in known for a in (c.source_alias, c.target_alias))}
    holders = {
        (alias, topic)
        for alias in lab.topology.roles.clusters
        for topic in lab.cluster(alias).topic_names()
        for separator in {".", *(c.separator for c in known)}
        if _is_heartbeats(topic, separator, aliases)
    }
    _show(
        lab, holders, heartbeat, latest=latest, limit=limit, as_json=json,
        title="Heartbeats",
        columns=("cluster", "topic", "source", "target", "made"),
        key=lambda b: (b.source, b.target),
        row=lambda at, b: (at.cluster, at.topic, b.source, b.target, _time(b.timestamp_ms)),
        wanted=lambda b: source in (None, b.source),
        empty="none; a heartbeat connector writes one per second",
    )  # fmt: skip


def _is_heartbeats(topic: str, separator: str, aliases: Collection[str]) -> bool:
    """MM2's own topic, or its copy under the aliases of the clusters that it came through."""
    *prefixes, name = topic.split(separator)
    return name == HEARTBEATS and all(prefix in aliases for prefix in prefixes)


def _names(topic: str, connectors: Iterable[Connector]) -> set[str]:
    """What a topic of the source is called on either side."""
    return {topic, *(c.remote_topic(topic) for c in connectors)}


@dataclass(frozen=True)
class _Place:
    """A topic of MM2's own."""

    cluster: str
    topic: str


def _connectors(lab: Lab, kind: str, source: str | None) -> list[Connector]:
    its = [c for c in lab.known_connectors() if c.connector_class == kind]
    simple = kind.rpartition(".")[2]
    if not its:
        raise BadInput(f"the lab has no {simple}", '"lab mm2 deploy" deploys one')
    found = [c for c in its if source in (None, c.source_alias)]
    if not found:
        raise BadInput(
            f'no {simple} reads from "{source}"', nearest(str(source), sorted({c.source_alias for c in its}))
        )
    return found


def _show(
    lab: Lab,
    places: Iterable[tuple[str, str]],
    decode: Callable[[Record], R | None],
    *,
    latest: bool | None,
    limit: int,
    as_json: bool,
    title: str,
    columns: Sequence[str],
    key: Callable[[R], Any],
    row: Callable[[_Place, R], tuple[object, ...]],
    wanted: Callable[[R], bool],
    empty: str,
) -> None:
    """By key where there is one of each, else the youngest in the order of the log."""
    newest_only = not as_json if latest is None else latest
    found: list[tuple[_Place, R]] = []
    for alias, topic in sorted(places):
        records = lab.cluster(alias).snapshot(topic)
        its = decoded(decode, newest(records) if newest_only else records)
        found += [(_Place(alias, topic), each) for each in its if wanted(each)]
    shown = sorted(found, key=lambda each: key(each[1]))[:limit] if newest_only else found[-limit:]

    def text() -> None:
        console.table(title, columns, [row(*each) for each in shown], empty=empty)
        if len(found) > len(shown):
            console.suggest(f"--limit {len(found)}", f"shows the other {len(found) - len(shown):,} too")

    data: list[Mapping[str, Any]] = [
        {"cluster": at.cluster, "in": at.topic, **asdict(record)} for at, record in found
    ]
    console.show({title.lower().replace(" ", "_"): data}, as_json=as_json, text=text)


def _time(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
