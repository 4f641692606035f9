"""A flow as Strimzi's KafkaMirrorMaker2, one resource for each target, and such resources as connectors.

The operator writes every connector's clusters, trust and logins by itself; what its API forbids in a `config`
is refused here. A connector's own settings stay with it, so nothing has to be the same for all three.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lab import client_properties
from lab.errors import LabError
from lab.export import documents
from lab.export.clusters import CERTIFICATES, Cluster, by_reference, clusters, own
from lab.export.documents import Document
from lab.export.flow import Export, Flow, Pair, holds_secret
from lab.export.meaning import CLASSES, DEFAULTS, IDENTITY, SIDES, STORAGE, differing, reads
from lab.export.shared import Change, changed, may_change
from lab.mm2 import CHECKPOINT, HEARTBEAT, SOURCE, Connector

API_VERSION: Final = "kafka.strimzi.io/v1beta2"
KIND: Final = "KafkaMirrorMaker2"
CA_KEY: Final = "ca.crt"
LOGIN_KEY: Final = "binding"
_FIELDS: Final = {
    SOURCE: "sourceConnector",
    CHECKPOINT: "checkpointConnector",
    HEARTBEAT: "heartbeatConnector",
}
# Of a mirror as a whole; the first class that reads the key and is there decides.
_PATTERNS: Final = {
    "topics": "topicsPattern",
    "topics.exclude": "topicsExcludePattern",
    "groups": "groupsPattern",
    "groups.exclude": "groupsExcludePattern",
}
_LOGINS: Final = {"PLAIN": "plain", "SCRAM-SHA-256": "scram-sha-256", "SCRAM-SHA-512": "scram-sha-512"}
# KafkaMirrorMaker2ClusterSpec.FORBIDDEN_PREFIXES and its exceptions, by which the operator reads a config.
_FORBIDDEN: Final = (
    *("ssl.", "sasl.", "security.", "listeners", "plugin.path", "rest.", "bootstrap.servers"),
    *("consumer.interceptor.classes", "producer.interceptor.classes"),
)
_ALLOWED: Final = (
    *("ssl.endpoint.identification.algorithm", "ssl.cipher.suites", "ssl.protocol"),
    "ssl.enabled.protocols",
)


def write(flow: Flow, name: str) -> Export:
    """Each target gets a resource: the operator's workers belong to the cluster that they write to."""
    changes = [change for its in flow.pairs.values() for change in _patterns(its)[1]]
    after = changed(flow, changes)
    known = clusters(flow)
    _refuse_one_name(flow.aliases)
    several = len(flow.targets) > 1
    resources = [
        _resource(after.into(target), known, documents.named(f"{name}-to-{target}" if several else name))
        for target in flow.targets
    ]
    back = read(resources)
    if others := differing(map(by_reference, after.connectors), map(by_reference, back)):
        raise LabError(
            f"a KafkaMirrorMaker2 cannot say this flow: {', '.join(others)}",
            "name the connectors that are to be exported",
        )
    return Export(text=documents.write(resources), told=tuple(change.told for change in changes))


def _refuse_one_name(aliases: list[str]) -> None:
    seen: dict[str, str] = {}
    for alias in aliases:
        if (other := seen.setdefault(documents.named(alias), alias)) != alias:
            raise LabError(
                f'Secrets of clusters "{other}" and "{alias}" would have one name: Kubernetes has lower-case '
                "letters, digits, - and dots only",
                "give the clusters other aliases",
            )


def ca_secret(alias: str) -> str:
    return f"{documents.named(alias)}-cluster-ca-cert"


def login_secret(alias: str) -> str:
    return f"es-apikey-{documents.named(alias)}"


# -- writing -------------------------------------------------------------------------------------------


def _resource(flow: Flow, known: Mapping[str, Cluster], name: str) -> Document:
    (target,) = flow.targets
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {
            "replicas": flow.nodes,
            "connectCluster": target,
            "clusters": [
                _cluster(known[alias], flow.settings if alias == target else {}) for alias in flow.aliases
            ],
            "mirrors": [_mirror(pair, its, known) for pair, its in flow.pairs.items()],
        },
    }


