"""lab.export.kubernetes: ConfigMap, Pod and Secrets of a dedicated MM2."""

import base64

import pytest

from lab.errors import BadInput
from lab.export import kubernetes, properties
from lab.export.flow import Flow
from lab.export.kubernetes import Values
from lab.export.meaning import differing
from tests.export import flows

FLOWS = {name: flow for name, flow in flows.every_flow().items() if not name.startswith("chain")}
SECURED = FLOWS["es-to-strimzi.properties"]
VALUES = Values(
    content=lambda path: f"content of {path}".encode(),
    authority=lambda alias: f"-----BEGIN CERTIFICATE-----\n{alias}\n-----END CERTIFICATE-----\n",
    value=lambda path, key: f"value of {key} in {path}",
)


def text_of(flow: Flow) -> str:
    return properties.write(flow).text


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_a_config_map_comes_back_with_and_without_its_pod(flow: Flow) -> None:
    text = text_of(flow)
    config_map = kubernetes.config_map(flow, text)
    pod = kubernetes.pod(flow, text, name="lab", image="kafka")

    for found in ([config_map], [config_map, pod]):
        assert not differing(properties.read(text), kubernetes.read(found))


def test_the_file_is_a_key_of_the_config_map_as_oc_makes_it() -> None:
    assert kubernetes.config_map(SECURED, "clusters=a, b\n") == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mm2properties"},
        "data": {"es-to-strimzi.properties": "clusters=a, b\n"},
    }


def test_a_pod_finds_each_file_where_the_properties_name_it() -> None:
    text = text_of(SECURED)
    spec = kubernetes.pod(SECURED, text, name="Lab_1", image="kafka")["spec"]
    (container,) = spec["containers"]
    mounts = {mount["mountPath"]: (mount["name"], mount["subPath"]) for mount in container["volumeMounts"]}

    assert container["command"] == [
        "/opt/kafka/bin/connect-mirror-maker.sh",
        "/etc/mm2/es-to-strimzi.properties",
    ]
    assert mounts == {
        "/etc/mm2/es-to-strimzi.properties": ("properties", "es-to-strimzi.properties"),
        "/home/truststore.jks": ("secrets", "truststore.jks"),
        "/run/secrets/secrets.properties": ("secrets", "secrets.properties"),
    }
    assert [volume["name"] for volume in spec["volumes"]] == ["properties", "secrets"]


def test_a_pod_has_no_privileges() -> None:
    spec = kubernetes.pod(SECURED, text_of(SECURED), name="lab", image="kafka")["spec"]

    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_pod_without_secrets_mounts_none() -> None:
    flow = FLOWS["basic-mirror test_mirror"]
    spec = kubernetes.pod(flow, text_of(flow), name="lab", image="kafka")["spec"]

    assert [volume["name"] for volume in spec["volumes"]] == ["properties"]
    assert kubernetes.wanted(flow, text=text_of(flow)) == {}


def test_secrets_have_what_resource_and_pod_refer_to() -> None:
    made = {s["metadata"]["name"]: s for s in kubernetes.secrets(SECURED, VALUES, text=text_of(SECURED))}

    assert made["es-apikey-source"]["stringData"] == {
        "binding": "value of api.key in /run/secrets/secrets.properties"
    }
    assert made["target-cluster-ca-cert"]["stringData"]["ca.crt"].splitlines()[1] == "target"
    assert {key: base64.b64decode(value).decode() for key, value in made["mm2-secrets"]["data"].items()} == {
        "truststore.jks": "content of /home/truststore.jks",
        "secrets.properties": "content of /run/secrets/secrets.properties",
    }
    assert kubernetes.wanted(SECURED, text=text_of(SECURED)) == {
        "source-cluster-ca-cert": ["ca.crt"],
        "es-apikey-source": ["binding"],
        "target-cluster-ca-cert": ["ca.crt"],
        "mm2-secrets": ["truststore.jks", "secrets.properties"],
    }


def test_two_files_of_one_name_are_refused() -> None:
    with pytest.raises(BadInput, match='"/a/store" and "/b/store" have one name'):
        kubernetes.files("x.ssl.truststore.location=/a/store\ny.ssl.keystore.location=/b/store\n")


def test_a_pod_of_another_config_map_is_refused() -> None:
    text = text_of(SECURED)
    config_map = kubernetes.config_map(SECURED, text)
    other = {**config_map, "metadata": {"name": "other"}}

    with pytest.raises(BadInput, match='reads ConfigMap "mm2properties"'):
        kubernetes.read([other, kubernetes.pod(SECURED, text, name="lab", image="kafka")])
    with pytest.raises(BadInput, match="no ConfigMap is among the documents"):
        kubernetes.read([kubernetes.pod(SECURED, text, name="lab", image="kafka")])
