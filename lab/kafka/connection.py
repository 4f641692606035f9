"""The connection to one cluster that all its requests go through, and their errors."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from lab.errors import LabError
from lab.kafka.values import Place
from lab.wait import CLUSTER_ANSWERS_S, LEADER_FOUND_S, NotYet, TimedOut, wait_until

T = TypeVar("T")

REQUEST_S: Final = 15.0
ATTEMPT_S: Final = 5.0  # of what is asked again
_METADATA_S: Final = 5.0  # shorter than the budgets of those who ask again until a cluster answers

# librdkafka reports every refused connection while a broker starts; the lab says what it waits for itself.
QUIET: Final = logging.getLogger("lab.librdkafka")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class ClusterError(LabError):
    """A cluster did not answer, or refused."""


class LeaderMoved(ClusterError):
    """A broker was asked for a partition that it does not lead any more."""


_MOVED: Final = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.FENCED_LEADER_EPOCH)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        cause = error.args[0]
        code, told = (cause.code(), cause.str()) if isinstance(cause, KafkaError) else (None, str(cause))
        kind = LeaderMoved if code in _MOVED else ClusterError
        raise kind(f"{doing} failed: {told}", 'see "lab status"') from error


class Connection:
    """One Kafka cluster under its MM2 alias, and the client that asks it."""

    def __init__(self, alias: str, bootstrap: str, properties: Mapping[str, str] | None = None) -> None:
        self.alias = alias
        self.bootstrap = bootstrap
        self.properties = dict(properties or {})

    def client_config(self, **more: object) -> dict[str, Any]:
        """No client of the lab's makes a topic by asking for it: one that was just deleted would be back."""
        never_made = {"allow.auto.create.topics": False}
        return {"bootstrap.servers": self.bootstrap, **never_made, **self.properties, **more}

    @cached_property
    def _admin(self) -> AdminClient:
        """A broker that stands still is asked no more after some seconds: the default is a minute."""
        patience = {"socket.connection.setup.timeout.ms": 5_000, "socket.timeout.ms": 10_000}
        return AdminClient(self.client_config(**patience), logger=QUIET)

    def _renew(self) -> None:
        """With the next request a new client: one whose coordinator was away does not find it again."""
        self.__dict__.pop("_admin", None)

    def _insisting(
        self, ask: Callable[[], T], doing: str, *, transient: Collection[int] = (KafkaError._TIMED_OUT,)
    ) -> T:
        """The answer to what may be asked twice: after a time-out by a client that knows no broker yet."""

        def observe() -> T | NotYet:
            try:
                return ask()
            except KafkaException as error:
                if error.args[0].code() not in transient:
                    raise
                self._renew()
                return NotYet(error.args[0].str())

        with translated(doing):
            return wait_until(observe, timeout_s=CLUSTER_ANSWERS_S, what=doing, hint='see "lab status"')

    def _metadata(self) -> Any:
        with translated(f'asking cluster "{self.alias}" at {self.bootstrap}'):
            return self._admin.list_topics(timeout=_METADATA_S)

    def _list_offsets(
        self,
        partitions: list[Place],
        spec: OffsetSpec | Mapping[Place, OffsetSpec],
        *,
        isolation: str = "read_uncommitted",
        timeout_s: float = REQUEST_S,
    ) -> dict[Place, int]:
        if not partitions:
            return {}
        each = spec if isinstance(spec, Mapping) else dict.fromkeys(partitions, spec)
        asked = {TopicPartition(*place): each[place] for place in partitions}

        def ask() -> dict[Place, int]:
            try:
                with translated(doing):
                    futures = self._admin.list_offsets(
                        asked, isolation_level=IsolationLevel[isolation.upper()], request_timeout=timeout_s
                    )
                    return {(tp.topic, tp.partition): done.result().offset for tp, done in futures.items()}
            except LeaderMoved:
                self._metadata()  # who leads now
                raise

        doing = f'listing offsets of cluster "{self.alias}"'
        try:
            return wait_until(
                ask,
                timeout_s=min(LEADER_FOUND_S, timeout_s),
                what=doing,
                transient=(LeaderMoved,),
                pause_s=0.2,
            )
        except TimedOut as error:
            raise ClusterError(error.message, 'see "lab status"') from error
