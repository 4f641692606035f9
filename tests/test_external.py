"""What a lab knows by addresses only is read; what would change it is refused before it is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab import leases
from lab.errors import BadInput
from lab.external import CHANGES, ReadOnlyCluster, ReadOnlyConnect
from lab.harness import Lab, Wish, bring_down, coming
from lab.kafka import Cluster
from lab.mm2 import Connector
from lab.removal import Removed
from lab.topology import Topology, TopologyError, load, read
from tests.written_topology import VALID, write

EXTERNAL = """\
x-lab:
  title: Staging
  teaches: Nothing
  clusters:
    source: {external: {bootstrap: "one:9092,two:9092", properties: client.properties}}
    target: {external: {bootstrap: "127.0.0.1:9093"}}
  connect_url: http://connect:8083
"""


def written(folder: Path, text: str = EXTERNAL, properties: str = "client.id=lab") -> Path:
    made = write(folder, "staging", text)
    (made / "client.properties").write_text(properties)
    return made


@pytest.fixture
def staging(tmp_path: Path) -> Topology:
    return read(written(tmp_path))


def test_clusters_are_known_by_their_addresses(staging: Topology) -> None:
    assert staging.roles.clusters == {"source": [], "target": []}
    assert staging.bootstrap("source", listener="INTERNAL", ports={}) == "one:9092,two:9092"
    assert staging.bootstrap("target", listener="EXTERNAL", ports={}) == "127.0.0.1:9093"
    assert staging.client("source").librdkafka["client.id"] == "lab"
    assert staging.client("target").java == {}
    assert (staging.services, staging.ports, staging.memory_bytes) == ({}, (), 0)
    assert staging.alias_of("one:9092") is None  # only of addresses in the lab's network
    assert staging.has_connect
    assert staging.roles.read_only


_TARGET = "x-lab.clusters.target"
DEFECTS = {
    "an unknown key": ("bootstrap: \"127", "bootstap: x, bootstrap: \"127",
                       "x-lab.clusters.target.external.bootstap: no such key"),
    "no address": ('bootstrap: "127.0.0.1:9093"', "", f"{_TARGET}.external.bootstrap: field required"),
    "no port": ("127.0.0.1:9093", "127.0.0.1", "x-lab.clusters.target.external.bootstrap: value error, "
                'not host:port, or several with commas between: "127.0.0.1"'),
    "another word": ('{external: {bootstrap: "127.0.0.1:9093"}}', "{remote: x}",
                     f"{_TARGET}.external: field required; {_TARGET}.remote: no such key"),
    "both forms": ('{external: {bootstrap: "127.0.0.1:9093"}}', "[]",
                   "x-lab.clusters.target: has brokers of the lab, and others are external"),
    "a service as worker": ("connect_url: http://connect:8083", "connect: [connect]",
                            "x-lab.connect: names services; where clusters are external it is connect_url; "
                            'x-lab.connect: no service named "connect" (known: none)'),
    "no address of Connect": ("http://connect:8083", "connect:8083", "x-lab.connect_url: value error, "
                              'not an address such as http://connect:8083: "connect:8083"'),
    "another service": ("connect_url:", "connect_url: http://c:1\nservices: {broker: {image: x}}\nx-url:",
                        "services.broker: only spark, where clusters are external"),
    "a missing file": ("client.properties", "none.properties", "x-lab.clusters.source.external.properties: "
                       "{folder}/none.properties: No such file or directory"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "told"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_is_named_where_it_is(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in EXTERNAL
    folder = written(tmp_path, EXTERNAL.replace(old, new))

    with pytest.raises(TopologyError) as caught:
        read(folder)

    assert caught.value.message == f'topology "staging" is not valid: {told.replace("{folder}", str(folder))}'


def test_properties_that_cannot_be_translated_are_a_problem_of_the_topology(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match='"acks" cannot be translated'):
        read(written(tmp_path, properties="acks=all"))


@pytest.mark.parametrize("key", ["connect_url: http://c:1", "writable: true"])
def test_keys_of_external_clusters_mean_nothing_elsewhere(tmp_path: Path, key: str) -> None:
    text = VALID.replace("  connect: [connect]\n", f"  connect: [connect]\n  {key}\n")

    with pytest.raises(
        TopologyError, match=f"x-lab.{key.partition(':')[0]}: only where clusters are external"
    ):
        read(write(tmp_path, "own", text))


def test_a_topology_of_ones_own_is_named_by_its_path(tmp_path: Path) -> None:
    folder = written(tmp_path)

    assert load(str(folder)).name == "staging"
    assert load(str(folder)).reference == str(folder)
    assert load("basic-mirror").reference == "basic-mirror"


def test_a_profiles_services_are_known_and_not_started() -> None:
    basic = load("basic-mirror")
    grown = basic.with_profile("spark-cluster")

    assert len(basic.services) == 6
    assert basic.profiles == ("spark-cluster",)
    assert grown.services.keys() - basic.services.keys() == {
        *("spark-master", "spark-worker-1", "spark-worker-2", "spark-connect")
    }
    assert {port.variable for port in grown.ports} - {port.variable for port in basic.ports} == {
        "SPARK_CONNECT_PORT"
    }
    with pytest.raises(BadInput, match='has no profile "spark"'):
        basic.with_profile("spark")


def test_a_cluster_that_is_not_ours_is_not_changed(staging: Topology) -> None:
    cluster = ReadOnlyCluster(staging, "source")

    assert cluster.bootstrap == "one:9092,two:9092"
    for name in CHANGES:
        with pytest.raises(BadInput, match=r'would change clusters .* topology "staging" is read-only'):
            getattr(cluster, name)
    assert callable(cluster.topics)


def test_everything_that_changes_a_cluster_is_known_as_that() -> None:
    verbs = (
        "create",
        "delete",
        "set_",
        "alter",
        "commit",
        "produce",
        "consume",
        "add",
        "remove",
        "reset",
        "elect",
        "write",
    )
    methods = {name for name in dir(Cluster) if name.startswith(verbs)}

    assert methods == CHANGES


def test_a_worker_that_is_not_ours_is_only_asked(staging: Topology) -> None:
    asked: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.path))
        return httpx.Response(200, json={"configs": []} if request.method == "PUT" else ["one"])

    connect = ReadOnlyConnect(staging)
    connect._http = httpx.Client(base_url=connect.url, transport=httpx.MockTransport(answer))
    connector = Connector(name="one", config={"connector.class": "MirrorSource"})
    changes: list[Callable[[], Any]] = [
        *(
            lambda: connect.deploy(connector),
            lambda: connect.create(connector),
            lambda: connect.delete("one"),
        ),
        *(lambda: connect.pause("one"), lambda: connect.resume("one"), lambda: connect.stop("one")),
        lambda: connect.forget("one"),
    ]

    for change in changes:
        with pytest.raises(BadInput, match="would change clusters that the lab did not start"):
            change()
    assert asked == []
    assert connect.names() == ["one"]
    connect.validate(connector)
    assert [method for method, _ in asked] == ["GET", "PUT"]


def test_a_lab_of_addresses_alone_needs_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coming, "wait_until_answers", lambda *_: None)
    lab = Lab.up(Wish(topology=str(written(tmp_path)), name="st"))

    again = Lab.attach("st")
    assert (again.topology, again.ports, again.containers()) == (lab.topology, {}, [])
    assert {e.service: e.address for e in again.endpoints()} == {
        "source": "one:9092,two:9092",
        "target": "127.0.0.1:9093",
        "connect": "http://connect:8083",
    }
    with pytest.raises(BadInput, match="deploying a connector would change"):
        again.deploy(Connector(name="x", config={}))
    assert bring_down("st") == Removed()
    assert leases.names() == []
