"""Kafka Connect's REST API: connectors, their tasks and what the worker thinks of a config."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import quote

import httpx

from lab.errors import LabError
from lab.mm2 import Connector
from lab.wait import CONNECT_ANSWERS_S, CONNECTOR_RUNS_S, NotYet, wait_until

REQUEST_S: Final = 30.0  # validation opens admin clients to both clusters and is slow when one is down
_REBALANCING: Final = 409
_NOBODY: Final = "lab-healthy"  # no connector has this name


class ConnectError(LabError):
    """The worker did not answer, or refused."""

    def __init__(self, message: str, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class Rebalancing(ConnectError):
    """409 while workers agree on who runs what; the same request succeeds a little later."""


@dataclass(frozen=True, kw_only=True)
class Task:
    id: int
    state: str
    worker: str
    trace: str = ""


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a worker says of a connector. Never evidence that a record arrived."""

    name: str
    connector_class: str
    state: str
    worker: str
    tasks: tuple[Task, ...]
    trace: str = ""
    topics: str = ""

    @property
    def running(self) -> bool:
        return self.state == "RUNNING" and bool(self.tasks) and all(t.state == "RUNNING" for t in self.tasks)

    @property
    def failure(self) -> str | None:
        """The first failed part's own error, in one line."""
        for trace in (self.trace, *(task.trace for task in self.tasks)):
            if trace:
                causes = [line.strip() for line in trace.splitlines() if line.startswith("Caused by: ")]
                return causes[-1].removeprefix("Caused by: ") if causes else trace.splitlines()[0]
        return None

    def __str__(self) -> str:
        tasks = ", ".join(f"task {task.id} {task.state}" for task in self.tasks) or "no tasks"
        return f"connector {self.state}, {tasks}" + (f" ({self.failure})" if self.failure else "")


@dataclass(frozen=True, kw_only=True)
class Objection:
    """One thing that the worker's own validation says against a config."""

    key: str
    message: str


