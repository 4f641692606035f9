"""Probes tell an answer from an end and from silence, and measure; here a thread answers like a broker."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from lab import topology
from lab.faults import probes
from lab.faults.probes import Answer


class Broker:
    """Answers each request with a given number of bytes, after a while, or not at all."""

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.answer = b"x" * 20
        self.ends = self.silent = False
        self.received = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while head := connection.recv(4, socket.MSG_WAITALL):
                (size,) = struct.unpack(">i", head)
                connection.recv(size, socket.MSG_WAITALL)
                self.received += 4 + size
                if self.ends:
                    return
                if self.silent:
                    time.sleep(0.5)
                    return
                time.sleep(self.delay_s)
                connection.sendall(struct.pack(">i", len(self.answer)) + self.answer)

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def broker() -> Iterator[Broker]:
    server = Broker()
    yield server
    server.close()


def test_what_answers_is_told_from_what_ends_and_what_is_silent(broker: Broker) -> None:
    question = probes.kafka_request()
    assert probes.ask(broker.address, question) is Answer.SAID
    assert broker.received == len(question)

    broker.ends = True
    assert probes.ask(broker.address, question) is Answer.ENDED

    broker.ends, broker.silent = False, True
    assert probes.ask(broker.address, question, timeout_s=0.1) is Answer.SILENT
    assert probes.ask("127.0.0.1:1", question) is Answer.ENDED


def test_round_trips_are_measured_one_by_one(broker: Broker) -> None:
    broker.delay_s = 0.02

    taken = probes.round_trips(broker.address, count=5, timeout_s=2)

    assert len(taken) == 5
    assert min(taken) >= 0.02
    broker.ends = True
    assert probes.round_trips(broker.address, count=5, timeout_s=2) == []


def test_rates_count_the_bytes_of_their_direction(broker: Broker) -> None:
    broker.delay_s = 0.05
    broker.answer = b"x" * 10_000

    up = probes.rate_up(broker.address, at_least_bytes=100_000, timeout_s=5)
    assert up < 33_000 / 0.05  # a request of 32 KB in each 50 ms, at most
    assert up > 33_000 / 0.5
    down = probes.rate_down(broker.address, "1", at_least_bytes=30_000, timeout_s=5)
    assert 10_000 / 0.5 < down < 10_100 / 0.05
    broker.ends = True
    assert probes.rate_up(broker.address, at_least_bytes=1, timeout_s=1) == 0
    assert probes.rate_down(broker.address, "1", at_least_bytes=1, timeout_s=1) == 0
    assert probes.rate_down("127.0.0.1:1", "1", at_least_bytes=1, timeout_s=1) == 0


def test_each_service_is_asked_in_its_own_words() -> None:
    chosen = topology.load("resilience")

    assert probes.question_for(chosen, "kafka-source-1") == probes.kafka_request()
    assert probes.question_for(chosen, "kafka-connect-2") == probes.HTTP
    assert probes.question_for(chosen, "link") == probes.HTTP
    assert probes.question_for(chosen, "spark") is None
