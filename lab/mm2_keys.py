"""Every config key that an MM2 connector or Connect's source connectors know, in any tested version.

A scenario compares these with what a running worker defines, so that a new version's key is noticed.
"""

import re
from typing import Final

KNOWN_KEYS: Final = frozenset(
    """
    name connector.class tasks.max tasks.max.enforce key.converter value.converter header.converter
    config.action.reload transforms predicates errors.retry.timeout errors.retry.delay.max.ms errors.tolerance
    errors.log.enable errors.log.include.messages exactly.once.support transaction.boundary
    transaction.boundary.interval.ms offsets.storage.topic topic.creation.groups
    enabled source.cluster.alias target.cluster.alias replication.policy.class replication.policy.separator
    replication.policy.internal.topic.separator.enabled admin.timeout.ms forwarding.admin.class
    offset-syncs.topic.location metric.reporters metric.names.formats add.source.alias.to.metrics
    auto.include.jmx.reporter
    topics topics.exclude topics.blacklist topic.filter.class config.properties.exclude
    config.properties.blacklist config.property.filter.class replication.factor
    offset-syncs.topic.replication.factor offset.lag.max consumer.poll.timeout.millis
    refresh.topics.enabled refresh.topics.interval.seconds sync.topic.configs.enabled
    sync.topic.configs.interval.seconds sync.topic.acls.enabled sync.topic.acls.interval.seconds
    use.incremental.alter.configs use.defaults.from emit.offset-syncs.enabled heartbeats.replication.enabled
    groups groups.exclude groups.blacklist group.filter.class checkpoints.topic.replication.factor
    refresh.groups.enabled refresh.groups.interval.seconds emit.checkpoints.enabled
    emit.checkpoints.interval.seconds sync.group.offsets.enabled sync.group.offsets.interval.seconds
    emit.heartbeats.enabled emit.heartbeats.interval.seconds heartbeats.topic.replication.factor
    """.split()
)

# Families of keys: client settings, converters' and transformations' own settings.
KNOWN_PREFIXES: Final = (
    *("source.cluster.", "target.cluster.", "source.consumer.", "source.producer.", "source.admin."),
    *("target.consumer.", "target.producer.", "target.admin.", "consumer.", "producer.", "admin."),
    *("producer.override.", "consumer.override.", "admin.override.", "topic.creation."),
    *("key.converter.", "value.converter.", "header.converter.", "transforms.", "predicates."),
    *(
        "replication.policy.",
        "topic.filter.",
        "group.filter.",
        "config.property.filter.",
        "forwarding.admin.",
    ),
    *("config.providers", "security.", "ssl.", "sasl."),
)

_SECRET: Final = re.compile(r"password|jaas|secret|keystore\.key|credential", re.IGNORECASE)
_OF_PROVIDER: Final = re.compile(r"config\.providers\.[^.]+\.")  # its name, which says nothing


def is_secret(key: str) -> bool:
    """Whether nobody should see a key's value."""
    return _SECRET.search(_OF_PROVIDER.sub("", key)) is not None