class Connect:
    def __init__(self, url: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, timeout=REQUEST_S, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def wait_until_answers(self) -> None:
        def observe() -> bool:
            try:
                self._request("GET", f"/connectors/{_NOBODY}/config")
            except ConnectError as error:
                if f"Connector {_NOBODY} " not in error.message:
                    raise
            return True

        # The list of connectors is answered before the worker has even created its topics. A connector's
        # config is not; until then the answer is an error of another kind, or none.
        wait_until(
            observe,
            timeout_s=CONNECT_ANSWERS_S,
            what=f"Connect answers at {self.url}",
            transient=(ConnectError,),
            hint='see "lab logs connect"',
        )

    def version(self) -> str:
        return str(self._request("GET", "/")["version"])

    def names(self) -> list[str]:
        return sorted(self._request("GET", "/connectors"))

    def statuses(self) -> list[Status]:
        found = self._request("GET", "/connectors", params={"expand": ["status", "info"]})
        return [
            _status(entry["status"], entry["info"]["config"])
            for _, entry in sorted(found.items())
            if "status" in entry  # a connector that was created this very moment has none
        ]

    def status(self, name: str) -> Status:
        return _status(self._request("GET", f"{_at(name)}/status"), {})

    def config(self, name: str) -> dict[str, str]:
        config: dict[str, str] = self._request("GET", f"{_at(name)}/config")
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
        self._request("PUT", f"{_at(name)}/pause")

    def resume(self, name: str) -> None:
        self._request("PUT", f"{_at(name)}/resume")

    def stop(self, name: str) -> None:
        self._request("PUT", f"{_at(name)}/stop")

    def rewind(self, name: str, topic: str, positions: Mapping[int, int], *, source_alias: str) -> None:
        """Let a source connector read a topic's partitions again from these offsets (Kafka 3.6 or later)."""
        offsets = [
            {
                # The worker stores the last offset that was read, and goes on after it.
                "partition": {"cluster": source_alias, "topic": topic, "partition": partition},
                "offset": {"offset": first - 1} if first else None,
            }
            for partition, first in positions.items()
        ]
        self.stop(name)
        self._wait_until_stopped(name)
        self._retrying("PATCH", f"{_at(name)}/offsets", json={"offsets": offsets})
        self.resume(name)

    def forget(self, name: str) -> None:
        """Delete a connector and how far it got; under its name another one then starts anew.

        Deleting alone keeps the offsets: a topic that was deleted and created again would be read from
        where the old one ended, and what lies before is silently lost. Needs Kafka 3.6 or later.
        """
        self.stop(name)
        self._wait_until_stopped(name)
        self._retrying("DELETE", f"{_at(name)}/offsets")
        self.delete(name)

    def _wait_until_stopped(self, name: str) -> None:
        def observe() -> bool | NotYet:
            status = self.status(name)
            return True if status.state == "STOPPED" and not status.tasks else NotYet(str(status))

        wait_until(
            observe,
            timeout_s=CONNECTOR_RUNS_S,
            what=f'connector "{name}" STOPPED',
            transient=(Rebalancing,),
        )

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """How far the connector got in each source partition, as last flushed (Kafka 3.5 and later)."""
        offsets: list[dict[str, Any]] = self._request("GET", f"{_at(name)}/offsets")["offsets"]
        return offsets

    def validate(self, connector: Connector) -> list[Objection]:
        """The worker's own validation: types, values, what the connector class checks; no unknown keys."""
        answer = self._validation(connector)
        return [
            Objection(key=entry["value"]["name"], message=message)
            for entry in answer["configs"]
            for message in entry["value"]["errors"]
        ]

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

    def wait_until_runs(self, name: str, *, needs_tasks: bool = True) -> Status:
        """Wait for the connector and all its tasks; a failed task ends the wait with its own error."""

        def observe() -> Status | NotYet:
            status = self.status(name)
            if status.failure:
                raise ConnectError(f'connector "{name}" failed: {status.failure}', 'see "lab logs connect"')
            idle = not needs_tasks and status.state == "RUNNING" and not status.tasks
            return status if status.running or idle else NotYet(str(status))

        def attempt() -> Status | NotYet:
            try:
                return observe()
            except ConnectError as error:
                if error.status == 404:  # accepted, not yet started
                    return NotYet(error.message)
                raise

        return wait_until(
            attempt,
            timeout_s=CONNECTOR_RUNS_S,
            what=f'connector "{name}" and its tasks RUNNING',
            transient=(Rebalancing,),
            hint='see "lab logs connect"',
        )

    def _retrying(self, method: str, path: str, **options: Any) -> Any:
        return wait_until(
            lambda: self._request(method, path, **options),
            timeout_s=CONNECTOR_RUNS_S,
            what=f"{method} {path} accepted",
            transient=(Rebalancing,),
        )

    def _request(self, method: str, path: str, **options: Any) -> Any:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise ConnectError(
                f"{method} {self.url}{path} failed: {str(error) or type(error).__name__}",
                'is the worker up? see "lab status" and "lab logs connect"',
            ) from error
        if response.status_code >= 400:
            raise self._refusal(method, path, response)
        try:
            return response.json() if response.content else {}
        except ValueError as error:
            raise ConnectError(
                f"{method} {self.url}{path} gave no JSON: {response.text[:80]!r}", "is it a Connect worker?"
            ) from error

    def _refusal(self, method: str, path: str, response: httpx.Response) -> ConnectError:
        try:
            body = response.json()
        except ValueError:
            body = None
        message = body.get("message") if isinstance(body, dict) else None
        told = " ".join(str(message or response.text).split())
        kind = ConnectError
        if response.status_code == _REBALANCING and "already exists" not in told:
            kind = Rebalancing
        return kind(f"{method} {path} gave {response.status_code}: {told}", status=response.status_code)


def _at(name: str) -> str:
    """A connector may have any name; in its path a slash is none."""
    return f"/connectors/{quote(name, safe='')}"


def _status(body: dict[str, Any], config: dict[str, str]) -> Status:
    connector = body["connector"]
    return Status(
        name=body["name"],
        connector_class=config.get("connector.class", "").rpartition(".")[2],
        state=connector["state"],
        worker=connector["worker_id"],
        trace=connector.get("trace", ""),
        topics=config.get("topics", ""),
        tasks=tuple(
            Task(id=t["id"], state=t["state"], worker=t["worker_id"], trace=t.get("trace", ""))
            for t in body["tasks"]
        ),
    )
