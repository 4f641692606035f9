"""What TLS and a password cost a flow: one MM2, one backlog, three ways of speaking to the brokers.

Both ends are one cluster, reached on its listener without TLS, with TLS, and with TLS and an API key. So the
brokers do the same work for each, and records are read and written in the way that is measured.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Final

from lab import topology
from lab.bench.measured import Effort, Measured
from lab.harness import Lab, Wish, bring_down
from lab.topology import MM2_PROPERTIES
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, NotYet, wait_until
from lab.workload import Plan, produce

TOPOLOGY: Final = "dedicated-tls"
PLAINTEXT, TLS, SASL_SSL = "PLAINTEXT", "TLS", "SASL_SSL"
_LISTENERS: Final = {PLAINTEXT: "INTERNAL", TLS: "TLS", SASL_SSL: "SASL"}
_NAME, _NODE, _TOPIC, _TARGET = "bench-tls", "mirror-maker", "bench", "local"
_RECORDS: Final = 1_000_000
_SIZE_BYTES: Final = 200
_TASKS: Final = 4
_SECRETS: Final = "/run/secrets/secrets.properties"
_TRUST: Final = {
    "ssl.truststore.location": "/home/truststore.jks",
    "ssl.truststore.password": f"${{file:{_SECRETS}:truststore.password}}",
}
_LOGIN: Final = {
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="token" password="${{file:{_SECRETS}:api.key}}";',
}
_SECURITY: Final[Mapping[str, Mapping[str, str]]] = {
    PLAINTEXT: {},
    TLS: {"security.protocol": "SSL", **_TRUST},
    SASL_SSL: {"security.protocol": "SASL_SSL", **_TRUST, **_LOGIN},
}


def measure(effort: Effort, say: Callable[[str], None]) -> Measured:
    """Turn by turn; each round has an alias of its own, and so begins at the first record."""
    records = effort.records or _RECORDS
    seconds: dict[str, list[float]] = {TLS: [], PLAINTEXT: [], SASL_SSL: []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mm2.properties"
        Path(folder).chmod(0o755)  # a container's user reads it
        path.write_text(_properties("first", PLAINTEXT))
        Lab.up(Wish(topology=TOPOLOGY, name=_NAME, variables={MM2_PROPERTIES: str(path)})).close()
        try:
            lab = Lab.attach(_NAME)
            lab.target.create_topic(_TOPIC, partitions=_TASKS)
            say(f"write {records:,} records")
            produce(
                lab.target, _TOPIC, Plan(run="bench", records=records, size_bytes=_SIZE_BYTES), lambda _: None
            )
            for number in range(effort.rounds):
                for contestant, its in seconds.items():
                    say(f"round {number + 1} of {effort.rounds}: {contestant}")
                    alias = f"{contestant.lower().replace('_', '-')}-{number}"
                    its.append(_round(lab, path, alias, contestant, records))
        finally:
            bring_down(_NAME)
    middle = {name: median(its) for name, its in seconds.items()}
    return Measured(
        title=f"MM2 mirrors {records:,} records of {_SIZE_BYTES} bytes, first to last",
        ours=TLS,
        theirs=PLAINTEXT,
        seconds=seconds,
        also={
            **{f"records/s with {name}": records / took_s for name, took_s in middle.items()},
            "SASL_SSL / PLAINTEXT": middle[SASL_SSL] / middle[PLAINTEXT],
        },
    )


def _round(lab: Lab, path: Path, alias: str, contestant: str, records: int) -> float:
    """The JVM's start does not count: from the first record on the target to the last."""
    lab.project.stop(_NODE)
    path.write_text(_properties(alias, contestant))  # the same file: it is the file that is mounted
    lab.project.start(_NODE, timeout_s=SERVICES_HEALTHY_S)
    remote = f"{alias}.{_TOPIC}"
    lab.target.wait_for_records(remote, at_least=1, timeout_s=RECORDS_ARRIVE_S)
    begin = time.monotonic()

    def observe() -> bool | NotYet:
        there = sum(offsets.end for offsets in lab.target.offsets(remote).values())
        return there >= records or NotYet(f"{there} of {records} records")

    wait_until(observe, timeout_s=10 * RECORDS_ARRIVE_S, what=f"all records in {remote}", pause_s=0.05)
    return time.monotonic() - begin


def _properties(alias: str, contestant: str) -> str:
    listener = _LISTENERS[contestant]
    bootstrap = topology.load(TOPOLOGY).bootstrap("target", listener=listener, ports={})
    lines = {
        "clusters": f"{alias}, {_TARGET}",
        **{
            f"{cluster}.{key}": value
            for cluster in (alias, _TARGET)
            for key, value in {"bootstrap.servers": bootstrap, **_SECURITY[contestant]}.items()
        },
        f"{alias}->{_TARGET}.enabled": "true",
        f"{alias}->{_TARGET}.topics": _TOPIC,
        "tasks.max": str(_TASKS),
        "replication.factor": "1",
        "emit.heartbeats.enabled": "false",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())
