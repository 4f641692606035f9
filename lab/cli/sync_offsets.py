"""sync-offsets: writes groups' offsets on the destination from MM2's checkpoints, once or again and again."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lab import client_properties
from lab.cli import console
from lab.cli.options import Json, Name, seconds
from lab.errors import BadInput, Interrupted, LabError
from lab.harness import Lab
from lab.kafka import Cluster, ClusterError
from lab.mm2 import aliases_of, known_policy
from lab.offset_sync import Decision, GroupSync, Refusal
from lab.wait import every

_INTERVAL_S: Final = 20.0  # as the program has it of which this takes the options
_COLUMNS: Final = ("group", "partition", "source", "before", "now", "")


def register(app: typer.Typer) -> None:
    app.command("sync-offsets")(sync_offsets)


def sync_offsets(
    group: Annotated[
        list[str],
        typer.Option("--group", "-cgi", metavar="GROUP", help="The consumer group; repeat for several."),
    ],
    source: Annotated[
        str | None,
        typer.Option("--source", "-src", metavar="ALIAS", help="Where it reads now: source.cluster.alias."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ALIAS", help="Where it will read, if there are several targets."),
    ] = None,
    properties: Annotated[
        Path | None,
        typer.Option(
            "--properties",
            "-pfp",
            metavar="FILE",
            help="Client properties of the target; with bootstrap.servers in it no lab is needed.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-rpc",
            metavar="CLASS",
            help="Refuse checkpoints whose topic names do not fit this policy.",
        ),
    ] = None,
    separator: Annotated[
        str, typer.Option("--separator", "-rps", metavar="TEXT", help="replication.policy.separator.")
    ] = ".",
    interval: Annotated[
        float | None,
        typer.Option("--interval", "-int", min=0.1, max=86_400, metavar="SECONDS", help="20 if not given."),
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--for", "-rf", metavar="DURATION", help="E.g. 5m; 0 for until Ctrl-C.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="One round.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what a round would write.")] = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """Write groups' offsets from MM2's checkpoints: forward only, and only while nobody reads there."""
    again = not once and not (dry_run and interval is None and duration is None)
    for_s = None if duration in (None, "0") else seconds(str(duration), unit="s")
    if once and not (interval is None and duration is None):
        raise BadInput("--once goes with neither --interval nor --for", "leave one out")
    if json and again and for_s is None:
        raise BadInput("--json needs --once, --dry-run or --for", "the one object comes at the end")
    chosen = None if policy is None else known_policy(policy)
    source, destination = _ends(source, cluster, properties, name, writes=not dry_run)
    sync = GroupSync(
        destination=destination, source=source, groups=list(dict.fromkeys(group)), policy=chosen,
        separator=separator,
    )  # fmt: skip
    if again:
        _again(sync, interval or _INTERVAL_S, for_s, dry_run=dry_run, as_json=json)
    else:
        _end(_Round.of(sync, dry_run=dry_run, once=True), as_json=json)


def _ends(
    source: str | None, cluster: str | None, properties: Path | None, name: str | None, *, writes: bool
) -> tuple[str, Cluster]:
    """The source's alias and the destination: of a lab, or as a file of client properties has it."""
    bootstrap, client = ("", None) if properties is None else client_properties.read_consumers(properties)
    if bootstrap and client is not None:
        if source is None:
            raise BadInput(
                "the source's alias is not given",
                "--source, as source.cluster.alias of the connectors has it",
            )
        return source, Cluster(cluster or "destination", bootstrap, client.librdkafka)
    lab = Lab.attach(name)
    if writes:
        lab.topology.require_writable("syncing group offsets")
    there = lab.cluster(cluster) if cluster else lab.target
    if client is not None:
        there = Cluster(there.alias, there.bootstrap, client.librdkafka)
    return source or _only_source(lab), there


def _only_source(lab: Lab) -> str:
    found = aliases_of(lab.topology, "source")
    if len(found) != 1:
        raise BadInput(
            f'topology "{lab.topology.name}" has {len(found)} source clusters: {", ".join(found)}',
            "name one with --source",
        )
    return found[0]


