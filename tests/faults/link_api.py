"""A Toxiproxy in memory, behind the real client."""

import json
from typing import Any

import httpx
import pytest

from lab.faults import cut_link, link
from lab.toxiproxy import Toxiproxy

BROKERS = [f"kafka-{side}-{number}" for side in ("source", "target") for number in (1, 2, 3)]


class LinkApi:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.enabled = dict.fromkeys(BROKERS, True)
        self.toxics: dict[str, list[dict[str, Any]]] = {broker: [] for broker in BROKERS}
        self.deaf = False  # takes everything and does nothing
        for module in (link, cut_link):
            monkeypatch.setattr(module, "Toxiproxy", self.client)

    def client(self, url: str) -> Toxiproxy:
        return Toxiproxy(url, transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.strip("/").split("/")
        if request.method == "GET":
            proxies = {b: {"enabled": self.enabled[b], "toxics": self.toxics[b]} for b in BROKERS}
            return httpx.Response(200, json=proxies)
        broker = parts[1]
        if self.deaf:
            return httpx.Response(200)
        if request.method == "DELETE":
            there = [toxic for toxic in self.toxics[broker] if toxic["name"] == parts[3]]
            for toxic in there:
                self.toxics[broker].remove(toxic)
            return httpx.Response(204 if there else 404)
        body = json.loads(request.content)
        if len(parts) == 3:
            self.toxics[broker].append(body)
        else:
            self.enabled[broker] = body["enabled"]
        return httpx.Response(200)
