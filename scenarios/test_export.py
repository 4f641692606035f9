"""A flow that runs is had in the words of Kubernetes, and what is had does the same.

Claim: of a dedicated MM2 that runs, `lab mm2 export` writes what its workers were given. Strimzi's and
Kubernetes' own API classes take every form of it, without a problem; put one unknown field into any mapping
of it, or something of another type into any place, and they refuse it. An exported properties file starts
MM2, which goes on where it was: a record that is produced then arrives, and none a second time. No form but
the file of --secret has a secret in it.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab import api_check, security
from lab.client_properties import parse
from lab.export import documents, kubernetes, properties, strimzi
from lab.export.clusters import by_reference
from lab.export.meaning import differing
from lab.harness import Lab
from lab.harness.exporting import running_flow
from lab.mm2 import Connector
from lab.producing import Producing
from lab.run import Run
from lab.security.files import CLIENTS
from lab.wait import CONNECTOR_RUNS_S, RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import Plan
from scenarios.commands import lab_command
from scenarios.dedicated import DEFAULT, FILES, start_with, wait_until_committed
from scenarios.mutants import Mutant, unknown_fields, wrong_types

pytestmark = pytest.mark.topology("dedicated-tls")

TOPIC, REMOTE = "orders", "source.orders"  # the file's topic; it is gone when the lab is restored
FORMS = ("--configmap", "--pod", "--strimzi")


@pytest.fixture(scope="module")
def running(lab: Lab) -> Iterator[Lab]:
    """Both clusters ask for TLS, and the source for an API key too."""
    start_with(lab, FILES / "es-to-strimzi.properties")
    lab.source.create_topic(TOPIC, partitions=2)
    yield lab
    start_with(lab, DEFAULT)


@pytest.fixture(scope="module")
def exported(running: Lab, tmp_path_factory: pytest.TempPathFactory) -> list[documents.Document]:
    """Everything that Kubernetes takes, in one stream."""
    path = tmp_path_factory.mktemp("export") / "all.yaml"
    done = lab_command(
        "mm2", "export", *FORMS, "--secret", "--check", "--output", str(path), "--name", running.name
    )
    assert (done.code, done.out) == (0, ""), done.err
    return documents.read(path.read_text())


def of_kind(found: Sequence[documents.Document], *kinds: str) -> list[documents.Document]:
    return [document for document in found if document["kind"] in kinds]


def test_the_flow_is_what_the_workers_were_given(running: Lab) -> None:
    flow = running_flow(running, None)

    def given() -> list[Connector] | NotYet:
        """The way back is a worker of its own, which may start later."""
        found = [c for pair in running.dedicated.flows for c in running.dedicated.configs(pair)]
        return found if len(found) == 6 else NotYet(f"{len(found)} connectors have a config")

    configs = wait_until(given, timeout_s=CONNECTOR_RUNS_S, what="both workers have three connectors")
    assert len(flow.connectors) == 4  # three forth, and the heartbeats back; the other two are switched off
    assert differing(flow.connectors, configs) == []


def test_every_form_reads_back_as_that_flow(running: Lab, exported: list[documents.Document]) -> None:
    flow = running_flow(running, None).connectors
    resources = of_kind(exported, strimzi.KIND)

    assert [r["metadata"]["name"].removeprefix(running.name) for r in resources] == [
        "-to-target",
        "-to-source",
    ]
    assert differing(map(by_reference, flow), map(by_reference, strimzi.read(resources))) == []
    assert differing(flow, kubernetes.read(of_kind(exported, "ConfigMap", "Pod"))) == []


def test_no_form_but_secrets_has_a_secret(running: Lab, exported: list[documents.Document]) -> None:
    known = parse((security.folder(running.name) / CLIENTS / "secrets.properties").read_text())
    done = lab_command("mm2", "export", *FORMS, "--name", running.name)
    plain = lab_command("mm2", "export", "--properties", "--name", running.name)

    assert (done.code, plain.code) == (0, 0)
    assert known["api.key"] in documents.write(of_kind(exported, "Secret"))
    for secret in known.values():
        assert secret not in done.out + done.err + plain.out + plain.err
    assert lab_command("mm2", "export", "--secret", "--name", running.name).code == 2


def test_an_exported_file_runs_and_goes_on(running: Lab, run: Run, tmp_path: Path) -> None:
    with Producing(running.source, TOPIC, Plan(run="before", records=100), run.path) as producing:
        assert producing.wait().acked == 100
    running.target.wait_for_records(REMOTE, at_least=100, timeout_s=RECORDS_ARRIVE_S)
    wait_until_committed(running, TOPIC)
    path = tmp_path / "exported.properties"
    path.write_text(lab_command("mm2", "export", "--properties", "--name", running.name).out)
    path.chmod(0o644)  # a container's user reads it

    start_with(running, path)
    with Producing(running.source, TOPIC, Plan(run="after", records=1), run.path) as producing:
        assert producing.wait().acked == 1

    assert running.target.wait_for_records(REMOTE, at_least=101, timeout_s=RECORDS_ARRIVE_S) == 101
    assert differing(properties.read(path.read_text()), running_flow(running, None).connectors) == []


@pytest.mark.parametrize("mistakes", [unknown_fields, wrong_types])
def test_a_mistake_is_refused_at_every_level(
    exported: list[documents.Document], mistakes: Callable[[documents.Document], Iterator[Mutant]]
) -> None:
    mutants = [mutant for document in exported for mutant in mistakes(document)]
    found = [line.split(": ") for line in api_check.problems(documents.write([m.document for m in mutants]))]

    refused = {int(number): place for number, place, *_ in found}
    assert len(mutants) > 50
    assert [m.place for n, m in enumerate(mutants, 1) if n not in refused] == []
    if mistakes is unknown_fields:  # and nothing else is said against it
        assert [place for _, place, _ in found] == [mutant.place for mutant in mutants]


def test_what_is_no_resource_of_strimzi_is_refused(exported: list[documents.Document]) -> None:
    def wrong(change: Callable[[Any], object]) -> documents.Document:
        document = copy.deepcopy(of_kind(exported, strimzi.KIND)[0])
        change(document)
        return document

    def connector(document: Any) -> Any:
        return document["spec"]["mirrors"][0]["sourceConnector"]

    def source(document: Any) -> Any:
        return document["spec"]["clusters"][0]

    changes: dict[str, Callable[[Any], object]] = {
        "apiVersion: not kafka.strimzi.io/v1beta2": lambda d: d.pop("apiVersion"),
        "metadata.name: not of the form": lambda d: d["metadata"].update(name="My_Name"),
        "spec.connectCluster: no cluster has this alias": lambda d: d["spec"].update(connectCluster="targt"),
        "spec.mirrors[0].targetCluster: not the connectCluster": lambda d: d["spec"]["mirrors"][0].update(
            targetCluster="source"
        ),
        "spec.clusters[0].alias: not of the form": lambda d: source(d).update(alias="the source"),
        "spec.clusters[0].bootstrapServers: is missing": lambda d: source(d).pop("bootstrapServers"),
        "spec.clusters[0].authentication: not what": lambda d: source(d)["authentication"].update(
            type="plane"
        ),
        "spec.clusters[0].config.ssl.provider: the operator forbids it": lambda d: source(d)["config"].update(
            {"ssl.provider": "x"}
        ),
        "spec.mirrors[0].sourceConnector.state: no such value": lambda d: connector(d).update(state="runing"),
        "spec.mirrors[0].sourceConnector.tasksMax: less than 1": lambda d: connector(d).update(tasksMax=0),
        "spec.mirrors[0].sourceConnector.config.name: the operator": lambda d: connector(d)["config"].update(
            name="x"
        ),
    }
    twice = "---\nkind: Pod\nkind: Pod\n"

    found = api_check.problems(documents.write([wrong(change) for change in changes.values()]) + twice)

    for number, problem in enumerate(changes, 1):
        assert any(line.startswith(f"{number}: {problem}") for line in found), (problem, found)
    assert any("a key that stands twice" in line for line in found)
