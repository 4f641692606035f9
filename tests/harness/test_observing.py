"""What a run saves of a lab is what a diagnosis later reads, and holds nobody's secrets."""

import json
from pathlib import Path

import pytest

from lab.diagnose import diagnose
from lab.errors import BadInput
from lab.harness import observing
from lab.harness.observing import read_logs, read_run
from tests.diagnose import seen

STARTED, ENDED = "2026-11-19T02:00:00.5Z", "0001-01-01T00:00:00Z"
LOG = """\
2026-11-19T01:59:00.0Z Terminating due to java.lang.OutOfMemoryError: Java heap space
2026-11-19T02:00:01.0Z [2026-11-19 02:00:01,001] INFO Kafka Connect started (o.a.k.c.Connect)
2026-11-19T02:10:00.0Z [2026-11-19 02:10:00,001] INFO [a|task-0] Committing (o.a.k.c.Worker)
"""


def box(service: str = "connect", image: str = "mirror-lab/kafka:3.9.1", status: str = "running") -> object:
    return {
        "Name": f"/{service}",
        "State": {
            "Status": status,
            "ExitCode": 0,
            "OOMKilled": False,
            "StartedAt": STARTED,
            "FinishedAt": ENDED if status == "running" else "2026-11-19T02:10:30Z",
        },
        "Config": {"Image": image, "Cmd": ["connect"], "Labels": {"com.docker.compose.service": service}},
        "HostConfig": {"Memory": 2**30},
    }


def run(folder: Path, *, observation: object = None, log: str = LOG) -> Path:
    (folder / "logs").mkdir()
    (folder / "logs/connect.log").write_text(log)
    (folder / "containers.json").write_text(json.dumps([box(), box("spark", "mirror-lab/spark:4.0.0")]))
    if observation is not None:
        (folder / observing.SAVED).write_text(json.dumps(observation))
    return folder


def test_what_was_saved_is_read_again(tmp_path: Path) -> None:
    was = seen.lab(seen.connector(**{"replication.factor": "3"}))

    found = read_run(run(tmp_path, observation=observing.saved(was)))

    assert (found.deployed, found.clusters, found.up) == (was.deployed, was.clusters, was.up)
    assert [finding.rule for finding in diagnose(found)] == ["replication_factor"]
    assert {service.name: service.kind for service in found.services} == {
        "connect": "connect",
        "spark": "other",
    }


def test_only_what_was_logged_since_the_last_start_counts(tmp_path: Path) -> None:
    (service, _) = read_run(run(tmp_path)).services

    assert [entry.text.partition(" (")[0] for entry in service.entries] == [
        "Kafka Connect started",
        "Committing",
    ]
    assert service.until == service.entries[-1].at


def test_nobody_s_secrets_are_saved() -> None:
    plain, referred = "guess-me", "${file:/run/secrets/x:y}"
    was = seen.lab(
        seen.connector(
            **{"source.cluster.sasl.jaas.config": plain, "source.cluster.ssl.truststore.password": referred}
        ),
        properties={"source.sasl.jaas.config": plain, "clusters": "a, b"},
    )

    told = json.dumps(observing.saved(was))

    assert plain not in told
    assert referred in told
    assert told.count(observing.HIDDEN) == 2


def test_a_run_without_evidence_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds nothing to diagnose"):
        read_run(tmp_path)


def test_a_log_alone_can_be_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "mm2.log"
    path.write_text("mkdir: cannot create directory '/opt/logs': Permission denied\n")

    assert [finding.rule for finding in diagnose(read_logs([path]))] == ["log_directory"]
    with pytest.raises(BadInput, match="No such file"):
        read_logs([tmp_path / "none.log"])
