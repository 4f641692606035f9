"""Toxiproxy's HTTP API: the proxies of a link, and what is done to the bytes that go through them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from lab.errors import LabError
from lab.http import HttpApi

_REQUEST_S: Final = 10.0
_NOT_FOUND: Final = 404


class LinkError(LabError):
    """The link did not answer, or refused."""


@dataclass(frozen=True, kw_only=True)
class Toxic:
    """One thing that is done to the bytes of a proxy; `upstream` is from the client to the broker."""

    name: str
    type: str
    stream: str = "downstream"
    fraction: float = 1.0  # of the connections
    attributes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Proxy:
    name: str
    enabled: bool
    toxics: tuple[str, ...]


class Toxiproxy(HttpApi):
    def __init__(self, url: str, *, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(url, timeout_s=_REQUEST_S, transport=transport)

    def proxies(self) -> dict[str, Proxy]:
        found: dict[str, Any] = self._request("GET", "/proxies").json()
        return {
            name: Proxy(
                name=name, enabled=proxy["enabled"], toxics=tuple(t["name"] for t in proxy["toxics"] or ())
            )
            for name, proxy in found.items()
        }

    def switch(self, proxy: str, *, enabled: bool) -> None:
        """Off, it closes its connections and refuses new ones."""
        self._request("POST", f"/proxies/{proxy}", json={"enabled": enabled})

    def add(self, proxy: str, toxic: Toxic) -> None:
        body = {
            "name": toxic.name,
            "type": toxic.type,
            "stream": toxic.stream,
            "toxicity": toxic.fraction,
            "attributes": dict(toxic.attributes),
        }
        self._request("POST", f"/proxies/{proxy}/toxics", json=body)

    def remove(self, proxy: str, toxic: str) -> None:
        """One that is not there is fine: a link that was restarted has none."""
        self._request("DELETE", f"/proxies/{proxy}/toxics/{toxic}", fine=(_NOT_FOUND,))

    def _request(
        self, method: str, path: str, *, fine: tuple[int, ...] = (), **options: Any
    ) -> httpx.Response:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise LinkError(
                f"{method} {self.url}{path} failed: {str(error) or type(error).__name__}",
                'is the link up? "lab status" tells',
            ) from error
        if response.status_code >= 400 and response.status_code not in fine:
            told = " ".join(response.text.split())[:200]
            raise LinkError(f"{method} {path} gave {response.status_code}: {told}", 'see "lab logs link"')
        return response
