"""Clusters that the lab did not start are judged by their addresses alone, and never changed.

Claim: a topology that names a running lab's EXTERNAL listeners shows the same topics and gives the same
verdict; what would change those clusters is refused; an address that Spark cannot reach is named.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab.harness import Lab
from lab.mm2 import BYTES_CONVERTER, Connector
from lab.producing import Producing
from lab.project import COMPOSE
from lab.records import Plan
from lab.wait import CLUSTER_ANSWERS_S, RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.commands import lab_command, objects_of

pytestmark = pytest.mark.topology("basic-mirror")

TOPIC, COUNT = "judged-by-address", 600

# Two verdicts take minutes where everything else runs too, and then they are asked for once more.
SECOND_LOOK_S = 600.0
TOPOLOGY = """\
x-lab:
  title: Another lab, known by its addresses
  teaches: Nothing
  clusters:
    source: {{external: {{bootstrap: "{source}", properties: client.properties}}}}
    target: {{external: {{bootstrap: "{target}"}}}}
  connect_url: {connect}
services:
  spark:
    extends: {{file: {fragments}/spark.yaml, service: {service}}}
    ports: ["127.0.0.1:${{SPARK_PORT:-15002}}:15002"]
networks:
  default: {{labels: {{io.mirror-lab: "true"}}}}
"""


def write(folder: Path, lab: Lab, service: str) -> Path:
    folder.mkdir()
    (folder / "client.properties").write_text("# as for Kafka's own tools\nclient.id = by-address\n")
    text = TOPOLOGY.format(
        source=lab.source.bootstrap,
        target=lab.target.bootstrap,
        connect=lab.connect.url,
        fragments=COMPOSE / "services",
        service=service,
    )
    (folder / "compose.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def mirrored(lab: Lab) -> str:
    assert lab.run is not None
    lab.source.create_topic(TOPIC, partitions=2)
    plan = Plan(run="0add7e55", records=COUNT, size_bytes=80)
    with Producing(lab.source, TOPIC, plan, lab.run.path / TOPIC) as producing:
        producing.wait()
    config = lab.connector("test_mirror", topics=TOPIC, **{"header.converter": BYTES_CONVERTER}).config
    connector = Connector(name=TOPIC, config=config)
    lab.deploy(connector)
    lab.target.wait_for_records(connector.remote_topic(TOPIC), at_least=COUNT, timeout_s=RECORDS_ARRIVE_S)
    return TOPIC


@pytest.fixture(scope="module")
def name(own: Callable[[str], str]) -> str:
    return own("by-address")


@pytest.fixture(scope="module")
def external(lab: Lab, mirrored: str, name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = write(tmp_path_factory.mktemp("external") / "known", lab, "spark-on-host-network")
    try:
        done = lab_command("up", str(folder), "--name", name)
        assert done.code == 0, done.err
        with closing(Lab.attach(name)) as known:
            yield known
    finally:
        assert lab_command("down", "--name", name).code == 0
        assert objects_of(name) == []


def test_nothing_but_spark_was_started(external: Lab) -> None:
    assert [box.service for box in external.containers()] == ["spark"]


def test_status_and_topics_are_those_of_the_other_lab(lab: Lab, external: Lab, mirrored: str) -> None:
    names = lab.name, external.name

    def alike() -> bool | NotYet:
        """A worker that writes its offsets between the two makes a difference of a record."""
        ours, theirs = (lab_command("status", "--name", n, "--json").json for n in names)
        if silent := {**theirs["not_answering"], **ours["not_answering"]}:
            return NotYet(f"not answering within seconds: {silent}")
        assert theirs["connectors"] == ours["connectors"] != []
        listed = [lab_command("topics", "--name", n, "--json").json["topics"] for n in names]
        assert mirrored in {topic["topic"] for topic in listed[1]}
        return (theirs["topics"] == ours["topics"] and listed[0] == listed[1]) or NotYet("they differ")

    wait_until(alike, timeout_s=60, what="both tell the same of topics")


def test_the_verdict_is_the_same(lab: Lab, external: Lab, mirrored: str) -> None:
    names = lab.name, external.name

    def alike() -> list[tuple[str, str, dict[str, int]]] | NotYet:
        """MM2 may write another offset sync between the two; with its next commit all are there."""
        ours, theirs = (lab_command("verify", mirrored, "--name", n, "--json") for n in names)
        assert theirs.code == ours.code == 0, theirs.out
        told = [[(v["check"], v["outcome"], v["counts"]) for v in d.json["verdicts"]] for d in (ours, theirs)]
        return told[1] if told[0] == told[1] else NotYet(f"they differ: {told}")

    told = wait_until(alike, timeout_s=SECOND_LOOK_S, what="both verdicts are the same")
    assert {check: counts for check, _, counts in told}["loss"]["owed"] == COUNT


def test_a_diagnosis_finds_nothing_there(external: Lab) -> None:
    def observe() -> bool | NotYet:  # one that does not answer within seconds is a finding
        done = lab_command("diagnose", "--name", external.name, "--json")
        fine = (done.code, done.json["findings"]) == (0, []) and done.json["looked_at"]["connectors"] > 0
        return fine or NotYet(done.out)

    wait_until(observe, timeout_s=CLUSTER_ANSWERS_S, what="a diagnosis that finds nothing", pause_s=1.0)


@pytest.mark.parametrize(
    "command",
    [
        ("produce", TOPIC, "--records", "1"),
        ("produce", "never-made"),
        ("mm2", "deploy", "test_mirror"),
        ("mm2", "undeploy", TOPIC),
    ],
    ids=" ".join,
)
def test_what_would_change_the_clusters_is_refused(
    lab: Lab, external: Lab, mirrored: str, command: tuple[str, ...]
) -> None:
    before = lab.source.topic_names(), lab.source.offsets(mirrored)
    done = lab_command(*command, "--name", external.name)
    assert done.code == 2, done.out
    what, hint = done.err.splitlines()
    assert what.endswith('would change clusters that the lab did not start: topology "known" is read-only')
    assert hint.startswith('hint: "writable: true" under x-lab in ')
    assert (lab.source.topic_names(), lab.source.offsets(mirrored)) == before
    assert TOPIC in lab.connect.names()


def test_an_address_that_spark_does_not_reach_is_named(
    lab: Lab, mirrored: str, own: Callable[[str], str], tmp_path: Path
) -> None:
    """Spark in a network of its own: for it, 127.0.0.1 is its own container."""
    name = own("apart")
    folder = write(tmp_path / name, lab, "spark")  # a lab is called as its folder
    try:
        assert lab_command("up", str(folder)).code == 0
        done = lab_command("verify", mirrored, "--name", name)
        assert done.code == 3, done.out
        what, hint = done.err.splitlines()[-2:]
        assert what.startswith(f'error: Spark does not reach cluster "source" at {lab.source.bootstrap}: ')
        assert f"must resolve and reach {lab.source.bootstrap}" in hint
    finally:
        assert lab_command("down", "--name", name).code == 0
