"""lab.export.strimzi: a flow as KafkaMirrorMaker2 resources, and back."""

import pytest

from lab.errors import LabError
from lab.export import documents, strimzi
from lab.export.clusters import by_reference
from lab.export.flow import Flow, flow_of
from lab.export.meaning import differing
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE
from tests.export import flows
from tests.export.flows import all_three, connector

FLOWS = flows.every_flow()
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
API_KEY = "${file:/run/secrets/secrets.properties:api.key}"


def secured(mechanism: str = "PLAIN", module: str = PLAIN, protocol: str = "SASL_SSL") -> dict[str, str]:
    return {
        "source.cluster.security.protocol": protocol,
        "source.cluster.ssl.truststore.location": "/home/truststore.jks",
        "source.cluster.ssl.truststore.password": "${file:/run/secrets/secrets.properties:store}",
        "source.cluster.sasl.mechanism": mechanism,
        "source.cluster.sasl.jaas.config": f'{module} required username="token" password="{API_KEY}";',
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }


def resources(flow: Flow) -> list[documents.Document]:
    return documents.read(strimzi.write(flow, "lab").text)


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_a_flow_comes_back_but_for_what_is_told(flow: Flow) -> None:
    made = strimzi.write(flow, "lab")
    back = strimzi.read(documents.read(made.text))
    others = differing(map(by_reference, flow.connectors), map(by_reference, back))

    assert len(others) == len(made.told)
    assert set(others) <= {"topics of MirrorCheckpointConnector"}


def test_each_target_has_a_resource_whose_workers_belong_to_it() -> None:
    flow = FLOWS["strimzi-mm2.properties"]

    found = [(r["metadata"]["name"], r["spec"]["connectCluster"]) for r in resources(flow)]

    assert found == [("lab-to-target", "target"), ("lab-to-source", "source")]
    for resource in resources(flow):
        assert {m["targetCluster"] for m in resource["spec"]["mirrors"]} == {
            resource["spec"]["connectCluster"]
        }


def test_a_resource_is_what_strimzi_documents() -> None:
    flow = flow_of(
        [
            connector(topics="orders", **secured(), **{"tasks.max": "4", "offset.lag.max": "0"}),
            connector(CHECKPOINT, groups="app-.*", **secured(), **{"sync.group.offsets.enabled": "true"}),
        ],
        nodes=3,
    )

    (resource,) = resources(flow)

    assert resource == {
        "apiVersion": "kafka.strimzi.io/v1beta2",
        "kind": "KafkaMirrorMaker2",
        "metadata": {"name": "lab"},
        "spec": {
            "replicas": 3,
            "connectCluster": "b",
            "clusters": [
                {
                    "alias": "a",
                    "bootstrapServers": "a1:9092,a2:9092",
                    "tls": {
                        "trustedCertificates": [{"secretName": "a-cluster-ca-cert", "certificate": "ca.crt"}]
                    },
                    "authentication": {
                        "type": "plain",
                        "username": "token",
                        "passwordSecret": {"secretName": "es-apikey-a", "password": "binding"},
                    },
                },
                {"alias": "b", "bootstrapServers": "b:9092"},
            ],
            "mirrors": [
                {
                    "sourceCluster": "a",
                    "targetCluster": "b",
                    "topicsPattern": "orders",
                    "groupsPattern": "app-.*",
                    "sourceConnector": {"tasksMax": 4, "config": {"offset.lag.max": "0"}},
                    "checkpointConnector": {"config": {"sync.group.offsets.enabled": "true"}},
                }
            ],
        },
    }


@pytest.mark.parametrize(
    ("mechanism", "module", "kind"),
    [
        ("PLAIN", PLAIN, "plain"),
        ("SCRAM-SHA-256", SCRAM, "scram-sha-256"),
        ("SCRAM-SHA-512", SCRAM, "scram-sha-512"),
    ],
)
def test_logins_with_a_password_are_said(mechanism: str, module: str, kind: str) -> None:
    (resource,) = resources(flow_of(all_three(**secured(mechanism, module, "SASL_PLAINTEXT"))))
    cluster = resource["spec"]["clusters"][0]

    assert cluster["authentication"]["type"] == kind
    assert "tls" not in cluster


