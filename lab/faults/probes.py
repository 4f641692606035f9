"""Whether something still answers, and how quickly: a few bytes over a connection of its own.

Not through a client library, which would try elsewhere, or again, and hide what is looked for.
"""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Final

from lab.topology import Topology

_LARGEST_TEXT: Final = 32_767  # of a Kafka client's id
_API_VERSIONS, _DESCRIBE_CONFIGS = 18, 32
_BROKER_RESOURCE: Final = 4
HTTP: Final = b"GET / HTTP/1.0\r\n\r\n"


class Answer(StrEnum):
    SAID = "said"  # bytes came
    ENDED = "ended"  # the connection was refused, reset or closed, without any
    SILENT = "silent"  # nothing came


def kafka_request(
    client_id: str = "lab", key: int = _API_VERSIONS, version: int = 0, body: bytes = b""
) -> bytes:
    """A whole request; by default one that every broker answers, also before a login."""
    name = client_id.encode()
    request = struct.pack(">hhih", key, version, 1, len(name)) + name + body
    return struct.pack(">i", len(request)) + request


def describe_broker(node_id: str) -> bytes:
    """A request whose answer is some ten kilobytes: the config of a broker."""
    name = node_id.encode()
    resource = struct.pack(">bh", _BROKER_RESOURCE, len(name)) + name + struct.pack(">i", -1)
    body = struct.pack(">i", 1) + resource + struct.pack(">?", True)  # with synonyms
    return kafka_request(key=_DESCRIBE_CONFIGS, version=1, body=body)


def question_for(topology: Topology, service: str) -> bytes | None:
    """What a service would answer; None where nothing is known."""
    if any(service in brokers for brokers in topology.roles.clusters.values()):
        return kafka_request()
    return HTTP if service in (*topology.workers, topology.roles.link, "prometheus", "exporter") else None


def ask(address: str, question: bytes, *, timeout_s: float = 2.0) -> Answer:
    with _connected(address, timeout_s) as connection:
        if connection is None:
            return Answer.ENDED
        return _asked(connection, question)


def ask_all(addresses: list[str], question: bytes, *, timeout_s: float = 2.0) -> list[Answer]:
    with ThreadPoolExecutor(max(1, len(addresses))) as pool:
        return list(pool.map(lambda address: ask(address, question, timeout_s=timeout_s), addresses))


def round_trips(address: str, *, count: int, timeout_s: float) -> list[float]:
    """Seconds from question to answer, one after the other on one connection; fewer if it ends."""
    taken: list[float] = []
    with _connected(address, timeout_s) as connection:
        while connection is not None and len(taken) < count:
            begin = time.monotonic()
            if _asked(connection, kafka_request(), whole=True) is not Answer.SAID:
                break
            taken.append(time.monotonic() - begin)
    return taken


def rate_up(address: str, *, at_least_bytes: int, timeout_s: float) -> float:
    """Bytes per second from here to the broker, by requests that are large; 0 if it does not answer."""
    request = kafka_request("x" * _LARGEST_TEXT)
    count = -(-at_least_bytes // len(request))
    return _per_second(address, request, count, timeout_s, lambda _: count * len(request))


def rate_down(address: str, node_id: str, *, at_least_bytes: int, timeout_s: float) -> float:
    """Bytes per second from the broker to here, by answers that are large; 0 if it does not answer."""
    request = describe_broker(node_id)
    size = 0
    with _connected(address, timeout_s) as connection, suppress(OSError):
        if connection is not None:
            connection.sendall(request)
            size = len(_whole_answer(connection) or b"")
    if not size:
        return 0.0
    return _per_second(address, request, -(-at_least_bytes // size), timeout_s, sum)


def _per_second(
    address: str, request: bytes, count: int, timeout_s: float, moved: Callable[[list[int]], int]
) -> float:
    """All requests before the first answer is read: how long each takes on its way must not count."""
    with _connected(address, timeout_s) as connection:
        if connection is None:
            return 0.0
        begin = time.monotonic()
        try:
            connection.sendall(request * count)
            sizes = [len(_whole_answer(connection) or b"") for _ in range(count)]
        except OSError:
            return 0.0
        return moved(sizes) / (time.monotonic() - begin) if all(sizes) else 0.0


@contextmanager
def _connected(address: str, timeout_s: float) -> Iterator[socket.socket | None]:
    host, _, port = address.rpartition(":")
    try:
        connection = socket.create_connection((host, int(port)), timeout=timeout_s)
    except OSError:
        yield None
        return
    with connection:
        yield connection


def _asked(connection: socket.socket, question: bytes, *, whole: bool = False) -> Answer:
    try:
        connection.sendall(question)
        answer = _whole_answer(connection) if whole else connection.recv(1)
    except TimeoutError:
        return Answer.SILENT
    except OSError:
        return Answer.ENDED
    return Answer.SAID if answer else Answer.ENDED


def _whole_answer(connection: socket.socket) -> bytes | None:
    """Of a broker: its length, and that many bytes."""
    head = _exactly(connection, 4)
    return _exactly(connection, struct.unpack(">i", head)[0]) if head is not None else None


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 65_536))
        if not part:
            return None
        parts += part
    return bytes(parts)
