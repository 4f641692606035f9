"""What to do so that a connector runs as its file says: what counts as deployed, and what differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lab.mm2 import Connector
from lab.mm2_keys import is_secret
from lab.mm2_status import Deployed

_GIVEN_BY_CONNECT: Final = "name"  # the worker adds it to every config


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A key with another value in the file than on the workers; None where it is not given."""

    key: str
    file: str | None
    live: str | None

    @property
    def shown(self) -> tuple[str, str]:
        """Both values for people to read: of a secret only that it differs."""
        if is_secret(self.key):
            return ("(not given)" if self.file is None else "(secret)"), (
                "(not given)" if self.live is None else "(secret)"
            )
        return self.file or "(not given)", self.live or "(not given)"


def differences(connector: Connector, live: Mapping[str, str]) -> tuple[Difference, ...]:
    """In the order of their keys."""
    keys = {*connector.config, *live} - {_GIVEN_BY_CONNECT}
    return tuple(
        Difference(key=key, file=connector.config.get(key), live=live.get(key))
        for key in sorted(keys)
        if connector.config.get(key) != live.get(key)
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What deploying a connector takes; nothing if it runs with all its tasks and its file's config."""

    connector: Connector
    create: bool = False
    changed: tuple[str, ...] = ()  # keys
    restart: tuple[int | None, ...] = ()  # tasks by number, None for the connector itself
    resume: bool = False

    @property
    def said(self) -> str:
        """What was done, once it was done."""
        done = [
            "deployed" if self.create else "",
            f"changed: {', '.join(self.changed)}" if self.changed else "",
            f"restarted {' and '.join(map(_part, self.restart))}" if self.restart else "",
            "resumed" if self.resume else "",
        ]
        return "; ".join(text for text in done if text) or "already deployed"


def plan(connector: Connector, deployed: Deployed | None) -> Plan:
    """RUNNING alone does not count: a task may have FAILED, or the file may have been edited since."""
    if deployed is None:
        return Plan(connector=connector, create=True)
    changed = tuple(difference.key for difference in differences(connector, deployed.config))
    status = deployed.status
    return Plan(
        connector=connector,
        changed=changed,
        # A new config starts the connector and all its tasks anyway.
        restart=() if changed or status is None else status.failed,
        resume=status is not None and status.at_rest,
    )


def _part(task: int | None) -> str:
    return "failed connector" if task is None else f"failed task {task}"