def test_without_a_store_of_its_own_public_authorities_are_trusted() -> None:
    config = {"source.cluster.security.protocol": "SSL"}

    (resource,) = resources(flow_of(all_three(**config)))

    assert resource["spec"]["clusters"][0]["tls"] == {"trustedCertificates": []}


def test_no_secret_nor_reference_to_one_is_in_a_resource() -> None:
    text = strimzi.write(flow_of(all_three(**secured())), "lab").text

    assert "${" not in text
    assert "password: binding" in text


def test_a_password_in_plain_text_becomes_a_reference() -> None:
    config = {key: value.replace(API_KEY, "hunter2") for key, value in secured().items()}

    assert "hunter2" not in strimzi.write(flow_of(all_three(**config)), "lab").text


def test_connectors_of_one_flow_may_differ() -> None:
    flow = flow_of(
        [
            connector(topics="orders", transforms="mask", **{"tasks.max": "2"}),
            connector(CHECKPOINT, topics="other", **{"tasks.max": "3"}),
            connector(HEARTBEAT, **{"producer.override.bootstrap.servers": "a1:9092"}),
        ]
    )
    made = strimzi.write(flow, "lab")
    (mirror,) = documents.read(made.text)[0]["spec"]["mirrors"]

    assert made.told == ()
    assert "topicsPattern" not in mirror
    assert mirror["sourceConnector"]["config"] == {"topics": "orders", "transforms": "mask"}
    assert mirror["checkpointConnector"] == {"tasksMax": 3, "config": {"topics": "other"}}
    assert mirror["heartbeatConnector"]["config"] == {"producer.override.bootstrap.servers": "a1:9092"}


def test_settings_of_a_cluster_that_all_share_are_said_once() -> None:
    config = {"source.cluster.request.timeout.ms": "9", "target.cluster.ssl.protocol": "TLSv1.2"}
    (resource,) = resources(flow_of(all_three(**config), settings={"offset.storage.replication.factor": "1"}))

    assert [cluster["config"] for cluster in resource["spec"]["clusters"]] == [
        {"request.timeout.ms": "9"},
        {"offset.storage.replication.factor": "1", "ssl.protocol": "TLSv1.2"},
    ]


def test_a_setting_that_one_connector_has_stays_there() -> None:
    flow = flow_of([connector(**{"source.cluster.request.timeout.ms": "9"}), connector(CHECKPOINT)])
    (resource,) = resources(flow)

    assert "config" not in resource["spec"]["clusters"][0]
    assert resource["spec"]["mirrors"][0]["sourceConnector"]["config"] == {
        "source.cluster.request.timeout.ms": "9"
    }


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"source.cluster.ssl.keystore.location": "/k"}, 'cluster "a" has "ssl.keystore.location"'),
        ({"source.cluster.security.protocol": "SSH"}, 'security.protocol "SSH" is none'),
        (secured("OAUTHBEARER"), "its login is none with a user and a password"),
        ({"transforms.x.password": "hunter2"}, 'has a secret in its config, in "transforms.x.password"'),
        ({"transforms.x.field": "${file:/x:y}"}, 'refers to a file in "transforms.x.field"'),
        ({"tasks.max": "many"}, "has many tasks at most"),
    ],
)
def test_what_strimzi_cannot_say_is_refused(config: dict[str, str], message: str) -> None:
    with pytest.raises(LabError) as refused:
        strimzi.write(flow_of(all_three(**config)), "lab")

    assert message in refused.value.message
    assert refused.value.hint
    assert "hunter2" not in refused.value.message + refused.value.hint


def test_two_aliases_are_never_one_secret() -> None:
    config = {"source.cluster.alias": "US_east", "target.cluster.alias": "us-east"}

    with pytest.raises(LabError, match=r'"US_east" and "us-east" would have one name'):
        strimzi.write(flow_of([connector(SOURCE, **config)]), "lab")


def test_what_does_not_come_back_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strimzi, "_mirror", lambda *_: {"sourceCluster": "a", "targetCluster": "b"})

    with pytest.raises(LabError) as refused:
        strimzi.write(flow_of([connector(SOURCE)]), "lab")

    assert refused.value.message == (
        "a KafkaMirrorMaker2 cannot say this flow: MirrorSourceConnector of a->b"
    )
