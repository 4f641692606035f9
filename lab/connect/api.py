"""Kafka Connect's REST API: connectors, their tasks and what the worker thinks of a config."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from lab.connect.rest import NO_SUCH_METHOD, NOT_FOUND, ConnectError, Rest
from lab.errors import BadInput
from lab.mm2 import Connector
from lab.mm2_status import Deployed, Status


@dataclass(frozen=True, kw_only=True)
class Objection:
    """One thing that the worker's own validation says against a config."""

    key: str
    message: str


class Api(Rest):
    """One request each; what it asks for is done some time later."""

    def version(self) -> str:
        return str(self._request("GET", "/")["version"])

    def names(self) -> list[str]:
        return sorted(self._request("GET", "/connectors"))

    def deployed(self) -> dict[str, Deployed]:
        """Every connector by name, with its config and what the workers say of it."""
        found = self._request("GET", "/connectors", params={"expand": ["status", "info"]})
        return {
            name: Deployed(
                config=entry["info"]["config"],
                # a connector that was created this very moment has none
                status=Status.read(entry["status"], entry["info"]["config"]) if "status" in entry else None,
            )
            for name, entry in sorted(found.items())
            if "info" in entry
        }

    def connectors(self) -> list[Connector]:
        """Every connector as it is deployed."""
        return [Connector(name=name, config=found.config) for name, found in self.deployed().items()]

    def statuses(self) -> list[Status]:
        return [found.status for found in self.deployed().values() if found.status is not None]

    def status(self, name: str) -> Status:
        return Status.read(self._request("GET", f"{_at(name)}/status"), {})

    def task_configs(self, name: str) -> list[dict[str, str]]:
        """What each task was given: the connector's config as it then was, and the task's own share."""
        return [task["config"] for task in self._retrying("GET", f"{_at(name)}/tasks")]

    def config(self, name: str) -> dict[str, str]:
        config: dict[str, str] = self._retrying("GET", f"{_at(name)}/config")
        return config

    def create(self, connector: Connector) -> None:
        """POST, as the tutorials do it: refused with 409 when the name exists."""
        self._request("POST", "/connectors", json={"name": connector.name, "config": connector.config})

    def deploy(self, connector: Connector) -> None:
        """PUT: creates the connector or changes its config; doing it twice is fine."""
        self._retrying("PUT", f"{_at(connector.name)}/config", json=connector.config)

    def delete(self, name: str) -> None:
        self._retrying("DELETE", _at(name))

    def pause(self, name: str) -> None:
        self._retrying("PUT", f"{_at(name)}/pause")

    def resume(self, name: str) -> None:
        self._retrying("PUT", f"{_at(name)}/resume")

    def stop(self, name: str) -> None:
        self._since("3.5", "stopping a connector", name, "PUT", "stop")

    def restart(self, name: str, task: int | None = None) -> None:
        """One task, or the connector without its tasks: each for itself, as every version can."""
        self._retrying(
            "POST", f"{_at(name)}/restart" if task is None else f"{_at(name)}/tasks/{task}/restart"
        )

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """How far the connector got in each source partition, as last flushed (Kafka 3.5 and later)."""
        found = self._since("3.5", "reading a connector's offsets", name, "GET", "offsets")
        offsets: list[dict[str, Any]] = found["offsets"]
        return offsets

    def reset_offsets(self, name: str) -> None:
        """Forget how far a STOPPED connector got (Kafka 3.6 and later)."""
        self._since("3.6", "resetting a connector's offsets", name, "DELETE", "offsets")

    def alter_offsets(self, name: str, offsets: list[dict[str, Any]]) -> None:
        """How far a STOPPED connector got in some source partitions (Kafka 3.6 and later)."""
        self._retrying("PATCH", f"{_at(name)}/offsets", json={"offsets": offsets})

    def _since(self, version: str, doing: str, name: str, method: str, what: str) -> Any:
        """A request that an older worker answers with 404, as it does for a connector it does not have."""
        try:
            return self._retrying(method, f"{_at(name)}/{what}")
        except ConnectError as error:
            if error.status not in (NOT_FOUND, NO_SUCH_METHOD) or name not in self.names():
                raise
            raise BadInput(
                f"{doing} needs Kafka {version} or later on the workers; this one has {self.version()}",
                '"lab up --kafka VERSION" starts another',
            ) from error

    def validate(self, connector: Connector) -> list[Objection]:
        """The worker's own validation: types, values, what the connector class checks; no unknown keys."""
        answer = self._validation(connector)
        found = (
            Objection(key=entry["value"]["name"], message=message)
            for entry in answer["configs"]
            for message in entry["value"]["errors"]
        )
        return list(dict.fromkeys(found))  # both the worker and the connector's class object, word for word

    def known_keys(self, connector: Connector) -> set[str]:
        """Every key that the connector's class and the worker define."""
        return {entry["definition"]["name"] for entry in self._validation(connector)["configs"]}

    def _validation(self, connector: Connector) -> dict[str, Any]:
        plugin = connector.connector_class.rpartition(".")[2]
        body = {"name": connector.name, **connector.config}
        answer: dict[str, Any] = self._request(
            "PUT", f"/connector-plugins/{plugin}/config/validate", json=body
        )
        return answer


def _at(name: str) -> str:
    """A connector may have any name; in its path a slash is none."""
    return f"/connectors/{quote(name, safe='')}"
