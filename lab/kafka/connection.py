"""The connection to one cluster that all its requests go through, and their errors."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from lab.errors import LabError
from lab.kafka.values import Place

REQUEST_S: Final = 15.0
_METADATA_S: Final = 5.0  # shorter than the budgets of those who ask again until a cluster answers

# librdkafka reports every refused connection while a broker starts; the lab says what it waits for itself.
QUIET: Final = logging.getLogger("lab.librdkafka")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class ClusterError(LabError):
    """A cluster did not answer, or refused."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        cause = error.args[0]
        told = cause.str() if isinstance(cause, KafkaError) else str(cause)
        raise ClusterError(f"{doing} failed: {told}", 'see "lab status"') from error


class Connection:
    """One Kafka cluster under its MM2 alias, and the client that asks it."""

    def __init__(self, alias: str, bootstrap: str, properties: Mapping[str, str] | None = None) -> None:
        self.alias = alias
        self.bootstrap = bootstrap
        self.properties = dict(properties or {})

    def client_config(self, **more: object) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, **self.properties, **more}

    @cached_property
    def _admin(self) -> AdminClient:
        """A broker that stands still is asked no more after some seconds: the default is a minute."""
        patience = {"socket.connection.setup.timeout.ms": 5_000, "socket.timeout.ms": 10_000}
        return AdminClient(self.client_config(**patience), logger=QUIET)

    def _renew(self) -> None:
        """With the next request a new client: one whose coordinator was away does not find it again."""
        self.__dict__.pop("_admin", None)

    def _metadata(self) -> Any:
        """The whole cluster's: asking for one topic by its name could create that topic."""
        with translated(f'asking cluster "{self.alias}" at {self.bootstrap}'):
            return self._admin.list_topics(timeout=_METADATA_S)

    def _list_offsets(
        self,
        partitions: list[Place],
        spec: OffsetSpec | Mapping[Place, OffsetSpec],
        *,
        isolation: str = "read_uncommitted",
    ) -> dict[Place, int]:
        if not partitions:
            return {}
        each = spec if isinstance(spec, Mapping) else dict.fromkeys(partitions, spec)
        asked = {TopicPartition(*place): each[place] for place in partitions}
        with translated(f'listing offsets of cluster "{self.alias}"'):
            futures = self._admin.list_offsets(
                asked, isolation_level=IsolationLevel[isolation.upper()], request_timeout=REQUEST_S
            )
            return {(tp.topic, tp.partition): future.result().offset for tp, future in futures.items()}
