"""A dedicated MM2 as Kubernetes runs it: its properties in a ConfigMap, a Pod that reads them, Secrets.

The Pod finds every file that the properties name where they name it, each from one key of a Secret.
"""

import base64
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lab import client_properties
from lab.errors import BadInput
from lab.export import documents, properties, strimzi
from lab.export.clusters import clusters, reference
from lab.export.documents import Document
from lab.export.flow import Flow
from lab.mm2 import Connector

CONFIG_MAP: Final = "mm2properties"
FILES: Final = "mm2-secrets"  # the Secret with the files that properties name
_FOLDER: Final = "/etc/mm2"
_PROGRAM: Final = "/opt/kafka/bin/connect-mirror-maker.sh"
_USER: Final = 1000  # in Kafka's own image, and in the lab's
_REFERENCED: Final = re.compile(r"\$\{[^:}]+:(/[^:}]+)")


def config_map(flow: Flow, text: str) -> Document:
    """As `oc create configmap mm2properties --from-file FILE` makes it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP},
        "data": {flow.file: text},
    }


def pod(flow: Flow, text: str, *, name: str, image: str) -> Document:
    """Without privileges: the user of Kafka's image, who may read the Secret through the Pod's group."""
    place = f"{_FOLDER}/{flow.file}"
    mounts = [{"name": "properties", "mountPath": place, "subPath": flow.file, "readOnly": True}]
    volumes: list[dict[str, Any]] = [{"name": "properties", "configMap": {"name": CONFIG_MAP}}]
    if paths := files(text):
        mounts += [
            {"name": "secrets", "mountPath": path, "subPath": posixpath.basename(path), "readOnly": True}
            for path in paths
        ]
        volumes.append({"name": "secrets", "secret": {"secretName": FILES, "defaultMode": 0o440}})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": documents.named(name), "labels": {"app": "mirror-maker-2"}},
        "spec": {
            "automountServiceAccountToken": False,  # its files lie in /run/secrets too, and nobody needs them
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER,
                "fsGroup": _USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "mirror-maker",
                    "image": image,
                    "command": [_PROGRAM, place],
                    "env": [{"name": "LOG_DIR", "value": "/tmp/logs"}],  # noqa: S108 - in the container
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": mounts,
                }
            ],
            "volumes": volumes,
        },
    }


def files(text: str) -> list[str]:
    """Of properties: the paths of stores and of files with secrets that they name."""
    known = client_properties.parse(text)
    found = {path for value in known.values() for path in _REFERENCED.findall(value)}
    found |= {v for k, v in known.items() if k.endswith(".location") and v.startswith("/")}
    by_name: dict[str, str] = {}
    for path in sorted(found):
        if (other := by_name.setdefault(posixpath.basename(path), path)) != path:
            raise BadInput(
                f'"{other}" and "{path}" have one name, and would be one key of Secret "{FILES}"',
                "give one of them another name",
            )
    return sorted(found)


@dataclass(frozen=True, kw_only=True)
class Values:
    """Where the values of secrets come from."""

    content: Callable[[str], bytes]  # of a file that the properties name
    authority: Callable[[str], str]  # of a cluster: its certificates, as PEM
    value: Callable[[str, str], str]  # of a key in such a file


_NO_VALUES: Final = Values(content=lambda _: b"", authority=lambda _: "", value=lambda *_: "")


def secrets(flow: Flow, values: Values, *, text: str | None) -> list[Document]:
    """What Strimzi's resource refers to, and what the Pod with this text of properties does."""
    made = []
    for alias, cluster in clusters(flow).items():
        if cluster.trusts_store:
            made.append(_secret(strimzi.ca_secret(alias), {strimzi.CA_KEY: values.authority(alias)}))
        if (login := cluster.login) is not None:
            where = reference(login.password)
            password = values.value(*where) if where else login.password
            made.append(_secret(strimzi.login_secret(alias), {strimzi.LOGIN_KEY: password}))
    if text is not None and (paths := files(text)):
        contents = {posixpath.basename(path): values.content(path) for path in paths}
        made.append(
            _secret(FILES, {key: base64.b64encode(c).decode() for key, c in contents.items()}, "data")
        )
    return made


def wanted(flow: Flow, *, text: str | None) -> dict[str, list[str]]:
    """The names of those Secrets and their keys."""
    made = secrets(flow, _NO_VALUES, text=text)
    return {s["metadata"]["name"]: list(s.get("stringData", s.get("data", ()))) for s in made}


def _secret(name: str, entries: Mapping[str, str], field: str = "stringData") -> Document:
    head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque"}
    return {**head, field: dict(entries)}


def read(found: Iterable[Document]) -> list[Connector]:
    """The connectors that a Pod runs with its ConfigMap, or that a ConfigMap by itself describes."""
    by_kind: dict[str, Document] = {document["kind"]: document for document in found}
    if "ConfigMap" not in by_kind:
        raise BadInput("no ConfigMap is among the documents", "a Pod says nothing without it")
    data: Mapping[str, str] = by_kind["ConfigMap"]["data"]
    if "Pod" not in by_kind:
        (text,) = data.values()
        return properties.read(text)
    spec = by_kind["Pod"]["spec"]
    (container,) = spec["containers"]
    mount = next(m for m in container["volumeMounts"] if m["mountPath"] == container["command"][1])
    volume = next(v for v in spec["volumes"] if v["name"] == mount["name"])
    if volume["configMap"]["name"] != by_kind["ConfigMap"]["metadata"]["name"]:
        raise BadInput(
            f'the Pod reads ConfigMap "{volume["configMap"]["name"]}"', "read it together with that one"
        )
    return properties.read(data[mount["subPath"]])
