"""The forms in which a flow can be had, several at once as documents of one stream."""

from collections.abc import Collection, Iterator
from enum import StrEnum

from lab.errors import LabError
from lab.export import documents, kubernetes, properties, strimzi
from lab.export.clusters import clusters
from lab.export.flow import Export, Flow
from lab.export.kubernetes import Values
from lab.mm2 import DEFAULT_POLICY, IDENTITY_POLICY


class Form(StrEnum):
    SECRET = "secret"  # noqa: S105 - its name
    CONFIGMAP = "configmap"
    POD = "pod"
    STRIMZI = "strimzi"
    PROPERTIES = "properties"


def export(flow: Flow, forms: Collection[Form], *, name: str, image: str, values: Values) -> Export:
    """Values of secrets are asked for, and in the text, only where Secrets are among the forms."""
    dedicated = properties.write(flow) if {Form.PROPERTIES, Form.CONFIGMAP, Form.POD} & {*forms} else None
    resources = strimzi.write(flow, name) if Form.STRIMZI in forms else None
    parts = []
    if Form.SECRET in forms:
        parts.append(_secrets(flow, values))
    if dedicated is not None:
        if Form.CONFIGMAP in forms:
            parts.append(documents.write([kubernetes.config_map(flow, dedicated.text)]))
        if Form.POD in forms:
            parts.append(documents.write([kubernetes.pod(flow, dedicated.text, name=name, image=image)]))
        if Form.PROPERTIES in forms:
            parts.append(dedicated.text)
    if resources is not None:
        parts.append(resources.text)
    told = dict.fromkeys(line for made in (dedicated, resources) if made for line in made.told)
    return Export(
        text="---\n".join(parts),
        told=(*flow.told, *told, *_to_do(flow, forms)),
        secrets=_wanted(flow, forms, dedicated.text if dedicated else None),
    )


def _secrets(flow: Flow, values: Values) -> str:
    """Those of both ways to run it, unless one of them is none for this flow."""
    try:
        text = properties.write(flow).text
    except LabError:
        text = None
    made = kubernetes.secrets(flow, values, text=text)
    if not made:
        raise LabError("this flow needs no Secret", "its clusters ask for neither TLS nor a login")
    return documents.write(made)


def _wanted(flow: Flow, forms: Collection[Form], text: str | None) -> dict[str, list[str]]:
    every = kubernetes.wanted(flow, text=text)
    if Form.SECRET in forms:
        return {}
    if Form.STRIMZI not in forms:
        every = {name: keys for name, keys in every.items() if name == kubernetes.FILES}
    return every if {Form.STRIMZI, Form.POD} & {*forms} else {}


def _to_do(flow: Flow, forms: Collection[Form]) -> Iterator[str]:
    places = (f"{alias} at {cluster.bootstrap}" for alias, cluster in clusters(flow).items())
    yield f"addresses are those of the flow: {'; '.join(places)}; they must be reached from where it will run"
    for policy in sorted({c.policy for c in flow.connectors} - {DEFAULT_POLICY, IDENTITY_POLICY}):
        yield f"{policy} is none of Kafka's replication policies: the image there needs its jar"
    if flow.on_connect or Form.STRIMZI in forms:
        yield "its workers keep positions of their own: each topic is mirrored there from its beginning"
    else:
        yield "it goes on in the same topics of MM2 where this one is: let only one of them run"
