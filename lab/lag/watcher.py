"""LagWatcher: samples the lag of a flow's topics."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from lab.kafka import Cluster, Offsets, Place, Reader, Record
from lab.lag.arrivals import READ_S, Arrivals, RangeReader
from lab.lag.partition import Known, Mirrored, Moment, Sample
from lab.lag.search import Search
from lab.mm2 import SOURCE, Connector

PATIENCE_S: Final = 0.3  # what a sample may spend on counting; the next one goes on


class LagWatcher:
    """Samples the lag of one flow's topics. Its two consumers live as long as it does.

    `mirrored` may be replaced between samples, as topics come and go.
    """

    def __init__(
        self,
        source: Cluster,
        target: Cluster,
        mirrored: Sequence[Mirrored],
        *,
        isolation: str = "read_uncommitted",
        clock: Callable[[], float] = time.time,
        reader: Callable[[Cluster, str], RangeReader] = lambda cluster, level: Reader(
            cluster, isolation=level
        ),
    ) -> None:
        self.source, self.target = source, target
        self.mirrored = tuple(mirrored)
        self._isolation, self._clock = isolation, clock
        self._partitions: dict[Place, Known] = {}
        self._upstream = reader(source, isolation)
        # What a transaction of MM2 aborted will be written once more.
        self._downstream = reader(target, "read_committed")
        self._arrivals = Arrivals(self._downstream, self._partitions)
        self._search = Search(
            source=source,
            isolation=isolation,
            reader=self._upstream,
            arrivals=self._arrivals,
            partitions=self._partitions,
            clock=clock,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._upstream.close()
        self._downstream.close()

    def sample(self, *, patience_s: float = PATIENCE_S) -> list[Sample]:
        """The lag of every partition that the source has now. Topics that it does not have give nothing."""
        at = self._clock()
        moment = self._moment()
        for place in moment.upstream:
            self._forget_if_new(place, moment)
        self._search.locate(self._arrivals.changed(moment), moment)
        self._count(moment.upstream, patience_s)
        return [self._sample(at, place, offsets) for place, offsets in moment.upstream.items()]

    def _moment(self) -> Moment:
        remotes = {m.topic: m.remote for m in self.mirrored}
        # The source's end first: what stands there must be on the target, what comes later need not be.
        upstream = self.source.offsets_of(remotes, isolation=self._isolation)
        ends = self.target.offsets_of(remotes.values(), isolation="read_committed")
        nothing = Offsets(start=0, end=0)
        downstream = {place: ends.get((remotes[place[0]], place[1]), nothing) for place in upstream}
        return Moment(upstream=upstream, downstream=downstream, remotes=remotes)

    def _forget_if_new(self, place: Place, moment: Moment) -> None:
        """A topic that was deleted and created again has shorter partitions."""
        known = self._partitions.setdefault(place, Known())
        source, target = moment.upstream[place], moment.downstream[place]
        if target.end < known.read_to or (known.found is not None and source.end <= known.found):
            self._partitions[place] = Known()

    # -- what stands after it -------------------------------------------------------------------------

    def _count(self, upstream: Mapping[Place, Offsets], patience_s: float) -> None:
        behind: dict[Place, tuple[int, int]] = {}
        for place, offsets in upstream.items():
            known = self._partitions[place]
            if known.lost:
                continue
            after = 0 if known.found is None else known.found + 1
            known.backlog.begin_at(max(offsets.start, after))
            if known.backlog.begin < offsets.end:
                behind[place] = (known.backlog.begin, offsets.end)
        self._read_first(behind)

        def take(place: Place, record: Record) -> bool:
            self._partitions[place].backlog.add(record)
            return True

        uncounted = {
            p: (self._partitions[p].backlog.end, end)
            for p, (_, end) in behind.items()
            if self._partitions[p].backlog.end < end
        }
        if uncounted:
            for place, read in self._upstream.read(uncounted, take, timeout_s=patience_s).items():
                self._partitions[place].backlog.reached(read)

    def _read_first(self, behind: Mapping[Place, tuple[int, int]]) -> None:
        """The oldest record of a backlog whose beginning was counted by an earlier sample."""

        def take(place: Place, record: Record) -> bool:
            self._partitions[place].backlog.first = record
            return False

        logs = {p: self._partitions[p].backlog for p in behind}
        unknown = {p: behind[p] for p, log in logs.items() if log.first is None and log.end > log.begin}
        if unknown:
            self._upstream.read(unknown, take, timeout_s=READ_S)

    def _sample(self, at: float, place: Place, offsets: Offsets) -> Sample:
        known = self._partitions[place]
        topic, partition = place
        if known.lost and offsets.count:
            return Sample(
                at=at,
                topic=topic,
                partition=partition,
                source_end=offsets.end,
                mirrored_to=None,
                lag=None,
                exact=False,
                reason=known.reason or "nothing is left on the target of what was mirrored",
            )
        backlog = known.backlog
        lag = backlog.count(offsets.end)
        counted = backlog.end >= offsets.end
        first = backlog.first
        age_s = max(0.0, at - first.timestamp_ms / 1000) if first and first.timestamp_ms is not None else None
        return Sample(
            at=at,
            topic=topic,
            partition=partition,
            source_end=offsets.end,
            mirrored_to=offsets.end if not lag else first.offset if first else backlog.begin,
            lag=lag,
            exact=lag == 0 or (known.sure and counted),
            oldest_unmirrored_age_s=age_s if lag else 0.0,
            arrival_s=known.arrival_s,
            reason=known.reason or ("" if counted else "the backlog is still being counted"),
        )


def alike(connectors: Iterable[Connector]) -> list[list[Connector]]:
    """Source connectors that go between the same clusters, and read and name alike, together."""
    found: dict[tuple[object, ...], list[Connector]] = {}
    for connector in connectors:
        if connector.connector_class == SOURCE:
            between = (connector.source_alias, connector.target_alias, connector.isolation)
            found.setdefault((*between, connector.keeps_names, connector.separator), []).append(connector)
    return list(found.values())


def mirrored_topics(
    connectors: Sequence[Connector], topics: Iterable[str], *, kafka_4: bool = False
) -> list[Mirrored]:
    """Those of a source's topics that connectors which are alike mirror."""
    return [
        Mirrored(topic=topic, remote=connectors[0].remote_topic(topic))
        for topic in topics
        if any(connector.mirrors(topic, kafka_4=kafka_4) for connector in connectors)
    ]


def watchers(
    connectors: Iterable[Connector],
    ends: Callable[[Connector], tuple[Cluster, Cluster]],
    *,
    topic: str | None = None,
    kafka_4: bool = False,
) -> list[LagWatcher]:
    """A watcher for each pair of clusters with topics that source connectors mirror: all, or the named one.

    Connectors that read and name alike share one: it is a watcher that costs connections, not a topic.
    """
    found = []
    for group in alike(connectors):
        first = group[0]
        source, target = ends(first)
        topics = [t.name for t in source.topics() if t.name == topic or (topic is None and not t.internal)]
        if mirrored := mirrored_topics(group, topics, kafka_4=kafka_4):
            found.append(LagWatcher(source, target, mirrored, isolation=first.isolation))
    return found
