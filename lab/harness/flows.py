"""What verification must know of a lab: where a topic goes, and from where Spark reaches both clusters.

What needs Spark's client is imported where it is used: loading it takes half a second, which `up` and
most other commands need not pay.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from lab import leases
from lab.errors import BadInput, nearest
from lab.harness.parts import Parts
from lab.mm2 import CHECKPOINT, SOURCE, Connector
from lab.mm2_positions import committed
from lab.mm2_renaming import require_known_names
from lab.project import existing_spark
from lab.run import Run
from lab.topology import MM2_PROPERTIES

if TYPE_CHECKING:
    from lab.verify.flow import Flow, Origin

_EXACTLY_ONCE: Final = "exactly.once.source.support"


@dataclass
class Flows:
    """The flows of a lab, as its Spark reads them."""

    lab: Parts

    def of(self, topic: str, *, source: str | None = None, target: str | None = None) -> Flow:
        from lab.verify.flow import Flow

        lab, deployed = self.lab, self.lab.deployed()
        connector = self.mirroring(topic, source=source, target=target, among=deployed)
        require_known_names([connector])
        (source_end, target_end), between = lab.ends(connector), lab.aliases_of(connector)
        doors = {
            alias: self._listener(connector, alias, side)
            for alias, side in zip(between, ("source", "target"), strict=True)
        }
        checkpointers = [
            c for c in deployed if c.connector_class == CHECKPOINT and lab.aliases_of(c) == between
        ]
        checkpointers.sort(key=lambda c: not c.selects(topic))  # of several the one that is for this topic
        return Flow(
            topic=topic,
            connector=connector,
            checkpointer=next(iter(checkpointers), None),
            source=source_end,
            target=target_end,
            others=self.others(connector, topic, deployed),
            bootstraps={
                alias: lab.topology.bootstrap(alias, listener=listener, ports=lab.ports)
                for alias, listener in doors.items()
            },
            options={alias: self._options(alias, listener) for alias, listener in doors.items()},
            folder=self._folder,
            seen=leases.seen_file(lab.name, between, topic),
            kafka_4=lab.kafka_4,
            writes_transactions=self.writes_transactions(connector),
            positions=partial(self.positions, connector, topic),
        )

    def writes_transactions(self, connector: Connector) -> bool:
        """Whether it may mirror in transactions, or have done so, whose markers take offsets on the target.

        Workers that support exactly-once do so for every source connector, also where that only requests it.
        What workers do that the lab did not start is not known, nor what was set before the present value.
        """
        chosen, leased = self.lab.topology, leases.leased(self.lab.name) or {}
        if not chosen.workers and not chosen.mirror_makers:
            return True
        if chosen.mirror_makers:  # the worker of a flow belongs to its target
            support = self.lab.mm2_properties().get(f"{connector.target_alias}.{_EXACTLY_ONCE}")
            set_at_up = MM2_PROPERTIES in leased
        else:
            support = self.lab.worker_setting(_EXACTLY_ONCE)
            # What was once given to `up` never goes back to its default.
            another = dict.fromkeys(chosen.variables.keys() & leased.keys(), "another")
            set_at_up = chosen.worker_setting(_EXACTLY_ONCE, another) != chosen.worker_setting(_EXACTLY_ONCE)
        return set_at_up or connector.exactly_once or (support or "disabled").lower() == "enabled"

    def positions(self, connector: Connector, topic: str) -> dict[int, int | None] | None:
        """By partition, how far MM2 says that it came; None where it runs without anybody to ask."""
        lab = self.lab
        if lab.topology.has_connect:
            try:
                entries = lab.connect.offsets(connector.name)
            except BadInput:  # before Kafka 3.5 workers do not tell
                return None
            found = committed(entries, source_alias=connector.source_alias)
        elif lab.topology.mirror_makers:
            found = lab.dedicated.committed(connector.source_alias, connector.target_alias)
        else:
            return None
        return {partition: position for (name, partition), position in found.items() if name == topic}

    def mirroring(
        self,
        topic: str,
        *,
        source: str | None = None,
        target: str | None = None,
        among: Sequence[Connector] | None = None,
    ) -> Connector:
        """The deployed connector that mirrors a topic; of several sources, or targets, one must be named."""
        mirroring = self.mirroring_from(topic, source=source, among=among)
        places = {
            (self.lab.aliases_of(c)[1], c.remote_topic(topic)): c
            for c in reversed(mirroring)
            if target in (None, self.lab.aliases_of(c)[1])
        }
        if not places:
            raise BadInput(
                f'no deployed connector mirrors topic "{topic}" to cluster "{target}"',
                nearest(str(target), sorted({self.lab.aliases_of(c)[1] for c in mirroring})),
            )
        if len(places) > 1:
            told = ", ".join(f'"{remote}" of "{alias}"' for alias, remote in sorted(places))
            aliases = sorted({alias for alias, _ in places})
            names = ", ".join(sorted(c.name for c in places.values()))
            raise BadInput(
                f'topic "{topic}" is mirrored to {len(places)} topics: {told}',
                f"choose one, e.g. --target {aliases[0]}" if len(aliases) > 1 else f"keep one of {names}",
            )
        return next(iter(places.values()))

    def mirroring_from(
        self, topic: str, *, source: str | None = None, among: Sequence[Connector] | None = None
    ) -> list[Connector]:
        """The deployed connectors that mirror a topic of one source, wherever to."""
        kafka_4 = self.lab.kafka_4
        mirroring = [
            c
            for c in (self.lab.deployed() if among is None else among)
            if c.connector_class == SOURCE
            and c.mirrors(topic, kafka_4=kafka_4)
            and source in (None, self.lab.aliases_of(c)[0])
        ]
        if not mirroring:
            of_it = f' of cluster "{source}"' if source else ""
            raise BadInput(
                f'no deployed connector mirrors topic "{topic}"{of_it}', '"lab mm2 deploy" deploys one'
            )
        aliases = sorted({self.lab.aliases_of(c)[0] for c in mirroring})
        if len(aliases) > 1:
            raise BadInput(
                f'topic "{topic}" is mirrored from {len(aliases)} clusters: {", ".join(aliases)}',
                f"choose one, e.g. --cluster {aliases[0]}",
            )
        return mirroring

    def others(self, connector: Connector, topic: str, deployed: Sequence[Connector]) -> list[Origin]:
        """Other clusters whose topic of that name goes into the same topic of the target."""
        from lab.verify.flow import Origin

        kafka_4 = self.lab.kafka_4
        source, target = self.lab.aliases_of(connector)
        aliases = {
            self.lab.aliases_of(other)[0]
            for other in deployed
            if other.connector_class == SOURCE
            and other.mirrors(topic, kafka_4=kafka_4)
            and (self.lab.aliases_of(other)[1], other.remote_topic(topic))
            == (target, connector.remote_topic(topic))
        } - {source}
        clusters = [self.lab.cluster(alias) for alias in sorted(aliases)]
        return [Origin(topic=topic, source=c) for c in clusters if c.has_topic(topic)]

    def facts(self, flow: Flow, run: Run) -> dict[str, str]:
        """What a verdict that is kept says of where it comes from."""
        return {
            "lab": self.lab.name,
            "topology": self.lab.topology.name,
            "kafka": self.lab.kafka_version,
            "commit": run.facts["commit"],
            "run": run.path.name,
            "topic": flow.topic,
            "remote": flow.remote,
            "source": flow.source.alias,
            "target": flow.target.alias,
        }

    def _listener(self, connector: Connector, alias: str, side: str) -> str:
        """The one that MM2 itself uses: Spark goes in by the same door, but never through a link."""
        return self.lab.topology.direct_listener_of(
            alias, connector.config.get(f"{side}.cluster.bootstrap.servers", "")
        )

    def _options(self, alias: str, listener: str) -> dict[str, str]:
        return {f"kafka.{key}": value for key, value in self.lab.client(alias, listener).java.items()}

    @cached_property
    def _folder(self) -> str:
        """Where Spark keeps ledgers and evidence; on a cluster of the user's it is tried out first."""
        from lab import spark_cluster
        from lab.spark import SERVER_FOLDER

        if not existing_spark():
            return SERVER_FOLDER
        folder = spark_cluster.folder_at(self.lab.spark, os.environ.get(spark_cluster.FOLDER_VARIABLE))
        spark_cluster.check_folder(self.lab.spark, folder)
        return folder

    def require_reach(self, flow: Flow) -> None:
        """Before a job of minutes starts; the lab's own Spark reaches the lab's own brokers."""
        from lab import spark_cluster

        if not existing_spark() and not self.lab.topology.roles.external:
            return
        for cluster, topic in ((flow.source, flow.topic), (flow.target, flow.remote)):
            if cluster.has_topic(topic):
                bootstrap = flow.bootstrap(cluster)
                external = cluster.alias in self.lab.topology.roles.external
                asked = spark_cluster.Asked(
                    alias=cluster.alias,
                    topic=topic,
                    bootstrap=bootstrap,
                    advertised=tuple(cluster.brokers() if external else bootstrap.split(",")),
                    offsets=cluster.offsets(topic),
                    options=flow.options_of(cluster),
                )
                spark_cluster.check_reach(self.lab.spark, asked)
