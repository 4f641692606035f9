"""One flow, from a source cluster to a target cluster: how far MM2 is behind, and what it last said."""

import bisect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar

from lab.exporter.tails import Tails
from lab.kafka import Cluster, Place, Record
from lab.lag import LagWatcher, Sample, alike, mirrored_topics
from lab.mm2 import CHECKPOINT, HEARTBEATS, SOURCE, Connector, is_kafka_4
from lab.mm2_records import NotDecodable, checkpoint, heartbeat

T = TypeVar("T")

BUCKETS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0, 86_400.0)
# A backlog is counted within the collections' pauses; until then the lag is said to be "at most".
COUNTING_S: Final = 2.0
_LAST_HEARTBEATS: Final = 100  # of a topic with one a second, enough to find the youngest


@dataclass(frozen=True, kw_only=True)
class Latency:
    """How old mirrored records were when they were first seen on the target: a histogram."""

    counts: tuple[int, ...] = (0,) * (len(BUCKETS_S) + 1)  # of each bucket alone; the last has no limit
    sum_s: float = 0.0

    def with_one(self, seconds: float) -> "Latency":
        bucket = bisect.bisect_left(BUCKETS_S, seconds)
        counts = (*self.counts[:bucket], self.counts[bucket] + 1, *self.counts[bucket + 1 :])
        return Latency(counts=counts, sum_s=self.sum_s + seconds)


@dataclass(frozen=True, kw_only=True)
class FlowState:
    source: str  # the clusters' aliases
    target: str
    partitions: tuple[Sample, ...]
    latency: Mapping[str, Latency]  # by topic
    checkpoint_age_s: Mapping[str, float]  # by group
    heartbeat_age_s: float | None


Clusters = Callable[[str, str], Cluster]  # an alias and bootstrap servers, as a connector gives them


