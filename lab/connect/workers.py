"""Connect: the REST API, and waiting until the workers have done what they were asked for."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from lab.connect.api import Api
from lab.connect.rest import NOT_FOUND, ConnectError, NoAnswer, Rebalancing
from lab.mm2_status import Status
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
NEWS_S: Final = 30.0  # a restart is told to all workers through a topic, maybe after a rebalance
_PASSING: Final = (Rebalancing, NoAnswer)
SETTLED_S: Final = 1.0  # between a task's new config and its old self being stopped


class Connect(Api):
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
        self.alter_offsets(name, offsets)
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
            transient=_PASSING,
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

        wait_until(observe, timeout_s=CONNECTOR_RUNS_S, what=f'connector "{name}" gone', transient=_PASSING)

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
                transient=_PASSING,
            )

    def wait_until_runs(
        self, name: str, *, idle: bool = False, config: Mapping[str, str | None] | None = None
    ) -> Status:
        """Wait for the connector and all its tasks; a failed one ends the wait with its own error.

        With `idle` a connector without tasks will do. With `config` the tasks must have been given that,
        without the keys whose value is None, and run for a while: after a change the old ones still stand
        there as RUNNING.
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
            transient=_PASSING,
            hint=self._see_log,
        )

    def _not_failed(self, name: str) -> Status:
        status = self.status(name)
        if status.failure:
            raise ConnectError(f'connector "{name}" failed: {status.failure}', self._see_log)
        return status


def _have(tasks: Sequence[Mapping[str, str]], config: Mapping[str, str | None]) -> bool:
    # What a config provider fills in is not compared.
    wanted = {key: value for key, value in config.items() if value is None or "${" not in value}
    return all(task.get(key) == value for task in tasks for key, value in wanted.items())
