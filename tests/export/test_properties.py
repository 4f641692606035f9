"""lab.export.properties: a flow as the file of connect-mirror-maker.sh, and back."""

import random
from pathlib import Path

import pytest

from lab import mm2_dedicated
from lab.client_properties import parse
from lab.errors import LabError
from lab.export import properties
from lab.export.flow import Flow, flow_of
from lab.export.meaning import differing, same
from lab.mm2 import CHECKPOINT, HEARTBEAT, IDENTITY_POLICY, SOURCE
from tests.export import flows
from tests.export.flows import FILES, all_three, connector

FLOWS = {name: flow for name, flow in flows.every_flow().items() if not name.startswith("chain")}
ODD = "a,b:c=d\\e\tf\n!#  ü € \U0001f600 ${x} "


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_a_flow_comes_back_but_for_what_is_told(flow: Flow) -> None:
    made = properties.write(flow)
    back = properties.read(made.text)

    assert len(differing(flow.connectors, back)) == len(made.told)
    assert {line.partition(":")[0] for line in made.told} <= {c.name for c in flow.connectors}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_dedicated_mm2_comes_back_exactly(path: Path) -> None:
    connectors = mm2_dedicated.connectors(mm2_dedicated.read(path))
    made = properties.write(flow_of(connectors))

    assert made.told == ()
    assert same(connectors, properties.read(made.text))


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_the_file_is_one_that_the_lab_takes(flow: Flow, tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text(properties.write(flow).text)

    mm2_dedicated.read(path)


def test_nothing_runs_that_did_not_run_before() -> None:
    text = properties.write(flow_of([connector(topics="orders")])).text

    assert [pair.name for pair in mm2_dedicated.pairs(parse(text))] == ["a->b"]
    assert [c.connector_class for c in properties.read(text)] == [SOURCE]


def test_heartbeats_alone_stay_alone() -> None:
    text = properties.write(flow_of([connector(HEARTBEAT)])).text

    assert "enabled=true" not in text
    assert [c.connector_class for c in properties.read(text)] == [HEARTBEAT]


@pytest.mark.parametrize(
    "config",
    [
        {"replication.policy.separator": "_"},
        {"replication.policy.class": IDENTITY_POLICY},
        {"topics": "orders.*, payments-[0-9]+", "topics.exclude": r".*\.internal, tmp\-.*"},
        {"topics": ODD},
        {"offset-syncs.topic.location": "target"},
        {"source.cluster.client.id": ODD, "target.cluster.request.timeout.ms": "1000"},
        {"producer.override.linger.ms": "50", "source.consumer.isolation.level": "read_committed"},
        {f"transforms.x.{ODD}": "odd key", "transforms": "x"},
    ],
)
def test_odd_values_come_back_exactly(config: dict[str, str]) -> None:
    connectors = all_three(**config)
    made = properties.write(flow_of(connectors))

    assert made.told == ()
    assert same(connectors, properties.read(made.text))


@pytest.mark.parametrize("seed", range(40))
def test_any_values_come_back_exactly(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret depends on it
    letters = "ab ,:=\\#!\n\t\r\f'\"$->.*[]é€\U0001f600"
    config = {
        f"{chance.choice(('source.cluster.', 'transforms.', 'producer.override.'))}"
        f"{''.join(chance.choices(letters, k=5))}": "".join(chance.choices(letters, k=chance.randint(0, 12)))
        for _ in range(20)
    }
    connectors = all_three(**config)

    assert same(connectors, properties.read(properties.write(flow_of(connectors)).text))


def test_of_two_values_the_source_connectors_holds_and_it_is_told() -> None:
    connectors = [connector(**{"tasks.max": "4"}), connector(CHECKPOINT, **{"tasks.max": "2"})]
    made = properties.write(flow_of(connectors))

    assert made.told == (
        'MirrorCheckpointConnector: tasks.max becomes "4", here "2": '
        "one value holds for all connectors of a flow",
    )
    assert differing(connectors, properties.read(made.text)) == ["tasks.max of MirrorCheckpointConnector"]


def test_what_decides_on_records_is_never_changed() -> None:
    flow = flow_of([connector(transforms="mask"), connector(CHECKPOINT)])

    with pytest.raises(LabError) as refused:
        properties.write(flow)

    assert refused.value.message == (
        '"MirrorSourceConnector" and "MirrorCheckpointConnector" have not the same "transforms", '
        "and a dedicated MM2 has one for all connectors of a->b"
    )
    assert "--strimzi" in (refused.value.hint or "")


def test_topics_of_a_checkpoint_connector_never_restrict_what_is_mirrored() -> None:
    flow = flow_of([connector(), connector(CHECKPOINT, topics="orders")])

    with pytest.raises(LabError, match='have not the same "topics"'):
        properties.write(flow)


def test_heartbeats_that_are_written_elsewhere_are_refused() -> None:
    for _, flow in flows.of_topology("chain"):
        with pytest.raises(LabError, match=r'"producer\.override\.bootstrap\.servers"'):
            properties.write(flow)


def test_checkpoints_without_what_is_mirrored_are_refused() -> None:
    with pytest.raises(LabError, match="without a source connector"):
        properties.write(flow_of([connector(CHECKPOINT)]))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("source.cluster.ssl.truststore.password", "plain"),
        ("source.cluster.sasl.jaas.config", 'x.PlainLoginModule required username="u" password="plain";'),
    ],
)
def test_a_secret_in_plain_text_is_refused_and_not_shown(key: str, value: str) -> None:
    with pytest.raises(LabError) as refused:
        properties.write(flow_of(all_three(**{key: value})))

    assert key in refused.value.message
    assert "plain" not in f"{refused.value.message}{refused.value.hint}".replace("plain text", "")


def test_references_to_secrets_stay_references() -> None:
    reference = "${file:/run/secrets/secrets.properties:password}"
    text = properties.write(flow_of(all_three(**{"target.cluster.ssl.truststore.password": reference}))).text

    assert parse(text)["b.ssl.truststore.password"] == reference


def test_what_cannot_be_said_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "one_value", lambda *_: ({}, []))

    with pytest.raises(LabError) as refused:
        properties.write(flow_of([connector(topics="orders")]))

    assert refused.value.message == (
        "a properties file cannot say this flow: topics of MirrorSourceConnector"
    )
