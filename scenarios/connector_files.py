"""Connector files of a scenario, as a user keeps them: JSON, edited and deployed by the command."""

import json
from pathlib import Path

from lab.harness import Lab
from scenarios.commands import Done, lab_command

SOURCE, TARGET = "source-0", "target-0"
MSC, CPC, HBC = (f"mm2-{kind}-{SOURCE}" for kind in ("msc", "cpc", "hbc"))


def write(folder: Path, lab: Lab, like: str, name: str, **changes: str | None) -> str:
    """A file like the topology's, with a name and some keys of its own."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"name": name, **lab.connector(like, **changes).config}))
    return str(path)


def mm2(lab: Lab, *arguments: str) -> Done:
    return lab_command("mm2", *arguments, "--name", lab.name)


def write_records(lab: Lab, topic: str, count: int, *, partitions: int = 1, size_bytes: int = 10) -> None:
    """Into so many partitions alike; a broker that is asked may not know of a new one yet."""
    producer = lab.cluster(SOURCE).producer()
    errors: list[object] = []
    for number in range(count):
        value = f"{number}".encode().ljust(size_bytes, b".")
        producer.produce(
            topic,
            value=value,
            partition=number % partitions,
            on_delivery=lambda error, _: errors.append(error),
        )
    producer.flush()
    assert errors == [None] * count


def count(lab: Lab, alias: str, topic: str) -> int:
    return sum(offsets.count for offsets in lab.cluster(alias).offsets(topic).values())
