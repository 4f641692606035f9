"""What a dedicated MirrorMaker 2 does, read from the topics in which its workers keep it.

It has no REST API for users. Each of its flows is a Connect cluster all the same, which belongs to the flow's
target, and there stand its connectors' configs, their states and how far they came.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from lab.kafka import Cluster
from lab.mm2 import Connector
from lab.mm2_dedicated import Pair
from lab.mm2_positions import Place, Position, assigned, committed, positions
from lab.mm2_status import Status


@dataclass(frozen=True)
class Dedicated:
    """The workers of all flows of one properties file."""

    flows: list[Pair]
    cluster: Callable[[str], Cluster]

    def statuses(self, *, since_ms: int = 0) -> list[Status]:
        """What the workers wrote last of each connector and its tasks. No evidence that records arrive.

        What one wrote that was killed stands there still; `since_ms` leaves out what is older.
        """
        with ThreadPoolExecutor(max_workers=len(self.flows) or 1) as pool:
            return [
                status
                for found in pool.map(lambda f: list(self._statuses(f, since_ms)), self.flows)
                for status in found
            ]

    def _statuses(self, flow: Pair, since_ms: int) -> Iterator[Status]:
        said = self._latest(flow, flow.status_topic, since_ms=since_ms)
        for connector in self._configs(flow):
            if found := said.get(f"status-connector-{connector.name}"):
                tasks = [
                    {**body, "id": int(key.rpartition("-")[2])}
                    for key, body in sorted(said.items())
                    if key.startswith(f"status-task-{connector.name}-") and body["state"] != "DESTROYED"
                ]
                told = {"name": f"{flow.name} {connector.name}", "connector": found, "tasks": tasks}
                yield Status.read(told, connector.config)

    def configs(self, flow: Pair) -> list[Connector]:
        """The connectors as the workers got them, under the names that they have there."""
        return list(self._configs(flow))

    def _configs(self, flow: Pair) -> Iterator[Connector]:
        for key, body in self._latest(flow, flow.configs_topic).items():
            if key.startswith("connector-"):
                yield Connector(name=key.removeprefix("connector-"), config=body["properties"])

    def positions(self) -> dict[str, list[Position]]:
        """By flow: how far its source connector came, as Connect would go on from."""
        return {flow.name: self._positions(flow) for flow in self.flows if flow.enabled}

    def committed(self, source: str, target: str) -> dict[Place, int | None]:
        """How far the source connector of one direction came; a direction without a worker came nowhere."""
        flow = next((flow for flow in self.flows if (flow.source, flow.target) == (source, target)), None)
        return {} if flow is None else self._committed(flow)

    def _committed(self, flow: Pair) -> dict[Place, int | None]:
        entries = [
            {"partition": json.loads(key)[1], "offset": body}
            for key, body in self._latest(flow, flow.offsets_topic).items()
            if key.startswith("[")
        ]
        return committed(entries, source_alias=flow.source)

    def _positions(self, flow: Pair) -> list[Position]:
        done = self._committed(flow)
        tasks = self._latest(flow, flow.configs_topic)
        mirrored = set(assigned(body["properties"] for key, body in tasks.items() if key.startswith("task-")))
        ends = self.cluster(flow.source).offsets_of({topic for topic, _ in {*done, *mirrored}})
        return positions(done, mirrored, {place: offsets.end for place, offsets in ends.items()})

    def _latest(self, flow: Pair, topic: str, *, since_ms: int = 0) -> Mapping[str, Any]:
        """The last value of each key in a compacted topic, without those that were taken back."""
        found: dict[str, Any] = {}
        for record in self.cluster(flow.target).snapshot(topic):
            if (record.timestamp_ms or 0) < since_ms:
                continue
            key = (record.key or b"").decode()
            found[key] = None if record.value is None else json.loads(record.value)
        return {key: body for key, body in found.items() if body is not None}
