"""topics, produce, consume: records in and out of a lab's clusters."""

import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from lab.cli import console
from lab.cli.options import Json, Name, seconds
from lab.errors import BadInput, Interrupted, LabError
from lab.harness import Lab
from lab.kafka import BROKERS_DEFAULT, Cluster, Record, Topic
from lab.records import COMPRESSIONS, Plan, Tally
from lab.run import Run
from lab.words import counted

Alias = Annotated[
    str | None, typer.Option("--cluster", metavar="ALIAS", help="The cluster, by its MM2 alias.")
]


def register(app: typer.Typer) -> None:
    app.command("topics")(topics)
    app.command("produce")(produce_)
    app.command("consume")(consume)


def topics(
    cluster: Alias = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Also those of Kafka, Connect and MM2.")
    ] = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """List topics with partitions, replicas, and offsets from start to end."""
    lab = Lab.attach(name)
    aliases = [cluster] if cluster else list(lab.topology.roles.clusters)
    found = [
        (alias, t) for alias in aliases for t in lab.cluster(alias).topics() if internal or not t.internal
    ]
    data = [
        {
            "cluster": alias,
            "topic": t.name,
            "partitions": [{"partition": p, "start": o.start, "end": o.end} for p, o in t.offsets.items()],
            "replicas": t.replicas,
            "leaderless": t.leaderless,
            "records": t.count,
        }
        for alias, t in found
    ]
    rows = [(alias, t.name, t.partitions, t.replicas, t.count) for alias, t in found]

    def text() -> None:
        columns = ("cluster", "topic", "partitions", "replicas", "records")
        console.table("Topics", columns, rows, empty="none")
        leaderless(t for _, t in found)

    console.show({"topics": data}, as_json=json, text=text)


def leaderless(found: Iterable[Topic]) -> None:
    """Whose records are not all counted."""
    for topic in found:
        if topic.leaderless:
            which = counted(topic.leaderless, "partition")
            console.line(f"{topic.name}: {which} without a leader, whose records nobody can count")


