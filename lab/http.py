"""A connection to an HTTP API; whoever knows what can be asked there builds on it."""

from typing import Self

import httpx


class HttpApi:
    def __init__(self, url: str, *, timeout_s: float, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, timeout=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()
