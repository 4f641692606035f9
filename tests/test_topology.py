"""A topology folder is read into frozen data, from which addresses, ports and memory follow."""

from pathlib import Path

import pytest

from lab import topology
from lab.errors import BadInput
from lab.topology import Port, Topology, TopologyError, read
from tests.written_topology import VALID, write


@pytest.fixture
def valid(tmp_path: Path) -> Topology:
    return read(write(tmp_path, "valid"))


def test_a_valid_topology_holds_what_its_file_says(valid: Topology) -> None:
    assert valid.name == "valid"
    assert valid.roles.clusters == {"source": ["broker", "broker2"], "target": ["other"]}
    assert list(valid.services) == ["broker", "broker2", "other", "connect"]
    assert valid.services["broker"].image == "kafka"
    assert [service.has_healthcheck for service in valid.services.values()] == [True, False, False, False]
    assert valid.ports == (
        Port(service="broker", variable="BROKER_PORT", default=9092, container=9092),
        Port(service="broker2", variable="BROKER2_PORT", default=9093, container=9092),
    )
    assert valid.memory_bytes == 2**30 + 512 * 2**20


def test_bootstrap_servers_follow_from_listeners_and_leased_ports(valid: Topology) -> None:
    assert valid.bootstrap("source", listener="INTERNAL", ports={}) == "broker:29092,broker2:29092"
    assert valid.bootstrap("source", listener="EXTERNAL", ports={}) == "127.0.0.1:9092,127.0.0.1:9093"
    leased = {"BROKER_PORT": 20000, "BROKER2_PORT": 20001}
    assert valid.bootstrap("source", listener="EXTERNAL", ports=leased) == "127.0.0.1:20000,127.0.0.1:20001"


def test_a_broker_without_the_listener_is_named(valid: Topology) -> None:
    with pytest.raises(TopologyError) as caught:
        valid.bootstrap("target", listener="EXTERNAL", ports={})

    assert caught.value.message == 'broker "other" of topology "valid" advertises no listener "EXTERNAL"'
    assert caught.value.hint == (
        "KAFKA_ADVERTISED_LISTENERS needs one for containers, INTERNAL, and one for the host, EXTERNAL"
    )


def test_an_address_belongs_to_the_cluster_that_has_it(valid: Topology) -> None:
    assert valid.alias_of("broker2:29092") == "source"
    assert valid.alias_of("nowhere:1,other:29093") == "target"
    assert valid.alias_of("nowhere:1") is None
    assert valid.alias_of("") is None


WITH_LINK = (
    VALID.replace("  connect: [connect]", "  connect: [connect]\n  link: wan")
    .replace("INTERNAL://broker:29092,", "INTERNAL://broker:29092,LINK://wan:7001,")
    .replace("services:\n", 'services:\n  wan: {ports: ["127.0.0.1:${WAN_PORT:-7500}:7001"]}\n')
)


def test_who_does_not_come_through_the_link_reaches_brokers_directly(tmp_path: Path) -> None:
    linked = read(write(tmp_path, "linked", WITH_LINK))

    assert linked.listener_of("source", "wan:7001") == "LINK"
    assert linked.direct_listener_of("source", "wan:7001") == "INTERNAL"
    assert linked.direct_listener_of("source", "broker:29092") == "INTERNAL"
    assert linked.proxies == {
        "broker": Port(service="wan", variable="WAN_PORT", default=7500, container=7001)
    }


def test_without_a_link_a_listener_of_that_name_is_one_like_others(tmp_path: Path) -> None:
    unlinked = read(write(tmp_path, "unlinked", WITH_LINK.replace("  link: wan\n", "")))

    assert unlinked.direct_listener_of("source", "wan:7001") == "LINK"
    assert unlinked.proxies == {}


def test_a_link_is_a_service(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r'x-lab\.link: no service named "wam"'):
        read(write(tmp_path, "unlinked", WITH_LINK.replace("link: wan", "link: wam")))


def test_worker_settings_are_looked_up_by_their_config_key(valid: Topology) -> None:
    assert valid.worker_setting("offset.flush.timeout.ms") == "5000"
    assert valid.worker_setting("header.converter") is None
    assert valid.worker_bootstrap() == "broker:29092"


def test_worker_settings_are_given_by_the_beginning_of_their_keys(tmp_path: Path) -> None:
    more = "CONNECT_KEY_CONVERTER: Json, CONNECT_KEY_CONVERTER_SCHEMAS_ENABLE: 'true', CONNECT_A__B___C: x, "
    found = read(write(tmp_path, "json", VALID.replace("CONNECT_OFFSET_F", more + "CONNECT_OFFSET_F")))

    assert found.worker_settings("key.converter", "a_b") == {
        "key.converter": "Json",
        "key.converter.schemas.enable": "true",
        "a_b-c": "x",
    }


def test_variables_are_what_the_environment_leaves_open_and_no_ports(valid: Topology, tmp_path: Path) -> None:
    assert valid.variables == {}

    delayed = VALID.replace("FLUSH_TIMEOUT_MS: 5000", 'FLUSH_TIMEOUT_MS: "${LAB_FLUSH_MS:-5000}"')
    assert read(write(tmp_path, "delayed", delayed)).variables == {"LAB_FLUSH_MS": "5000"}


