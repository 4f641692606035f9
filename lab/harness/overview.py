"""A lab at a glance: its services, connectors and topics, each part on its own.

One looks when something is wrong: what does not answer is told, soon, and costs the rest nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from lab.engine import Container
from lab.errors import LabError
from lab.harness.parts import Parts

if TYPE_CHECKING:
    from lab.kafka import Topic
    from lab.mm2_status import Status

T = TypeVar("T")

_ANSWERS_S: Final = 4.0


@dataclass(kw_only=True)
class Overview:
    services: Sequence[Container] = ()
    connectors: Sequence[Status] | None = None  # None: nobody tells
    topics: dict[str, list[Topic]] = field(default_factory=dict)  # of the clusters that answer
    errors: dict[str, str] = field(default_factory=dict)  # what does not answer, e.g. 'cluster "source"'


def overview(lab: Parts) -> Overview:
    """What can be had within seconds."""
    found = Overview()
    with ThreadPoolExecutor(max_workers=16) as pool:
        services = pool.submit(lab.containers)
        topics = {
            alias: pool.submit(lambda a: lab.cluster(a).topics(timeout_s=_ANSWERS_S), alias)
            for alias in lab.topology.roles.clusters
        }
        connectors = {who: pool.submit(ask) for who, ask in _tellers(lab).items()}
    found.services = services.result()
    for alias, asked in topics.items():
        if (its := _answer(found, f'cluster "{alias}"', asked)) is not None:
            found.topics[alias] = its
    told = [_answer(found, who, asked) for who, asked in connectors.items()]
    found.connectors = next((its for its in told if its is not None), None if told else ())
    return found


def _answer(found: Overview, who: str, asked: Future[T]) -> T | None:
    try:
        return asked.result()
    except LabError as error:
        found.errors[who] = error.message
        return None


def _tellers(lab: Parts) -> dict[str, Callable[[], list[Status]]]:
    """Whoever can tell of the connectors, by its name: any worker speaks for all."""
    if lab.topology.mirror_makers:
        return {"MM2": lab.statuses}
    if url := lab.topology.roles.connect_url:
        return {f"worker at {url}": partial(_of_worker, url)}
    addresses = {worker: f"http://{lab.address(worker)}" for worker in lab.topology.workers}
    return {f'worker "{name}"': partial(_of_worker, at) for name, at in addresses.items()}


def _of_worker(url: str) -> list[Status]:
    """One that hangs is not waited for as long as others would."""
    from lab.connect import Connect

    with Connect(url, timeout_s=_ANSWERS_S) as worker:
        return worker.statuses()
