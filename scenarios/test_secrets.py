"""No secret of a lab is seen where it is not needed.

Claim: the API key, the trust store's password and the private keys of a secured lab stand in files that one
user may read, and nowhere else: on no command line and in no environment, neither of this host nor in a
container, not in what the engine tells of containers, in no log, in no answer of Prometheus or the lab's
exporter, not in MM2's own topics, in nothing that `lab` prints, in no run's evidence and in no ledger. The
same search finds what is planted in each of these places.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from lab import engine, harness, security
from lab.client_properties import parse
from lab.harness import Lab
from lab.producing import Producing
from lab.run import Run
from lab.security.files import CLIENTS
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S
from lab.workload import Plan
from scenarios.commands import lab_command
from scenarios.dedicated import DEFAULT, FILES, start_with

pytestmark = pytest.mark.topology("dedicated-tls")

TOPIC, REMOTE = "orders", "source.orders"  # the file's topic; it is gone when the lab is restored
CANARY = "canary-5f0e9d71"
PROCESSES = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"
FORMS = ("strimzi", "configmap", "pod", "properties")
Place = Callable[[], str]


@pytest.fixture(scope="module")
def used(lab: Lab, run: Run) -> Iterator[Lab]:
    """A lab in which every secret has been used: by brokers, MM2, a producer, Spark, a tool."""
    start_with(lab, FILES / "es-to-strimzi.properties")
    lab.source.create_topic(TOPIC, partitions=2)
    with Producing(lab.source, TOPIC, Plan(run="secrets", records=500), run.path) as producing:
        assert producing.wait().acked == 500
    lab.target.wait_for_records(REMOTE, at_least=500, timeout_s=RECORDS_ARRIVE_S)
    assert lab.verify(TOPIC).outcome is Outcome.PASS
    tool = "kafka-topics.sh --bootstrap-server source-1:9093 --list"
    assert TOPIC in lab.shell("mirror-maker", f"{tool} --command-config /run/secrets/source-sasl.properties")
    yield lab
    start_with(lab, DEFAULT)


def places(lab: Lab, run: Run) -> Mapping[str, Place]:
    """Where a secret might be seen, by name."""
    services = [box.service for box in lab.containers()]
    return {
        "processes of this host": host_processes,
        **{f"processes of {name}": partial(lab.shell, name, PROCESSES) for name in services},
        "what the engine tells": lambda: json.dumps(engine.inspect([box.id for box in lab.containers()])),
        "the Compose file as rendered": lab.project.rendered,
        "logs": lab.project.logs,
        "topics of MM2": lambda: "".join(mm2_topics(lab)),
        "the exporter": lambda: ask(lab, "exporter", "/metrics"),
        "Prometheus": lambda: ask(lab, "prometheus", "/api/v1/status/config", "/api/v1/targets"),
        "lab status": lambda: lab_command("status", "--json", "--name", lab.name).out,
        "lab mm2 status": lambda: lab_command("mm2", "status", "--json", "--name", lab.name).out,
        "lab diagnose": lambda: lab_command("diagnose", "--json", "--name", lab.name).out,
        **{f"lab mm2 export --{form}": partial(exported, lab, form) for form in FORMS},
        "evidence": lambda: evidence(lab, run),
    }


def host_processes() -> str:
    texts = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # one that has ended meanwhile
            texts.append(path.read_bytes())
    return b"".join(texts).decode(errors="replace")


def mm2_topics(lab: Lab) -> Iterator[str]:
    for cluster in (lab.source, lab.target):
        for topic in cluster.topic_names():
            if topic.startswith("mm2-"):
                for record in cluster.snapshot(topic):
                    yield ((record.key or b"") + (record.value or b"")).decode(errors="replace")


def ask(lab: Lab, service: str, *paths: str) -> str:
    return "".join(
        httpx.get(f"http://{lab.address(service)}{path}").raise_for_status().text for path in paths
    )


def exported(lab: Lab, form: str) -> str:
    return lab_command("mm2", "export", f"--{form}", "--json", "--name", lab.name).out


def evidence(lab: Lab, run: Run) -> str:
    harness.save_evidence(lab, run)
    files = (path for path in run.path.rglob("*") if path.is_file())
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


def secrets_of(lab: Lab) -> dict[str, str]:
    place = security.folder(lab.name)
    known = parse((place / CLIENTS / "secrets.properties").read_text())
    for path in (place / "ca.key", *place.glob("*/keystore.pem")):
        # any line of a key's body; the authority's key is in no container at all
        known[f"{path.parent.name}/{path.name}"] = path.read_text().splitlines()[1]
    return known


def test_no_secret_is_seen(used: Lab, run: Run) -> None:
    wanted = secrets_of(used)
    assert {"api.key", "truststore.password", "security/ca.key", "source-1/keystore.pem"} <= wanted.keys()
    seen = {name: place() for name, place in places(used, run).items()}
    assert [name for name, text in seen.items() if not text] == []
    hits = [
        (secret, name) for name, text in seen.items() for secret, value in wanted.items() if value in text
    ]
    assert hits == []


def test_the_same_search_finds_what_is_planted(used: Lab, run: Run) -> None:
    with planted(used, run):
        seen = {name: place() for name, place in places(used, run).items()}
    found = {name for name, text in seen.items() if CANARY in text}
    assert {
        "processes of this host",
        "processes of mirror-maker",
        "logs",
        "topics of MM2",
        "evidence",
    } <= found
    # Of what nothing can be planted in without another lab: it tells what the lab's own files say.
    known = {
        "what the engine tells": "LAB_MM2_PROPERTIES",
        "the Compose file as rendered": "KAFKA_SSL_KEYSTORE_LOCATION",
        "the exporter": "mirror_lab",
        "Prometheus": "mirror-maker:9404",
        "lab status": "source-1",
        "lab mm2 status": "MirrorSourceConnector",
        "lab diagnose": "looked_at",
        **{f"lab mm2 export --{form}": "secrets" for form in FORMS},
    }
    assert {name: text in seen[name] for name, text in known.items()} == dict.fromkeys(known, True)


@contextmanager
def planted(lab: Lab, run: Run) -> Iterator[None]:
    lab.shell("mirror-maker", f"echo {CANARY} >/proc/1/fd/1")
    run.save("canary.txt", CANARY)
    producer = lab.target.producer()
    producer.produce(lab.dedicated.flows[0].offsets_topic, key=b"canary", value=json.dumps(CANARY))
    assert producer.flush(30) == 0
    # two commands, or the shell would become the first and its own command line be gone
    with lab.shell_in_background("mirror-maker", f"CANARY={CANARY} sleep 300; true"):
        yield


def test_files_are_readable_by_one_user(used: Lab) -> None:
    """In the lab's folder and in the container, where the process is not root."""
    place = security.folder(used.name)
    assert {path.stat().st_mode & 0o077 for path in place.rglob("*")} == {0}
    told = used.shell("source-1", "id -u; stat -c %u:%a /run/secrets/*").split()
    assert told[0] != "0"
    assert set(told[1:]) == {f"{told[0]}:600"}
