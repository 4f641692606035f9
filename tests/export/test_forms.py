"""lab.export.forms: several forms in one stream, and what is told with them."""

import pytest

from lab.errors import LabError
from lab.export import documents
from lab.export.flow import Flow, flow_of
from lab.export.forms import Form, export
from lab.export.kubernetes import Values
from lab.mm2 import CUSTOM_POLICY, Connector
from tests.export import flows

CANARY = "canary-1f2e"
SECURED = flows.every_flow()["es-to-strimzi.properties"]
VALUES = Values(content=lambda _: CANARY.encode(), authority=lambda _: CANARY, value=lambda *_: CANARY)


def no_value(*_: object) -> str:
    raise AssertionError("a secret was asked for")


BLIND = Values(content=lambda _: no_value().encode(), authority=no_value, value=no_value)


def made(*forms: Form, flow: Flow = SECURED, values: Values = VALUES) -> str:
    return export(flow, forms, name="lab", image="kafka", values=values).text


def kinds(text: str) -> list[str]:
    return [document["kind"] for document in documents.read(text)]


def test_documents_stand_in_one_stream_what_is_needed_first_first() -> None:
    found = kinds(made(Form.STRIMZI, Form.POD, Form.CONFIGMAP, Form.SECRET))

    assert found == ["Secret"] * 4 + ["ConfigMap", "Pod"] + ["KafkaMirrorMaker2"] * 2


@pytest.mark.parametrize("form", [form for form in Form if form is not Form.SECRET])
def test_no_form_but_secret_asks_for_a_secret(form: Form) -> None:
    assert CANARY not in made(form, values=BLIND)


def test_secrets_are_those_of_both_ways_to_run_it() -> None:
    names = [document["metadata"]["name"] for document in documents.read(made(Form.SECRET))]

    assert names == ["source-cluster-ca-cert", "es-apikey-source", "target-cluster-ca-cert", "mm2-secrets"]


def test_what_a_form_refers_to_is_told_by_name() -> None:
    def wanted(*forms: Form) -> set[str]:
        return {*export(SECURED, forms, name="lab", image="kafka", values=BLIND).secrets}

    of_strimzi = {"source-cluster-ca-cert", "es-apikey-source", "target-cluster-ca-cert"}
    assert wanted(Form.STRIMZI) == of_strimzi
    assert wanted(Form.POD) == {"mm2-secrets"}
    assert wanted(Form.STRIMZI, Form.POD) == of_strimzi | {"mm2-secrets"}
    assert wanted(Form.PROPERTIES) == wanted(Form.CONFIGMAP) == set()


def test_a_flow_without_secrets_has_none_to_write() -> None:
    with pytest.raises(LabError, match="this flow needs no Secret"):
        made(Form.SECRET, flow=flow_of(flows.all_three()))


def test_addresses_are_told_and_whether_it_goes_on_or_begins_anew() -> None:
    def told(*forms: Form, flow: Flow) -> tuple[str, ...]:
        return export(flow, forms, name="lab", image="kafka", values=BLIND).told

    dedicated = flow_of(flows.all_three())
    assert "a at a1:9092,a2:9092; b at b:9092" in told(Form.STRIMZI, flow=dedicated)[0]
    assert "from its beginning" in told(Form.STRIMZI, flow=dedicated)[1]
    assert "let only one of them run" in told(Form.POD, flow=dedicated)[1]


def test_a_policy_that_is_not_kafkas_is_told() -> None:
    connectors = [
        Connector(name=c.name, config={**c.config, "replication.policy.class": CUSTOM_POLICY})
        for c in flows.all_three()
    ]
    flow = flow_of(connectors)

    found = export(flow, [Form.STRIMZI], name="lab", image="kafka", values=BLIND).told

    assert any(line.startswith(CUSTOM_POLICY) and "jar" in line for line in found)
