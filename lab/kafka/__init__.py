"""A live handle on one Kafka cluster: topics, offsets, records. The home of confluent-kafka.

values.py      what a cluster answers with
connection.py  the client that all requests go through, and their errors
topics.py  groups.py  acls.py  reading.py    what is asked and changed
cluster.py     Cluster: all of these
"""

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from lab.kafka.cluster import Cluster
from lab.kafka.connection import ClusterError
from lab.kafka.reading import Reader
from lab.kafka.values import (
    ABSENT,
    BROKERS_DEFAULT,
    WITHOUT_MEMBERS,
    Acl,
    GroupOffset,
    Layout,
    Offsets,
    Place,
    Record,
    Topic,
    TopicConfig,
)

__all__ = [
    "ABSENT",
    "BROKERS_DEFAULT",
    "WITHOUT_MEMBERS",
    "Acl",
    "Cluster",
    "ClusterError",
    "Consumer",
    "GroupOffset",
    "KafkaError",
    "KafkaException",
    "Layout",
    "Message",
    "Offsets",
    "Place",
    "Producer",
    "Reader",
    "Record",
    "Topic",
    "TopicConfig",
    "TopicPartition",
]