def test_connector_files_are_found_by_their_stem(valid: Topology) -> None:
    assert valid.connector_files() == {}

    connectors = valid.folder / "connectors"
    connectors.mkdir()
    for name in ("b.json", "a.json", "notes.txt"):
        (connectors / name).touch()

    assert valid.connector_files() == {"a": connectors / "a.json", "b": connectors / "b.json"}


def test_a_kafka_version_in_the_range_is_taken(valid: Topology) -> None:
    valid.check_kafka_version("2.8.2")
    valid.check_kafka_version("3.9.1")


@pytest.mark.parametrize(
    ("version", "hint"), [("4.0.0", "Kafka 4 has no ZooKeeper"), ("2.7.0", 'see "lab list"')]
)
def test_a_kafka_version_out_of_the_range_is_refused(valid: Topology, version: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        valid.check_kafka_version(version)

    assert caught.value.message == f'topology "valid" runs with Kafka >=2.8,<4, not with {version}'
    assert caught.value.hint == hint


@pytest.mark.parametrize("before", ["\ufeff", ""], ids=["a byte order mark", "nothing before"])
def test_windows_files_are_read_too(tmp_path: Path, before: str) -> None:
    folder = write(tmp_path, "windows", "")
    (folder / "compose.yaml").write_bytes((before + VALID).replace("\n", "\r\n").encode())

    assert read(folder).roles.title == "Two clusters"


def test_a_key_that_overrides_a_merged_one_does_not_stand_twice(tmp_path: Path) -> None:
    """YAML merges `c` before it comes to the deeper `z`, whose keys are merged by then."""
    merged = VALID + "x-deep: {y: {z: &b {<<: {size: 1}, size: 2}}}\nx-c: {<<: *b}\n"

    assert read(write(tmp_path, "merged", merged)).roles.title == "Two clusters"


FRAGMENT = """\
services:
  kafka:
    image: kafka
    mem_limit: 1g
    environment: {HEAP: small, KAFKA_ADVERTISED_LISTENERS: "INTERNAL://fragment:1"}
    healthcheck: {interval: 1s}
  broker:
    extends: {file: kafka.yaml, service: kafka}
    environment: {LEVEL: fragment}
"""


def test_extends_puts_a_fragments_keys_beneath_the_services_own(tmp_path: Path) -> None:
    write(tmp_path, "services", "")
    folder = write(
        tmp_path,
        "extending",
        """\
x-lab: {title: t, teaches: t, kafka: ">=3", clusters: {main: [broker]}}
services:
  broker:
    extends: {file: ../services/kafka.yaml, service: broker}
    mem_limit: 2g
    environment: {KAFKA_ADVERTISED_LISTENERS: "INTERNAL://broker:29092"}
""",
    )
    (folder.parent / "services/kafka.yaml").write_text(FRAGMENT)

    broker = read(folder).services["broker"]

    assert (broker.image, broker.memory_bytes, broker.has_healthcheck) == ("kafka", 2 * 2**30, True)
    assert broker.environment == {
        "HEAP": "small",
        "LEVEL": "fragment",
        "KAFKA_ADVERTISED_LISTENERS": "INTERNAL://broker:29092",
    }


@pytest.mark.parametrize(
    ("text", "size"), [("1g", 2**30), ("512m", 512 * 2**20), ("64K", 65_536), ("1000", 1000), ("100b", 100)]
)
def test_memory_limits_are_read_in_bytes(tmp_path: Path, text: str, size: int) -> None:
    folder = write(tmp_path, "sized", VALID.replace("mem_limit: 512m", f"mem_limit: {text}"))

    assert read(folder).services["broker2"].memory_bytes == size


def test_a_limit_that_was_chosen_counts_in_place_of_the_default() -> None:
    chosen = topology.load("kraft-2x2")

    assert chosen.variables["LAB_CONNECT_MEMORY"] == "1152m"
    assert chosen.memory_bytes_with({}) == chosen.memory_bytes
    more = chosen.memory_bytes_with({"LAB_CONNECT_MEMORY": "3g"}) - chosen.memory_bytes
    assert more == 2 * (3 * 1024 - 1152) * 2**20, "each of its two workers"


def test_variables_are_interpolated_with_values_or_defaults() -> None:
    text = "${A:-1} ${B:-2} ${C} ${D:-}"

    assert topology.interpolate(text, {"B": 3}) == "1 3  "


def test_every_topology_of_the_project_can_be_loaded() -> None:
    assert "basic-mirror" in topology.names()
    assert "images" not in topology.names()
    for name in topology.names():
        assert topology.load(name).name == name


def test_an_unknown_topology_names_the_nearest() -> None:
    with pytest.raises(BadInput) as caught:
        topology.load("basic-miror")

    assert caught.value.message == 'no topology named "basic-miror"'
    assert caught.value.hint == 'did you mean "basic-mirror"? "lab list" shows all'


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *((name, f'no topology named "{name}"') for name in ("images", "services", "")),
        ("../nothing/there", '"../nothing/there" is no folder with a compose.yaml'),
    ],
)
def test_other_folders_are_no_topologies(name: str, told: str) -> None:
    with pytest.raises(BadInput, match=f"^{told}$"):
        topology.load(name)