def produce_(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic; created if it is not there.")],
    records: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many records.")] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="For how long, e.g. 30s.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Records per second; as fast as it goes if not given."),
    ] = None,
    size: Annotated[int, typer.Option(metavar="BYTES", help="Bytes of each value.")] = 100,
    keys: Annotated[int, typer.Option(min=0, metavar="N", help="How many different keys; 0 for none.")] = 0,
    seed: Annotated[int | None, typer.Option(metavar="SEED", help="Makes the same keys again.")] = None,
    headers: Annotated[
        bool, typer.Option("--headers", help="Also headers that are doubled, empty, null and binary.")
    ] = False,
    transactions: Annotated[
        bool, typer.Option("--transactions", help="100 records each; every fifth is aborted.")
    ] = False,
    compression: Annotated[
        str, typer.Option(metavar="CODEC", help=f"One of: {', '.join(COMPRESSIONS)}.")
    ] = "none",
    tombstones: Annotated[
        bool, typer.Option("--tombstones", help="With --keys: every tenth record deletes its key.")
    ] = False,
    partitions: Annotated[
        int, typer.Option(min=1, metavar="N", help="Partitions of a topic that is created.")
    ] = 1,
    cluster: Alias = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Write numbered records, and a ledger of what became of each. Without --records or --for: 1,000."""
    plan = Plan(
        run=secrets.token_hex(4),
        records=1_000 if records is None and duration is None else records,
        seconds=None if duration is None else seconds(duration),
        rate_per_s=rate,
        size_bytes=size,
        keys=keys,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        headers=headers,
        transaction_size=100 if transactions else 0,
        compression=compression,
        tombstones=tombstones,
    )
    lab = Lab.attach(name)
    lab.topology.require_writable("producing")
    where = lab.cluster(cluster) if cluster else lab.source
    if not where.has_topic(topic):
        # With fewer than the brokers' own default, they might ask for more replicas in sync than there are.
        where.create_topic(topic, partitions=partitions, replicas=BROKERS_DEFAULT)
    done = _produced(where, topic, plan)
    console.show(done.data, as_json=json, text=lambda: console.line(done.text), error=done.error)


@dataclass(frozen=True, kw_only=True)
class _Done:
    data: dict[str, object]
    text: str
    error: LabError | None


def _produced(where: Cluster, topic: str, plan: Plan) -> _Done:
    """Go through the plan in a run of its own; Ctrl-C ends it early, with all its counts."""
    from lab.producing import Producing  # loads Arrow for the ledger, which other commands do not need

    run = Run.open(f"produce-{topic}", cluster=where.alias, topic=topic, plan=asdict(plan))
    interrupted = False
    producing = Producing(where, topic, plan, run.path)
    try:
        with (
            console.progress(f'produce to "{topic}" of {where.alias}', plan.records) as on_progress,
            producing,
        ):
            producing.wait(lambda tally: on_progress(tally.acked))
    except KeyboardInterrupt:
        interrupted = True
    except BaseException as error:
        run.close(f"failed: {error}")
        raise
    tally = producing.tally
    short = _shortcoming(tally, interrupted=interrupted)
    run.close("produced" if short is None else short.message, **_counts(tally))
    data: dict[str, object] = {
        "cluster": where.alias,
        "topic": topic,
        "run": plan.run,
        "seed": plan.seed,
        **_counts(tally),
        "ledger": str(producing.path),
        "folder": str(run.path),
    }
    per_s = tally.acked / tally.seconds if tally.seconds else 0
    text = (
        f"run {plan.run}, seed {plan.seed}: {tally.acked:,} of {tally.sent:,} records acked by {where.alias} "
        f"in {tally.seconds:.1f} s ({per_s:,.0f}/s), {tally.failed:,} failed, {tally.unknown:,} unknown\n"
        f"ledger: {producing.path}"
    )
    return _Done(data=data, text=text, error=short)


def _shortcoming(tally: Tally, *, interrupted: bool) -> LabError | None:
    if interrupted:
        return Interrupted(
            "producing was interrupted", "what was sent is flushed, and the ledger is complete"
        )
    if tally.acked < tally.sent:
        missing = f"not acked: {counted(tally.sent - tally.acked, 'record')}"
        return LabError(missing, tally.first_error or 'see "lab status"')
    return None


def _counts(tally: Tally) -> dict[str, float]:
    return {
        "sent": tally.sent,
        "acked": tally.acked,
        "failed": tally.failed,
        "unknown": tally.unknown,
        "seconds": round(tally.seconds, 3),
    }


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to read.")],
    cluster: Alias = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="Only what comes from now on, until Ctrl-C.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Stop after so many records.")
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Print a topic's records: those that are there, or with --latest those that come."""
    if json and latest and limit is None:
        raise BadInput("--latest with --json needs --max", "one object has an end, e.g. --max 100")
    lab = Lab.attach(name)
    where = lab.cluster(cluster or _holder(lab, topic))
    found = []
    for record in where.read(topic, from_start=not latest, idle_s=None if latest else 1.0):
        if json:
            found.append(_row(record))
        else:
            console.line(_line(record))
        limit = None if limit is None else limit - 1
        if limit == 0:
            break
    if json:
        console.show(
            {"cluster": where.alias, "topic": topic, "records": found}, as_json=True, text=lambda: None
        )


def _holder(lab: Lab, topic: str) -> str:
    """The cluster that has the topic, if only one does."""
    holders = [alias for alias in lab.topology.roles.clusters if lab.cluster(alias).has_topic(topic)]
    if len(holders) == 1:
        return holders[0]
    if not holders:
        raise BadInput(f'no cluster has a topic "{topic}"', '"lab topics" lists them')
    raise BadInput(f'clusters {", ".join(holders)} each have a topic "{topic}"', "choose one with --cluster")


def _row(record: Record) -> dict[str, object]:
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [[key, _text(value)] for key, value in record.headers],
    }


def _line(record: Record) -> str:
    headers = " ".join(f"{key}={_text(value)}" for key, value in record.headers)
    key = "" if record.key is None else f"{_text(record.key)}: "
    return f"{record.partition}/{record.offset}  {key}{_text(record.value)}" + (
        f"  [{headers}]" if headers else ""
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", errors="backslashreplace")
