"""Flow: one topic's way from a cluster to another, as the clients and Spark reach both ends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.kafka import Cluster
from lab.mm2 import Connector
from lab.spark import SERVER_FOLDER


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where records come from."""

    topic: str
    source: Cluster


@dataclass(frozen=True, kw_only=True)
class Flow:
    topic: str
    connector: Connector  # mirrors the topic
    checkpointer: Connector | None = None  # of the same two clusters, if there is one
    source: Cluster
    target: Cluster
    others: Sequence[Origin] = ()  # whose records go into the same target topic; there they are no phantoms
    bootstraps: Mapping[str, str]  # alias → address for Spark, which may see the brokers from elsewhere
    options: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict, repr=False
    )  # of Spark's Kafka source
    folder: str = SERVER_FOLDER  # where Spark keeps ledgers and evidence
    seen: Path | None = None  # the file for what verdicts see besides records; None: nothing is kept
    kafka_4: bool = False  # the worker's version: what counts as internal
    writes_transactions: bool = False  # MM2 may: their markers take offsets on the target
    # By partition the next offset that MM2 will read, as Connect has committed it; None: not known
    positions: Callable[[], Mapping[int, int | None] | None] | None = None

    @property
    def remote(self) -> str:
        """The topic's name on the target."""
        return self.connector.remote_topic(self.topic)

    @property
    def emits_syncs(self) -> bool:
        return self.connector.config.get("emit.offset-syncs.enabled") != "false"

    @property
    def emits_checkpoints(self) -> bool:
        given = self.checkpointer
        return given is not None and given.switched_off_by is None

    @property
    def syncs_at(self) -> Cluster:
        here = self.connector.offset_syncs_alias == self.connector.source_alias
        return self.source if here else self.target

    def bootstrap(self, cluster: Cluster) -> str:
        return self.bootstraps[cluster.alias]

    def options_of(self, cluster: Cluster) -> Mapping[str, str]:
        return self.options.get(cluster.alias, {})
