"""Prometheus' HTTP API: what it scrapes, and what an expression gives right now."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from lab.errors import LabError
from lab.http import HttpApi

REQUEST_S: Final = 15.0


class MetricsError(LabError):
    """Prometheus did not answer, or refused an expression."""


@dataclass(frozen=True, kw_only=True)
class Target:
    job: str
    address: str
    health: str  # up, down, unknown (not scraped yet)
    error: str
    labels: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Value:
    labels: Mapping[str, str]
    value: float


class Metrics(HttpApi):
    def __init__(self, url: str, *, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(url, timeout_s=REQUEST_S, transport=transport)

    def targets(self) -> list[Target]:
        return [
            Target(
                job=target["labels"]["job"],
                address=target["labels"]["instance"],
                health=target["health"],
                error=target["lastError"],
                labels=target["labels"],
            )
            for target in self._get("targets", state="active")["activeTargets"]
        ]

    def query(self, expression: str) -> list[Value]:
        """Every series that the expression gives and that has a number: NaN is what a panel does not draw."""
        found = self._get("query", query=expression)
        if found["resultType"] == "scalar":
            found = {"result": [{"metric": {}, "value": found["result"]}]}
        values = [Value(labels=s["metric"], value=float(s["value"][1])) for s in found["result"]]
        return [value for value in values if not math.isnan(value.value)]

    def alerting(self) -> list[str]:
        """The names of the alerts that fire."""
        found = self._get("alerts")["alerts"]
        return sorted({alert["labels"]["alertname"] for alert in found if alert["state"] == "firing"})

    def _get(self, path: str, **parameters: str) -> Any:
        try:
            response = self._http.get(f"/api/v1/{path}", params=parameters)
            answer = response.json()
        except (httpx.TransportError, ValueError) as error:
            raise MetricsError(
                f"Prometheus at {self.url} does not answer: {error}", 'see "lab logs prometheus"'
            ) from error
        if answer.get("status") != "success":
            asked = parameters.get("query", path)
            raise MetricsError(f'Prometheus refuses "{asked}": {answer.get("error", response.status_code)}')
        return answer["data"]
