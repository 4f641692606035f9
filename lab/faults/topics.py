"""The topics that faults are about: they must be there, and be reached without a login."""

from lab.errors import BadInput, nearest
from lab.kafka import Cluster, Layout


def require_topic(cluster: Cluster, topic: str) -> Layout:
    there = cluster.layout()
    if topic not in there:
        raise BadInput(f'cluster "{cluster.alias}" has no topic "{topic}"', nearest(topic, list(there)))
    return there[topic]


def require_no_login(cluster: Cluster) -> None:
    """Of what is undone by a client, maybe by another process and much later."""
    if cluster.properties:
        raise BadInput(
            f'cluster "{cluster.alias}" asks for a login, which the journal must not hold',
            "choose one that does not",
        )
