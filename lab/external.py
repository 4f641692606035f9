"""Clusters and Connect workers that the lab did not start: read, and never changed unless permitted."""

from typing import Any, Final

from lab.connect import Connect
from lab.kafka import Cluster
from lab.topology import Topology

CHANGES: Final = frozenset(
    {
        *("create_topic", "delete_topics", "delete_records", "set_topic_config"),
        *("create_acl", "delete_acl", "commit", "producer", "consumer"),
    }
)


class ReadOnlyCluster(Cluster):
    """A cluster's handle without what would change the cluster."""

    def __init__(self, topology: Topology, alias: str) -> None:
        external = topology.roles.external[alias]
        super().__init__(alias, external.bootstrap, topology.client(alias).librdkafka)
        self._topology = topology

    def __getattribute__(self, name: str) -> Any:
        if name in CHANGES:
            self._topology.require_writable(f'"{name.replace("_", " ")}"')
        return super().__getattribute__(name)


class ReadOnlyConnect(Connect):
    """A worker's REST API, of which only questions are sent; validating is one, though it is a PUT."""

    def __init__(self, topology: Topology) -> None:
        super().__init__(topology.roles.connect_url or "")
        self._topology = topology

    def _request(self, method: str, path: str, **options: Any) -> Any:
        if method != "GET" and not path.endswith("/config/validate"):
            self._topology.require_writable(f'"{method} {path}"')
        return super()._request(method, path, **options)
