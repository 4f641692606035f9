"""Requests to a Connect worker over HTTP, and what its refusals mean."""

from typing import Any, Final

import httpx

from lab.errors import LabError
from lab.http import HttpApi
from lab.wait import CONNECTOR_RUNS_S, wait_until

REQUEST_S: Final = 30.0  # validation opens admin clients to both clusters and is slow when one is down
NOT_FOUND: Final = 404
NO_SUCH_METHOD: Final = 405
_CONFLICT: Final = 409
# Some requests are answered with 500 then.
_REBALANCING: Final = "because a rebalance is expected"


class ConnectError(LabError):
    """The worker did not answer, or refused."""

    def __init__(self, message: str, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class Rebalancing(ConnectError):
    """Workers are agreeing on who runs what; the same request succeeds a little later."""


class NoAnswer(ConnectError):
    """The worker took the request and did not answer in time, as one does that stands still for a while."""


class Rest(HttpApi):
    """A worker's REST API without its words. `service` is the worker's name in its lab, if it has one."""

    def __init__(
        self,
        url: str,
        *,
        service: str | None = None,
        timeout_s: float = REQUEST_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, timeout_s=timeout_s, transport=transport)
        self._see_log = f'see "lab logs {service}"' if service else "see the worker's log"

    def _retrying(self, method: str, path: str, **options: Any) -> Any:
        return wait_until(
            lambda: self._request(method, path, **options),
            timeout_s=CONNECTOR_RUNS_S,
            what=f"{method} {path} accepted",
            transient=(Rebalancing,),
        )

    def _request(self, method: str, path: str, **options: Any) -> Any:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            kind = NoAnswer if isinstance(error, httpx.ReadTimeout) else ConnectError
            raise kind(
                f"{method} {self.url}{path} failed: {str(error) or type(error).__name__}",
                f'is the worker up? "lab status" tells; {self._see_log}',
            ) from error
        if response.status_code >= 400:
            raise self._refusal(method, path, response)
        try:
            return response.json() if response.content else {}
        except ValueError as error:
            raise ConnectError(
                f"{method} {self.url}{path} gave no JSON: {response.text[:80]!r}", "is it a Connect worker?"
            ) from error

    def _refusal(self, method: str, path: str, response: httpx.Response) -> ConnectError:
        try:
            body = response.json()
        except ValueError:
            body = None
        message = body.get("message") if isinstance(body, dict) else None
        told = " ".join(str(message or response.text).split())
        conflict = response.status_code == _CONFLICT and "already exists" not in told
        kind = Rebalancing if conflict or _REBALANCING in told else ConnectError
        return kind(f"{method} {path} gave {response.status_code}: {told}", status=response.status_code)
