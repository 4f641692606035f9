"""lab.mm2_dedicated: what a dedicated MirrorMaker 2 makes of its properties file."""

from pathlib import Path

import pytest

from lab import mm2_dedicated
from lab.client_properties import parse
from lab.errors import BadInput
from lab.mm2 import BYTES_CONVERTER, CHECKPOINT, HEARTBEAT, SOURCE, Connector

TUTORIAL = """\
clusters=source, target
source.bootstrap.servers=source-1:9092,source-2:9092
source.security.protocol=SSL
source.ssl.truststore.location=/home/truststore.jks
target.bootstrap.servers=kafka1:9092,kafka2:9093
# enable and configure individual replication flows
source->target.enabled=true
source->target.topics=orders
"""


def connectors(more: str = "") -> dict[tuple[str, str], Connector]:
    found = mm2_dedicated.connectors(parse(TUTORIAL + more))
    return {(f"{c.source_alias}->{c.target_alias}", c.connector_class): c for c in found}


def test_a_flow_has_all_three_and_the_way_back_its_heartbeats() -> None:
    assert set(connectors()) == {
        *(("source->target", cls) for cls in (SOURCE, CHECKPOINT, HEARTBEAT)),
        ("target->source", HEARTBEAT),
    }


@pytest.mark.parametrize(
    "line", ["emit.heartbeats.enabled=false\n", "target->source.emit.heartbeats.enabled=false\n"]
)
def test_the_way_back_needs_no_worker_without_heartbeats(line: str) -> None:
    properties = parse(TUTORIAL + line)

    assert [pair.name for pair in mm2_dedicated.pairs(properties)] == ["source->target"]
    assert ("target->source", HEARTBEAT) not in connectors(line)


def test_both_sides_get_their_own_client_settings() -> None:
    config = connectors()["source->target", SOURCE].config

    assert config["source.cluster.bootstrap.servers"] == "source-1:9092,source-2:9092"
    assert config["source.cluster.security.protocol"] == "SSL"
    assert config["target.cluster.bootstrap.servers"] == "kafka1:9092,kafka2:9093"
    assert "target.cluster.security.protocol" not in config


def test_the_way_back_swaps_them() -> None:
    config = connectors()["target->source", HEARTBEAT].config

    assert config["target.cluster.security.protocol"] == "SSL"
    assert "topics" not in config


def test_settings_without_an_alias_hold_for_both() -> None:
    config = connectors("ssl.protocol=TLSv1.3\n")["source->target", SOURCE].config

    assert config["source.cluster.ssl.protocol"] == config["target.cluster.ssl.protocol"] == "TLSv1.3"


def test_a_client_of_a_cluster_keeps_its_kind() -> None:
    config = connectors("source.consumer.isolation.level=read_committed\n")["source->target", SOURCE]

    assert config.config["source.consumer.isolation.level"] == "read_committed"
    assert config.isolation == "read_committed"


def test_a_direction_overrides_what_holds_for_all() -> None:
    more = "tasks.max=2\nsource->target.tasks.max=5\n"

    assert connectors(more)["source->target", SOURCE].config["tasks.max"] == "5"
    assert connectors(more)["target->source", HEARTBEAT].config["tasks.max"] == "2"


def test_headers_stay_bytes_unless_said_otherwise() -> None:
    simple = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

    assert connectors()["source->target", SOURCE].config["header.converter"] == BYTES_CONVERTER
    changed = connectors(f"header.converter={simple}\n")["source->target", SOURCE]
    assert changed.config["header.converter"] == simple


def test_what_a_worker_keeps_is_named_for_the_other_cluster() -> None:
    forth, back = mm2_dedicated.pairs(parse(TUTORIAL))

    assert (forth.configs_topic, forth.offsets_topic, forth.status_topic) == (
        *("mm2-configs.source.internal", "mm2-offsets.source.internal"),
        "mm2-status.source.internal",
    )
    assert back.offsets_topic == "mm2-offsets.target.internal"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("clusters=source\nsource.bootstrap.servers=a:1\n", "does not name two", "clusters=source, target"),
        ("clusters=source, target\nsource.bootstrap.servers=a:1\n", '"target" has no address', "host:port"),
        (TUTORIAL + "source->target.topic=orders\n", '"source->target.topic"', "topics"),
        (TUTORIAL + "source->backup.topics=orders\n", '"source->backup.topics"', "source->target."),
        (TUTORIAL + "replication.facto=1\n", '"replication.facto"', "replication.factor"),
    ],
)
def test_a_file_that_says_nothing_sensible_is_refused(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text(text)

    with pytest.raises(BadInput) as refused:
        mm2_dedicated.read(path)

    assert message in refused.value.message
    assert str(path) in refused.value.message
    assert hint in (refused.value.hint or "")


def test_a_file_with_settings_of_the_workers_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text(
        TUTORIAL
        + "dedicated.mode.enable.internal.rest=true\nlisteners=http://0.0.0.0:8080\n"
        + "target.scheduled.rebalance.max.delay.ms=0\noffset.storage.replication.factor=3\n"
    )

    assert mm2_dedicated.read(path)["listeners"] == "http://0.0.0.0:8080"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        mm2_dedicated.read(tmp_path / "none.properties")