@dataclass(frozen=True, kw_only=True)
class _Round:
    at: datetime
    decisions: tuple[Decision, ...]
    dry_run: bool

    @classmethod
    def of(cls, sync: GroupSync, *, dry_run: bool, once: bool) -> "_Round":
        at, decisions = datetime.now(UTC), sync.decide()
        if once:
            for refusal in (refusal for decision in decisions for refusal in decision.refused):
                if isinstance(refusal.error, BadInput):  # a name that is not there: nothing is written
                    raise refusal.error
        if not dry_run:
            decisions = [sync.write(decision) for decision in decisions]
        return cls(at=at, decisions=tuple(decisions), dry_run=dry_run)

    @property
    def refused(self) -> list[Refusal]:
        return [refusal for decision in self.decisions for refusal in decision.refused]

    @property
    def error(self) -> LabError | None:
        """The first refusal, for those that count on all being well."""
        if not self.refused:
            return None
        first, more = self.refused[0].error, len(self.refused) - 1
        return type(first)(first.message + (f" (and {more} more refused)" if more else ""), first.hint)

    @property
    def data(self) -> dict[str, Any]:
        return {
            "at": self.at.isoformat(timespec="milliseconds"),
            "dry_run": self.dry_run,
            "groups": [asdict(decision) for decision in self.decisions],
        }

    def line(self) -> str:
        writes = sum(len(d.writes) for d in self.decisions)
        unchanged = sum(len(d.unchanged) for d in self.decisions)
        did = "would write" if self.dry_run else "wrote"
        return f"{self.at:%H:%M:%SZ}  {did} {writes}, unchanged {unchanged}, refused {len(self.refused)}"

    def rows(self) -> list[tuple[object, ...]]:
        """One per partition, or per group of which all was refused."""
        rows: list[tuple[object, ...]] = []
        for d in self.decisions:
            rows += [
                (d.group, f"{w.topic}/{w.partition}", w.upstream, w.before, w.offset,
                 "would be written" if self.dry_run else "written")
                for w in d.writes
            ]  # fmt: skip
            rows += [(d.group, f"{t}/{p}", "", "", "", "as the checkpoint says") for t, p in d.unchanged]
            rows += [
                (d.group, "" if r.topic is None else f"{r.topic}/{r.partition}", "", "", "",
                 f"refused: {r.why}")
                for r in d.refused
            ]  # fmt: skip
        return rows


def _end(done: _Round, *, as_json: bool) -> None:
    """One round's result, and the exit code of its first refusal."""
    title = "Group offsets that would be written" if done.dry_run else "Group offsets"
    console.show(
        done.data,
        as_json=as_json,
        text=lambda: console.table(title, _COLUMNS, done.rows(), empty="nothing to write"),
        error=done.error,
    )


def _again(sync: GroupSync, interval_s: float, for_s: float | None, *, dry_run: bool, as_json: bool) -> None:
    """Until Ctrl-C or for a while. What is refused in one round may be written in the next.

    A cluster that goes away meanwhile is waited for, and ends the command if it did not come back.
    """
    rounds: list[_Round] = []
    gone: ClusterError | None = None
    if for_s is None:
        console.suggest(
            "Ctrl-C", f"ends this; until then a round every {interval_s:g} s; --once for one round"
        )
    try:
        for number in every(interval_s, for_s=for_s):
            try:
                done, gone = _Round.of(sync, dry_run=dry_run, once=False), None
            except ClusterError as error:
                if not number:
                    raise
                gone = error
                console.complain(error, as_json=False)
                continue
            rounds = [*rounds, done] if as_json else [done]
            if not as_json:
                _tell(done)
    except KeyboardInterrupt as interruption:
        raise Interrupted(
            "syncing was interrupted", "what it told is written; start the group's consumers there now"
        ) from interruption
    data = {"rounds": [done.data for done in rounds]}
    console.show(data, as_json=as_json, text=lambda: None, error=gone or rounds[-1].error)


def _tell(done: _Round) -> None:
    console.line(done.line())
    for decision in done.decisions:
        for write in decision.writes:
            console.line(
                f"    {decision.group}  {write.topic}/{write.partition}  "
                f"{console.number(write.before)} → {write.offset:,}, as {write.upstream:,} on the source"
            )
        _tell_refused(decision.refused)


def _tell_refused(refused: Sequence[Refusal]) -> None:
    for refusal in refused:
        console.line(f"    refused: {refusal.message}; {refusal.remedy}")
