"""Sends a plan's records at its rate, and writes down in the ledger what becomes of each.

What the records look like is in `lab.records`; beside a scenario's steps it runs as `lab.producing`.
"""

import json
import time
import zlib
from collections.abc import Callable
from types import MethodType
from typing import Final

from lab.kafka import Cluster, ClusterError, KafkaError, KafkaException, Message, Producer
from lab.ledger import Ledger
from lab.records import (
    ABORT_EVERY,
    HEADER,
    Plan,
    Tally,
    is_tombstone,
    payload,
    record_headers,
    record_id,
    record_key,
)
from lab.wait import RECORDS_ARRIVE_S, pace

__all__ = ["HEADER", "Plan", "Tally", "Workload", "payload", "produce", "record_id"]

_RESERVED_AT_ONCE: Final = 50_000
_BATCH: Final = 256  # records between two looks at deliveries, clock and ledger
# With a rate. Each burst is one small batch per partition for producer, brokers, replicas and MM2: at 500
# records a second, 100 bursts instead of 5 took three times the CPU of all of them together.
_BURSTS_PER_S: Final = 5

# With these a broker refuses the very batch that it was sent; after any error that is in neither list nobody
# knows what became of the record.
_REFUSED: Final = frozenset(
    (
        *(KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD),
        *(KafkaError.POLICY_VIOLATION, KafkaError.INVALID_TIMESTAMP),
    )
)
# With these a record may also fail that was never sent.
_REFUSED_OR_NOT_SENT: Final = frozenset(
    (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
)
_MEASURED_MS: Final = 500
_MEASURED_S: Final = 5.0  # for two of librdkafka's statistics, also on a busy machine


class Workload:
    """One producer going through its plan, in the thread that calls `run`."""

    def __init__(self, cluster: Cluster, topic: str, plan: Plan, ledger: Ledger | None = None) -> None:
        self.tally = Tally()
        self.patience_s = RECORDS_ARRIVE_S
        self.stopped = False
        self._plan, self._topic, self._ledger = plan, topic, ledger
        self._where = f'topic "{topic}" of cluster "{cluster.alias}"'
        self._refusals: list[int | None] = []
        self._answered = 0  # of them, those that a broker answered for certain
        self._statistics, self._measured = "", 0
        self._producer: Producer = cluster.producer(**_settings(plan), stats_cb=self._measure)
        self._deliveries = [self._delivery(partition) for partition in range(len(cluster.offsets(topic)))]
        self._begin = time.monotonic()

    def run(self, on_progress: Callable[[Tally], None]) -> Tally:
        """Send with acks=all until the plan's end, and wait until each is acked, failed, or given up on."""
        self._begin = shown = time.monotonic()
        batch = self._plan.transaction_size or _BATCH
        if self._plan.rate_per_s and not self._plan.transaction_size:
            batch = max(1, min(batch, int(self._plan.rate_per_s / _BURSTS_PER_S)))
        try:
            if self._plan.transaction_size:
                self._producer.init_transactions(RECORDS_ARRIVE_S)
            while not self._over():
                self._send_some(batch)
                self._look()
                if (now := time.monotonic()) - shown > 0.2:
                    shown = now
                    on_progress(self._counted())
                if self._plan.rate_per_s:
                    pace(self.tally.sent, self._plan.rate_per_s, self._begin, meanwhile=self._look_or_end)
        except _Over:
            pass
        except KafkaException as error:
            raise ClusterError(f"producing to {self._where} failed: {error}", 'see "lab status"') from error
        finally:
            self._producer.flush(self.patience_s if self.tally.sent else 0)
            self._counted().seconds = time.monotonic() - self._begin
            self._settle_refusals()
            del self._producer  # closed with its last reference
        return self.tally

    def _over(self) -> bool:
        plan = self._plan
        if self.stopped or (plan.records is not None and self.tally.sent >= plan.records):
            return True
        return plan.seconds is not None and time.monotonic() - self._begin >= plan.seconds

    def _send_some(self, count: int) -> None:
        first = self.tally.sent
        stop = first + count if self._plan.records is None else min(first + count, self._plan.records)
        if (ledger := self._ledger) is not None and ledger.reserved < stop:
            ledger.reserve(_ahead(self._plan, ledger.reserved, stop))
        if self._plan.transaction_size:
            self._transaction(first, stop)
        else:
            self._send(first, stop)

    def _send(self, first: int, stop: int) -> None:
        """Queue the records from `first` to before `stop`."""
        plan, topic, producer = self._plan, self._topic, self._producer
        deliveries, partitions = self._deliveries, len(self._deliveries)
        for sequence in range(first, stop):
            identity = record_id(plan.run, sequence)
            key = record_key(plan, sequence)
            partition = (sequence if key is None else zlib.crc32(key)) % partitions
            record = (
                topic,
                None if is_tombstone(plan, sequence) else payload(identity, plan.size_bytes),
                key,
                partition,
                # a bound method with the number as its "self": cheaper than a partial or a lambda
                MethodType(deliveries[partition], sequence) if self._ledger else self._count,
            )
            headers = record_headers(plan, sequence, identity)
            self.tally.sent = sequence + 1  # before: a record that may have been queued counts as sent
            while True:
                try:
                    producer.produce(*record, headers=headers)
                except BufferError:
                    if self.stopped:  # nothing may drain it for minutes, and this record was never in it
                        self.tally.sent = sequence
                        return
                    producer.poll(0.1)  # a full queue is drained, not an error
                else:
                    break

    def _transaction(self, first: int, stop: int) -> None:
        """Send one transaction's records, see them delivered, then commit, or abort on purpose."""
        index = first // self._plan.transaction_size
        producer, ledger = self._producer, self._ledger
        if ledger is not None:
            ledger.begin(index, first, stop)
        committed: bool | None = None
        try:
            producer.begin_transaction()
            self._send(first, stop)
            producer.flush(self.patience_s)
            if index % ABORT_EVERY == ABORT_EVERY - 1:
                committed = False
                producer.abort_transaction(self.patience_s)
            else:
                committed = self._commit()
        finally:
            if ledger is not None:
                ledger.end(index, self.tally.sent, committed)

    def _commit(self) -> bool:
        """Commit; False if the transaction had to be aborted, as when one of its records was refused."""
        try:
            self._producer.commit_transaction(self.patience_s)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self._producer.abort_transaction(self.patience_s)
            return False
        return True

    # -- deliveries --------------------------------------------------------------------------------

    def _look(self, wait_s: float = 0) -> None:
        self._producer.poll(wait_s)
        if self._ledger is not None:
            self._ledger.flush_when_due()

    def _look_or_end(self, wait_s: float) -> None:
        self._look(wait_s)
        if self._over():
            raise _Over

    def _delivery(self, partition: int) -> Callable[[int, KafkaError | None, Message], None]:
        """What hears of the records of a partition; it runs for every record, so it does nothing else."""
        if self._ledger is None:
            return lambda sequence, error, message: None
        add_sequence, add_offset = self._ledger.acks(partition)

        def delivered(sequence: int, error: KafkaError | None, message: Message) -> None:
            if error is None:
                add_sequence(sequence)
                add_offset(message.offset())
            else:
                self._refused(error, sequence)

        return delivered

    def _count(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.tally.acked += 1
        else:
            self._refused(error)

    def _refused(self, error: KafkaError, sequence: int | None = None) -> None:
        self.tally.first_error = self.tally.first_error or error.str()
        if error.code() in _REFUSED or error.code() in _REFUSED_OR_NOT_SENT:
            self._refusals.append(sequence)
            self._answered += error.code() in _REFUSED

    def _settle_refusals(self) -> None:
        """What was refused is certainly not in the topic if no record was sent twice.

        The refusal may be of a second attempt, after a first one without an answer that the topic has all the
        same. librdkafka knows that of each record (rd_kafka_message_status), but its Python client does not
        say so; it counts what it has sent, though, each attempt anew.
        """
        if not self._refusals:
            return
        first, deadline = self._measured, time.monotonic() + _MEASURED_S
        while (
            self._measured < first + 2 and time.monotonic() < deadline
        ):  # the next may have been made before
            self._producer.poll(0.1)
        if self._measured < first + 2:
            return
        if json.loads(self._statistics).get("txmsgs") != self.tally.acked + self._answered:
            return
        self.tally.failed = len(self._refusals)
        for sequence in self._refusals:
            if self._ledger is not None and sequence is not None:
                self._ledger.fail(sequence)

    def _measure(self, statistics: str) -> None:
        self._statistics = statistics
        self._measured += 1

    def _counted(self) -> Tally:
        if self._ledger is not None:
            self.tally.acked = self._ledger.acked
        return self.tally


class _Over(Exception):
    """The plan ended while the next record was waited for."""


def _settings(plan: Plan) -> dict[str, object]:
    settings: dict[str, object] = {
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 5,
        "compression.type": plan.compression,
        "statistics.interval.ms": _MEASURED_MS,
        # the broker judges what is too large, not the client's default of 1 MB
        "message.max.bytes": max(1_000_000, plan.size_bytes + 100_000),
    }
    if plan.transaction_size:
        settings["transactional.id"] = f"lab-{plan.run}"
    return settings


def _ahead(plan: Plan, reserved: int, stop: int) -> int:
    """How many records to reserve: twice as many each time, about a second's worth if that is known."""
    most = int(min(_RESERVED_AT_ONCE, plan.rate_per_s or _RESERVED_AT_ONCE))
    count = max(stop - reserved, min(max(1_000, reserved), most))
    return count if plan.records is None else min(count, plan.records - reserved)


def produce(cluster: Cluster, topic: str, plan: Plan, on_progress: Callable[[Tally], None]) -> Tally:
    """Go through a plan in this thread, without a ledger."""
    return Workload(cluster, topic, plan).run(on_progress)