class Flow:
    """What is remembered of a flow between collections. One thread at a time may collect it."""

    def __init__(
        self,
        clusters: Clusters,
        *,
        clock: Callable[[], float] = time.time,
        watcher: Callable[..., LagWatcher] = LagWatcher,
        tails: Callable[[Cluster], Tails] = Tails,
    ) -> None:
        self._clusters, self._clock, self._new_watcher, self._new_tails = clusters, clock, watcher, tails
        self._watchers: dict[tuple[object, ...], LagWatcher] = {}
        self._tails: dict[Cluster, Tails] = {}
        self._arrivals: dict[tuple[object, Place], float] = {}
        self._latency: dict[str, Latency] = {}
        self._checkpoints: dict[str, int] = {}
        self._heartbeat: int | None = None

    def collect(self, connectors: Sequence[Connector], *, kafka_4: bool) -> FlowState:
        """Ask both clusters; fails when one of them does."""
        try:
            source, target = self._ends(connectors[0])
            partitions = self._partitions(connectors, kafka_4=kafka_4)
            self._read_tails(connectors)
        except BaseException:
            # A watcher that was interrupted does not know what it missed: the next one begins anew.
            self._close_watchers()
            raise
        now = self._clock()
        return FlowState(
            source=source.alias,
            target=target.alias,
            partitions=tuple(partitions),
            latency=dict(self._latency),
            checkpoint_age_s={g: max(0.0, now - ms / 1000) for g, ms in self._checkpoints.items()},
            heartbeat_age_s=None if self._heartbeat is None else max(0.0, now - self._heartbeat / 1000),
        )

    def close(self) -> None:
        self._close_watchers()
        for tails in self._tails.values():
            tails.close()

    def _close_watchers(self) -> None:
        watchers, self._watchers = list(self._watchers.values()), {}
        self._arrivals.clear()
        for watcher in watchers:
            watcher.close()

    def _ends(self, connector: Connector) -> tuple[Cluster, Cluster]:
        config = connector.config
        return (
            self._clusters(connector.source_alias, config.get("source.cluster.bootstrap.servers", "")),
            self._clusters(connector.target_alias, config.get("target.cluster.bootstrap.servers", "")),
        )

    # -- record lag -----------------------------------------------------------------------------------

    def _partitions(self, connectors: Sequence[Connector], *, kafka_4: bool) -> list[Sample]:
        wanted: set[tuple[object, ...]] = set()
        worst: dict[Place, Sample] = {}
        for group in alike(connectors):
            first = group[0]
            source, target = self._ends(first)
            key: tuple[object, ...] = (source, target, first.isolation, first.keeps_names, first.separator)
            topics = [topic for topic in source.topic_names() if topic != HEARTBEATS]
            wanted.add(key)
            mirrored = mirrored_topics(group, topics, kafka_4=kafka_4)
            if key not in self._watchers:
                self._watchers[key] = self._new_watcher(source, target, mirrored, isolation=first.isolation)
            self._watchers[key].mirrored = tuple(mirrored)
            for sample in self._watchers[key].sample(patience_s=COUNTING_S):
                place = (sample.topic, sample.partition)
                self._arrived((key, place), sample)
                worst[place] = max(worst.get(place, sample), sample, key=_behind)
        for gone in self._watchers.keys() - wanted:
            self._watchers.pop(gone).close()
        topics_now = {topic for topic, _ in worst}
        self._latency = {topic: latency for topic, latency in self._latency.items() if topic in topics_now}
        return list(worst.values())

    def _arrived(self, key: tuple[object, Place], sample: Sample) -> None:
        """Each time that another record was seen to have arrived counts once."""
        if sample.arrival_s is None or self._arrivals.get(key) == sample.arrival_s:
            return
        self._arrivals[key] = sample.arrival_s
        so_far = self._latency.get(sample.topic, Latency())
        self._latency[sample.topic] = so_far.with_one(sample.arrival_s)

    # -- MM2's own topics ------------------------------------------------------------------------------

    def _read_tails(self, connectors: Iterable[Connector]) -> None:
        checkpoints: dict[Cluster, set[str]] = {}
        heartbeats: dict[Cluster, set[str]] = {}
        for connector in connectors:
            target = self._ends(connector)[1]
            if connector.connector_class == CHECKPOINT:
                checkpoints.setdefault(target, set()).add(connector.checkpoints_topic)
            elif connector.connector_class == SOURCE:
                # Where MM2 mirrors the source's heartbeats topic to: never the one it writes to itself.
                heartbeats.setdefault(target, set()).add(connector.remote_topic(HEARTBEATS))
        self._heartbeat = None if not heartbeats else self._heartbeat
        for target, topics in checkpoints.items():
            for found in _decoded(checkpoint, self._tail(target).new(topics)):
                if found.written_ms is not None:
                    before = self._checkpoints.get(found.group, 0)
                    self._checkpoints[found.group] = max(before, found.written_ms)
        for target, topics in heartbeats.items():
            for beat in _decoded(heartbeat, self._tail(target).new(topics, at_most=_LAST_HEARTBEATS)):
                self._heartbeat = max(self._heartbeat or 0, beat.timestamp_ms)

    def _tail(self, cluster: Cluster) -> Tails:
        if cluster not in self._tails:
            self._tails[cluster] = self._new_tails(cluster)
        return self._tails[cluster]


def _decoded(decode: Callable[[Record], T | None], records: Iterable[Record]) -> Iterator[T]:
    """One record that is none of MM2's must not cost the metrics of all others."""
    for record in records:
        with suppress(NotDecodable):
            if (found := decode(record)) is not None:
                yield found


def _behind(sample: Sample) -> tuple[bool, int]:
    """Where several connectors mirror a topic, the one that is furthest behind counts."""
    return sample.lag is None, sample.lag or 0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The connectors of each flow, by "source->target", as the workers tell."""

    flows: Mapping[str, tuple[Connector, ...]] = field(default_factory=dict)
    kafka_4: bool = False


def plan(configs: Mapping[str, Mapping[str, str]], version: str) -> Plan:
    found: dict[str, tuple[Connector, ...]] = {}
    for name, config in configs.items():
        if "connector.class" in config:
            connector = Connector(name=name, config=config)
            if connector.connector_class in (SOURCE, CHECKPOINT):
                flow = f"{connector.source_alias}->{connector.target_alias}"
                found[flow] = (*found.get(flow, ()), connector)
    return Plan(flows=found, kafka_4=is_kafka_4(version))
