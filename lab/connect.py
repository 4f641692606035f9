"""Kafka Connect's REST API: connectors, their tasks and what the worker thinks of a config."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from lab.errors import BadInput
from lab.mm2 import Connector
from lab.mm2_status import Deployed, Status
from lab.rest import NO_SUCH_METHOD, NOT_FOUND, ConnectError, Rebalancing, Rest
from lab.wait import (
    CONNECT_ANSWERS_S,
    CONNECTOR_RUNS_S,
    CONNECTOR_STATE_S,
    FORGOTTEN_S,
    NotYet,
    TimedOut,
    wait_until,
)

_NOBODY: Final = "lab-healthy"  # no connector has this name
NEWS_S: Final = 10.0  # a restart is told to all workers through a topic
SETTLED_S: Final = 1.0  # between a task's new config and its old self being stopped

__all__ = ["Connect", "ConnectError", "Objection", "Rebalancing"]


@dataclass(frozen=True, kw_only=True)
class Objection:
    """One thing that the worker's own validation says against a config."""

    key: str
    message: str


class Connect(Rest):
    """The workers of one Connect cluster, asked through one of them."""

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
            hint=self._see_log,
        )

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
        self.wait_until_state(name, "STOPPED")
        self._retrying("PATCH", f"{_at(name)}/offsets", json={"offsets": offsets})
        self.resume(name)

    def forget(self, name: str) -> None:
        """Delete a connector and how far it got; under its name another one then starts anew.

        Deleting alone keeps the offsets: a topic that was deleted and created again would be read from
        where the old one ended, and what lies before is silently lost. Needs Kafka 3.6 or later.
        """

        def forgotten() -> bool:
            try:
                self.stop(name)
            except ConnectError as error:
                if error.status == NOT_FOUND:
                    return True
                raise
            self.wait_until_state(name, "STOPPED")
            self.reset_offsets(name)
            self.delete(name)
            return True

        # After a fault a task fails, or may take minutes until it gives up what it was doing.
        wait_until(
            forgotten,
            timeout_s=FORGOTTEN_S,
            what=f'connector "{name}" is forgotten',
            transient=(ConnectError, TimedOut),
        )

    def wait_until_state(self, name: str, state: str) -> Status:
        """Until the connector and all its tasks are in it; STOPPED has no tasks."""

        def observe() -> Status | NotYet:
            status = self._not_failed(name)
            there = status.all(state) and not (state == "STOPPED" and status.tasks)
            return status if there else NotYet(str(status))

        return wait_until(
            observe,
            timeout_s=CONNECTOR_STATE_S,
            what=f'connector "{name}" {state}',
            transient=(Rebalancing,),
        )

    def wait_until_gone(self, name: str) -> None:
        """A connector that is created again too soon would show the old one's tasks as its own."""

        def observe() -> bool | NotYet:
            try:
                return NotYet(str(self.status(name)))
            except ConnectError as error:
                if error.status == NOT_FOUND:
                    return True
                raise

        wait_until(
            observe, timeout_s=CONNECTOR_RUNS_S, what=f'connector "{name}" gone', transient=(Rebalancing,)
        )

    def wait_until_news(self, before: Status) -> None:
        """After a restart the old failure stands there until the workers have told the new state.

        One that fails the same way at once may never be seen otherwise, so time-out is no error here. The
        connector itself may be told anew long before the task that failed.
        """

        def observe() -> bool | NotYet:
            now = self.status(before.name)
            return (now.failed, now.failure) != (before.failed, before.failure) or NotYet(str(now))

        with suppress(TimedOut):
            wait_until(
                observe,
                timeout_s=NEWS_S,
                what="another state",
                transient=(Rebalancing,),
            )

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """How far the connector got in each source partition, as last flushed (Kafka 3.5 and later)."""
        found = self._since("3.5", "reading a connector's offsets", name, "GET", "offsets")
        offsets: list[dict[str, Any]] = found["offsets"]
        return offsets

    def reset_offsets(self, name: str) -> None:
        """Forget how far a STOPPED connector got (Kafka 3.6 and later)."""
        self._since("3.6", "resetting a connector's offsets", name, "DELETE", "offsets")

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

    def wait_until_runs(
        self, name: str, *, idle: bool = False, config: Mapping[str, str] | None = None
    ) -> Status:
        """Wait for the connector and all its tasks; a failed one ends the wait with its own error.

        With `idle` a connector without tasks will do. With `config` the tasks must have been given that,
        and run for a while: after a change the old ones still stand there as RUNNING.
        """
        ran_since: float | None = None

        def observe() -> Status | NotYet:
            nonlocal ran_since
            status = self._not_failed(name)
            if not (status.running or (idle and status.all("RUNNING"))):
                ran_since = None
                return NotYet(str(status))
            given = self.task_configs(name)
            if len(status.tasks) < len(given):  # a task that nobody has begun has no state at all
                return NotYet(f"{status}, of {len(given)} tasks")
            if config is None:
                return status
            if not _have(given, config):
                return NotYet("tasks have an earlier config")
            ran_since = ran_since or time.monotonic()
            return status if time.monotonic() - ran_since >= SETTLED_S else NotYet(str(status))

        def attempt() -> Status | NotYet:
            try:
                return observe()
            except ConnectError as error:
                if error.status == NOT_FOUND:  # accepted, not yet started
                    return NotYet(error.message)
                raise

        return wait_until(
            attempt,
            timeout_s=CONNECTOR_RUNS_S,
            what=f'connector "{name}" and its tasks RUNNING',
            transient=(Rebalancing,),
            hint=self._see_log,
        )

    def _not_failed(self, name: str) -> Status:
        status = self.status(name)
        if status.failure:
            raise ConnectError(f'connector "{name}" failed: {status.failure}', self._see_log)
        return status


def _have(tasks: Sequence[Mapping[str, str]], config: Mapping[str, str]) -> bool:
    # What a config provider fills in is not compared.
    wanted = {key: value for key, value in config.items() if "${" not in value}
    return all(wanted.items() <= task.items() for task in tasks)


def _at(name: str) -> str:
    """A connector may have any name; in its path a slash is none."""
    return f"/connectors/{quote(name, safe='')}"