def _cluster(cluster: Cluster, settings: Mapping[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {"alias": cluster.alias, "bootstrapServers": cluster.bootstrap}
    if cluster.tls:
        store = {"secretName": ca_secret(cluster.alias), "certificate": CA_KEY}
        said["tls"] = {"trustedCertificates": [store] if cluster.trusts_store else []}
    if (login := cluster.login) is not None:
        said["authentication"] = {
            "type": _LOGINS[login.mechanism],
            "username": login.username,
            "passwordSecret": {"secretName": login_secret(cluster.alias), "password": LOGIN_KEY},
        }
    config = {**settings, **cluster.others}
    for key, value in config.items():
        if key.startswith(_FORBIDDEN) and key not in _ALLOWED:
            raise LabError(
                f'cluster "{cluster.alias}" has "{key}", which Strimzi allows in no config',
                "write it by hand as the resource has it, or export --configmap and --pod",
            )
        _refuse_reference(f'cluster "{cluster.alias}"', key, value)
    return {**said, "config": dict(sorted(config.items()))} if config else said


def _mirror(pair: Pair, its: Mapping[str, Connector], known: Mapping[str, Cluster]) -> dict[str, Any]:
    patterns, _ = _patterns(its)
    mirror: dict[str, Any] = {"sourceCluster": pair[0], "targetCluster": pair[1]}
    mirror |= {_PATTERNS[key]: value for key, value in patterns.items()}
    for cls, connector in its.items():
        mirror[_FIELDS[cls]] = _connector(own(connector, known), patterns)
    return mirror


def _patterns(its: Mapping[str, Connector]) -> tuple[dict[str, str], list[Change]]:
    """What can be said for a mirror as a whole, and whom that changes; the rest stays with its connector."""
    said: dict[str, str] = {}
    changes: list[Change] = []
    for key in _PATTERNS:
        readers = [its[cls] for cls in CLASSES if cls in its and reads(cls, key)]
        having = [connector for connector in readers if key in connector.config]
        others = [
            c for c in readers if having and c.config.get(key, DEFAULTS.get(key)) != having[0].config[key]
        ]
        if having and all(may_change(other, key, has_source=SOURCE in its) for other in others):
            said[key] = value = having[0].config[key]
            changes += [
                Change(connector=other.name, key=key, was=other.config.get(key), becomes=value)
                for other in others
            ]
    return said, changes


def _connector(connector: Connector, patterns: Mapping[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    tasks = connector.config.get("tasks.max")
    if tasks is not None and reads(connector.connector_class, "tasks.max"):
        if not tasks.isdecimal() or int(tasks) < 1:
            raise LabError(
                f'connector "{connector.name}" has {tasks} tasks at most, and Strimzi wants a number',
                'set "tasks.max" to 1 or more',
            )
        said["tasksMax"] = int(tasks)
    config = {
        key: value
        for key, value in sorted(connector.config.items())
        if key not in (*IDENTITY, "tasks.max", *patterns)
        and not key.startswith("config.providers")
        and reads(connector.connector_class, key)
    }
    for key, value in config.items():
        if holds_secret(key, value):
            raise LabError(
                f'connector "{connector.name}" has a secret in its config, in "{key}"; none is exported',
                "only the passwords of clusters become Secrets",
            )
        _refuse_reference(f'connector "{connector.name}"', key, value)
    return {**said, "config": config}


def _refuse_reference(who: str, key: str, value: str) -> None:
    if "${" in value:
        raise LabError(
            f'{who} refers to a file in "{key}", and Strimzi\'s workers have no such file',
            "only trust stores and logins of clusters become Secrets; write this key by hand",
        )


# -- reading -------------------------------------------------------------------------------------------


def read(resources: Iterable[Document]) -> list[Connector]:
    """The connectors that the operator makes of resources, with references in place of secrets."""
    return [
        connector
        for resource in resources
        if resource["kind"] == KIND
        for connector in _connectors(resource["spec"])
    ]


def _connectors(spec: Mapping[str, Any]) -> Iterable[Connector]:
    known = {cluster["alias"]: _settings(cluster) for cluster in spec["clusters"]}
    for mirror in spec["mirrors"]:
        ends = (mirror["sourceCluster"], mirror["targetCluster"])
        for cls in CLASSES:
            if (its := mirror.get(_FIELDS[cls])) is None:
                continue
            config = {"connector.class": cls, **its.get("config", {})}
            for side, alias in zip(SIDES, ends, strict=True):
                config[f"{side}.cluster.alias"] = alias
                config |= {f"{side}.cluster.{key}": value for key, value in known[alias].items()}
            config |= {key: mirror[field] for key, field in _PATTERNS.items() if field in mirror}
            if "tasksMax" in its:
                config["tasks.max"] = str(its["tasksMax"])
            yield Connector(name=f"{ends[0]}->{ends[1]}.{cls.rpartition('.')[2]}", config=config)


def _settings(cluster: Mapping[str, Any]) -> dict[str, str]:
    """What clients in a cluster get, without what is for the workers' own topics."""
    tls, login = cluster.get("tls"), cluster.get("authentication")
    settings = {"bootstrap.servers": cluster["bootstrapServers"]}
    if tls is not None or login is not None:
        settings["security.protocol"] = ("SASL_" if login else "") + ("PLAINTEXT" if tls is None else "SSL")
    for store in (tls or {}).get("trustedCertificates", ()):
        settings[CERTIFICATES] = f"${{secret:{store['secretName']}:{store['certificate']}}}"
    if login is not None:
        mechanism = next(name for name, kind in _LOGINS.items() if kind == login["type"])
        where = login["passwordSecret"]
        password = f"${{secret:{where['secretName']}:{where['password']}}}"
        settings["sasl.mechanism"] = mechanism
        settings["sasl.jaas.config"] = client_properties.login_line(mechanism, login["username"], password)
    others = {k: v for k, v in cluster.get("config", {}).items() if not k.startswith(STORAGE)}
    return settings | others
