"""A member of a consumer group: processes records, writes that down, then commits.

First the account and then the cluster: what is committed was processed for certain, and what a kill takes
is processed again, at least once. A commit is synchronous, so that what the account calls committed is.
"""

import time
from collections.abc import Callable
from typing import Final

from lab.consuming.account import Account
from lab.consuming.subscription import Subscription
from lab.errors import BadInput
from lab.kafka import (
    Cluster,
    ClusterError,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Place,
    TopicPartition,
)

_AT_ONCE: Final = 500
_WAIT_S: Final = 0.1

# The group is sharing partitions out anew: the same commit is taken a little later.
_LATER: Final = frozenset((KafkaError.REBALANCE_IN_PROGRESS,))


class Member:
    """One member, in the thread that calls `run`."""

    def __init__(self, cluster: Cluster, subscription: Subscription, account: Account) -> None:
        self._account, self._subscription = account, subscription
        self._what = f'consuming as group "{subscription.group}" from cluster "{cluster.alias}"'
        try:
            self._consumer: Consumer = cluster.consumer(**subscription.config)
        except KafkaException as error:
            raise BadInput(f"{self._what}: {error.args[0].str()}") from error
        self._assigned: set[Place] = set()
        self._ahead: dict[Place, int] = {}  # processed, and not committed
        self._committed_at = time.monotonic()

    def run(self, stopped: Callable[[], bool]) -> None:
        """Until `stopped`; then it commits what it has processed and leaves the group."""
        try:
            self._consumer.subscribe(
                self._subscription.subscribed,
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_lost,
            )
            while not (stopped() and self._commit()):
                self._process(self._consumer.consume(_AT_ONCE, timeout=_WAIT_S))
                if time.monotonic() - self._committed_at >= self._subscription.commit_every_s:
                    self._commit()
            self._consumer.close()
            self._account.closed()
        except KafkaException as error:
            raise ClusterError(f"{self._what} failed: {error.args[0].str()}", 'see "lab status"') from error

    def _process(self, messages: list[Message]) -> None:
        for message in messages:
            if (error := message.error()) is not None:
                raise KafkaException(error)
        if messages:
            self._account.processed(messages)
            self._ahead |= {(m.topic(), m.partition()): m.offset() + 1 for m in messages}

    def _commit(self) -> bool:
        """Commit what was processed since the last time; False if the group takes it only later."""
        if self._ahead:
            offsets = [TopicPartition(*place, offset) for place, offset in self._ahead.items()]
            try:
                answered = self._consumer.commit(offsets=offsets, asynchronous=False)
                for place in answered:
                    if place.error is not None:
                        raise KafkaException(place.error)
            except KafkaException as error:
                if error.args[0].code() in _LATER:
                    return False
                raise
            self._account.committed(self._ahead)
            self._ahead = {}
        self._committed_at = time.monotonic()
        return True

    # -- the group tells, while records are asked for or the consumer is closed ------------------------

    def _on_assign(self, _: Consumer, places: list[TopicPartition]) -> None:
        self._have(self._assigned | {(p.topic, p.partition) for p in places})

    def _on_revoke(self, _: Consumer, places: list[TopicPartition]) -> None:
        self._commit()
        self._give_up(places)

    def _on_lost(self, _: Consumer, places: list[TopicPartition]) -> None:
        """Somebody else has them already, who began at what was committed."""
        self._give_up(places)

    def _give_up(self, places: list[TopicPartition]) -> None:
        gone = {(p.topic, p.partition) for p in places}
        self._ahead = {place: offset for place, offset in self._ahead.items() if place not in gone}
        self._have(self._assigned - gone)

    def _have(self, places: set[Place]) -> None:
        self._assigned = places
        self._account.assigned(sorted(places))
