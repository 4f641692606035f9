"""topics, produce, consume: records in and out of a lab's clusters."""

import re
import secrets
from typing import Annotated

import typer

from lab.cli import console
from lab.cli.options import Json, Name
from lab.errors import BadInput, LabError
from lab.harness import Lab
from lab.kafka import Record
from lab.workload import Plan, Tally, produce

Alias = Annotated[
    str | None, typer.Option("--cluster", metavar="ALIAS", help="The cluster, by its MM2 alias.")
]
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")


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
            "records": t.count,
        }
        for alias, t in found
    ]
    rows = [(alias, t.name, t.partitions, t.replicas, t.count) for alias, t in found]
    console.show(
        {"topics": data},
        as_json=json,
        text=lambda: console.table(
            "Topics", ("cluster", "topic", "partitions", "replicas", "records"), rows, empty="none"
        ),
    )


def produce_(
    topic: Annotated[str, typer.Argument(help="The topic; created with one partition if it is not there.")],
    records: Annotated[int | None, typer.Option(min=1, help="How many records.")] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="For how long, e.g. 30s.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0.01, help="Records per second; as fast as it goes if not given.")
    ] = None,
    size: Annotated[int, typer.Option(min=1, max=10_000_000, help="Bytes of each value.")] = 100,
    keys: Annotated[int, typer.Option(min=0, help="How many different keys; 0 for none.")] = 0,
    headers: Annotated[
        bool, typer.Option("--headers", help="Carry the record's id in a header too.")
    ] = False,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of a topic that is created.")] = 1,
    cluster: Alias = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Write numbered records and say how many were acked. Without --records or --for: 1,000 records."""
    lab = Lab.attach(name)
    where = lab.cluster(cluster or next(iter(lab.topology.roles.clusters)))
    seconds = _seconds(duration) if duration else None
    if records is None and seconds is None:
        records = 1_000
    if not where.has_topic(topic):
        where.create_topic(topic, partitions=partitions)
    plan = Plan(
        run=secrets.token_hex(4),
        records=records,
        seconds=seconds,
        rate_per_s=rate,
        size_bytes=size,
        keys=keys,
        headers=headers,
    )
    with console.progress(f'produce to "{topic}" of {where.alias}', records) as on_progress:
        tally = produce(where, topic, plan, lambda t: on_progress(t.acked))
    data = {"cluster": where.alias, "topic": topic, "run": plan.run, **_counts(tally)}

    def text() -> None:
        per_s = tally.acked / tally.seconds if tally.seconds else 0
        console.line(
            f"run {plan.run}: {tally.acked:,} of {tally.sent:,} records acked by {where.alias} "
            f"in {tally.seconds:.1f} s ({per_s:,.0f}/s), {tally.failed:,} failed, {tally.unknown:,} unknown"
        )

    console.show(data, as_json=json, text=text)
    if tally.acked < tally.sent:
        raise LabError(
            f"{tally.sent - tally.acked} records were not acked", tally.first_error or 'see "lab status"'
        )


def _counts(tally: Tally) -> dict[str, float]:
    return {
        "sent": tally.sent,
        "acked": tally.acked,
        "failed": tally.failed,
        "unknown": tally.unknown,
        "seconds": round(tally.seconds, 3),
    }


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise BadInput(f'"{text}" is not a duration', "a positive number with s, m or h, e.g. 90s")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2] or "s"]


def consume(
    topic: Annotated[str, typer.Argument(help="The topic to read.")],
    cluster: Alias = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="Only what comes from now on, until Ctrl-C.")
    ] = False,
    limit: Annotated[int | None, typer.Option("--max", min=1, help="Stop after so many records.")] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Print a topic's records: those that are there, or with --latest those that come."""
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
    raise BadInput(
        f'clusters {" and ".join(holders)} both have a topic "{topic}"', "choose one with --cluster"
    )


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
