"""The engine is asked over its real socket."""

import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lab.setup.engine_api import Endpoint, Reply, ask_engine


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Api-Version", "1.41")
        self.end_headers()
        self.wfile.write(b'{"path": "' + self.path.encode() + b'"}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test quiet."""


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def get_request(self) -> tuple[object, tuple[str, int]]:  # type: ignore[override]
        request, _ = super().get_request()
        return request, ("client", 0)


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    path = tmp_path / "s"
    with _Server(str(path), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Endpoint(f"unix://{path}")
        server.shutdown()
        thread.join()


def test_a_get_over_the_socket_brings_status_version_and_body(endpoint: Endpoint) -> None:
    reply = ask_engine(endpoint, "GET", "/_ping")
    assert (reply.status, reply.api_version, reply.json()) == (200, "1.41", {"path": "/_ping"})


def test_a_post_carries_its_body(endpoint: Endpoint) -> None:
    assert ask_engine(endpoint, "POST", "/networks/create", body='{"Name": "x"}').json() == {"Name": "x"}


def test_a_socket_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ask_engine(Endpoint(f"unix://{tmp_path}/none"), "GET", "/_ping")


def test_the_message_of_an_error_reply_is_the_engines_own() -> None:
    assert Reply(500, '{"message": "no such host"}').message == "no such host"
    assert Reply(502, "bad gateway").message == "bad gateway"
    assert Reply(502).message == "HTTP 502"
