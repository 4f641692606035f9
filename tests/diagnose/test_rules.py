"""Each rule: two instances of its trouble from different causes, and what only looks like it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from lab.diagnose import RULES, Observation, diagnose
from lab.diagnose.observation import Service, Topic
from lab.mm2 import CHECKPOINT
from tests.diagnose.seen import cluster, connector, lab, log, logged, service


@dataclass(frozen=True)
class Case:
    """Observations in which the rule finds something, with words of it, and some in which it does not."""

    troubles: tuple[tuple[Observation, str], ...]
    near_misses: tuple[Observation, ...]


def handshake(cause: str, node: str = "-1 (impostor/172.21.0.8:9101)") -> tuple[str, ...]:
    """What MM2's clients log of a certificate that they do not take."""
    return (
        f"[2026-11-19 11:59:55,001] ERROR [AdminClient clientId=a] Connection to node {node} failed "
        "authentication due to: SSL handshake failed (org.apache.kafka.clients.NetworkClient)",
        "[2026-11-19 11:59:55,002] WARN [AdminClient clientId=a] Metadata update failed due to "
        "authentication "
        "error (org.apache.kafka.clients.admin.internals.AdminMetadataManager)\n"
        "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed\n"
        f"Caused by: javax.net.ssl.SSLHandshakeException: {cause}",
    )


EXPIRED = (
    "PKIX path validation failed: java.security.cert.CertPathValidatorException: validity check failed\n"
    "Caused by: java.security.cert.CertificateExpiredException: NotAfter: Wed Nov 18 01:50:50 UTC 2026"
)
NOT_YET = (
    "PKIX path validation failed: java.security.cert.CertPathValidatorException: validity check failed\n"
    "Caused by: java.security.cert.CertificateNotYetValidException: NotBefore: Fri Nov 20 01:50:50 UTC 2026"
)
UNTRUSTED = (
    "PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException: unable to find "
    "valid certification path to requested target"
)
NO_STORE = (
    "Unexpected error: java.security.InvalidAlgorithmParameterException: the trustAnchors parameter must be "
    "non-empty"
)
MISNAMED = "No subject alternative DNS name matching impostor found."
BY_ADDRESS = "No subject alternative names matching IP address 172.21.0.8 found"
REFUSED = (
    "[2026-11-19 11:59:55,001] ERROR [AdminClient clientId=a] Connection to node -1 (broker/10.0.0.1:29092) "
    "failed authentication due to: Authentication failed: Invalid username or password (o.a.k.NetworkClient)"
)
SCRAM = (
    "[2026-11-19 11:59:55,001] ERROR [AdminClient clientId=a] Connection to node -1 (broker/10.0.0.1:29092) "
    "failed authentication due to: Authentication failed during authentication due to invalid "
    "credentials with "
    "SASL mechanism SCRAM-SHA-512 (o.a.k.NetworkClient)"
)
HUNG_UP = (
    "[2026-11-19 11:59:55,001] INFO [AdminClient clientId=a] Cancelled in-flight API_VERSIONS request with "
    "correlation id 20 due to node -1 being disconnected (elapsed time since creation: 258ms) (o.a.k.Network)"
)
NO_TLS = (
    "[2026-11-19 11:59:55,001] WARN [AdminClient clientId=a] Connection to node -1 "
    "(broker2/172.21.0.12:29093) "
    "terminated during authentication. This may happen due to any of the following reasons: (1) Firewall "
    "blocking Kafka TLS traffic (eg it may only allow HTTPS traffic), (2) Transient network issue. (o.a.k.N)"
)
AS_A_SIZE = (
    "[2026-11-19 11:59:55,001] ERROR Uncaught exception in thread 'kafka-admin-client-thread' (o.a.k.K)\n"
    "java.lang.OutOfMemoryError: Java heap space\n"
    "\tat java.base/java.nio.HeapByteBuffer.<init>(HeapByteBuffer.java:71)\n"
    "\tat org.apache.kafka.common.network.NetworkReceive.readFrom(NetworkReceive.java:103)"
)
NOBODY = (
    "[2026-11-19 11:59:55,001] WARN [Consumer clientId=c, groupId=null] Connection to node {node} could "
    "not be "
    "established. Node may not be available. (org.apache.kafka.clients.NetworkClient)"
)
UNRESOLVED = (
    "[2026-11-19 11:59:55,001] WARN [Consumer clientId=c, groupId=null] Error connecting to node "
    "nowhere.invalid:9104 (id: 1 rack: null) (org.apache.kafka.clients.NetworkClient)\n"
    "java.net.UnknownHostException: nowhere.invalid"
)
TOO_LARGE = (
    "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception from producer send callback\n"
    "Caused by: org.apache.kafka.common.errors.RecordTooLargeException: The message is 2000088 bytes when "
    "serialized which is larger than 1048576, which is the value of the max.request.size configuration."
)
TOO_LARGE_FOR_TOPIC = (
    "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception from producer send callback\n"
    "Caused by: org.apache.kafka.common.errors.RecordTooLargeException: The request included a message "
    "larger "
    "than the max message size the server will accept."
)
OTHER_FAILURE = (
    "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [a]"
)
REPLICAS = (
    "[2026-11-19 11:59:55,001] ERROR [mirror|worker] Scheduler for MirrorSourceConnector caught exception in "
    "scheduled task: creating upstream offset-syncs topic (org.apache.kafka.connect.mirror.Scheduler)\n"
    "Caused by: org.apache.kafka.common.errors.InvalidReplicationFactorException: Unable to replicate the "
    "partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are "
    "registered."
)
NO_CLASS = (
    "[2026-11-19 11:59:55,001] ERROR Failed to configure MirrorSourceConnector connector for source->target "
    "(org.apache.kafka.connect.mirror.MirrorHerder)\n"
    "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: Connector configuration is "
    "invalid and "
    "contains the following 1 error(s):\n"
    "Invalid value com.example.Nope for configuration replication.policy.class: Class com.example.Nope could "
    "not be found."
)
NO_PROVIDER = (
    "[2026-11-19 11:59:55,001] ERROR Could not load config provider class com.example.Nope "
    "(org.apache.kafka.connect.mirror.MirrorMakerConfig)"
)
NO_CONNECTOR = (
    "org.apache.kafka.connect.errors.ConnectException: Failed to find any class that implements "
    "Connector and "
    "which name matches com.example.Nope, available connectors are: PluginDesc{…}"
)
OLD_LOADER = (
    "[2026-11-19 11:59:55,001] ERROR Plugin class loader for connector: "
    "'org.apache.kafka.connect.mirror.MirrorCheckpointConnector' was not found. Returning: x (o.a.k.c.D:165)"
)
MANIFESTS = (
    "[2026-11-19 11:59:55,001] WARN All plugins have ServiceLoader manifests, consider reconfiguring "
    "plugin.discovery=service_load (org.apache.kafka.connect.runtime.isolation.Plugins)"
)
UNKNOWN = (
    "[2026-11-19 11:59:55,001] WARN [Producer clientId=p] Error while fetching metadata with correlation "
    "id 2314 "
    ": {{{topic}=UNKNOWN_TOPIC_OR_PARTITION}} (org.apache.kafka.clients.NetworkClient)"
)
UNFETCHED = (
    "[2026-11-19 11:59:55,001] WARN [mirror|task-0] [Consumer clientId=c, groupId=null] Received unknown "
    "topic or "
    "partition error in fetch for partition gone-0 "
    "(org.apache.kafka.clients.consumer.internals.FetchCollector)"
)
FLUSH = (
    "[2026-11-19 11:59:55,001] ERROR [mirror|task-0|offsets] WorkerSourceTask{id=mirror-0} Timed out "
    "waiting to "
    "flush offsets to storage; will try again on next flush interval with latest offsets (o.a.k.c.W)"
)
OLD_FLUSH = (
    "[2026-11-19 11:59:55,001] ERROR WorkerSourceTask{id=mirror-0} Failed to flush, timed out while "
    "waiting for "
    "producer to flush outstanding 1 messages (org.apache.kafka.connect.runtime.WorkerSourceTask:438)"
)
NO_REPLICAS = (
    "[2026-11-19 11:59:55,001] WARN [Producer clientId=source-mm2-source->target-offsets] Got error produce "
    "response with correlation id 301 on topic-partition {topic}, retrying (2147483493 attempts left). "
    "Error: NOT_ENOUGH_REPLICAS (org.apache.kafka.clients.producer.internals.Sender)"
)
INTERRUPTED = (
    "[2026-11-19 11:59:55,001] WARN [mirror|task-0] WorkerSourceTask{id=mirror-0} Interrupted while "
    "waiting for "
    "previous offset flush to complete, cancelling (o.a.k.c.W)"
)
MKDIR = "mkdir: cannot create directory '/sys/logs': Permission denied"
APPENDER = (
    "log4j:ERROR setFile(null,true) call failed.\n"
    "java.io.FileNotFoundException: /opt/kafka/logs/connect.log (Permission denied)"
)
LOG_DIRS = (
    "[2026-11-19 11:59:55,001] ERROR Shutdown broker because all log dirs in /var/lib/kafka/data have failed "
    "(kafka.log.LogManager)"
)
HEAP = "Terminating due to java.lang.OutOfMemoryError: Java heap space"
PROPERTIES = {
    "clusters": "source, target",
    "source.bootstrap.servers": "a:1",
    "target.bootstrap.servers": "b:1",
}
SYNCS = {"sync.group.offsets.enabled": "true"}


def lines(text: str) -> str:
    """The same once in two seconds."""
    return "\n".join(log(text, ago_s=ago_s) for ago_s in (8, 6, 4, 2, 0))


def going_on(text: str) -> Observation:
    return lab(services=(service(written=lines(text)),))


def group(source: str, target: str, **config: str) -> Observation:
    """A checkpoint connector, and a group in these states."""
    return lab(
        connector(cls=CHECKPOINT, **config),
        clusters=(cluster("source", groups={"app": source}), cluster("target", groups={"app": target})),
    )


SPLIT = (
    "[2026-11-19 11:59:55,001] WARN [mirror|task-0] [Producer clientId=p] Got error produce response in "
    "correlation id 7 on topic-partition source.orders-2, splitting and retrying (2147483647 attempts left). "
    "Error: MESSAGE_TOO_LARGE (o.a.k.clients.producer.internals.Sender)"
)
ENDED = (
    "[2026-11-19 11:59:55,001] ERROR [mirror|task-0] Uncaught exception in thread "
    "'kafka-producer-network-thread | connector-producer-mirror-0': (o.a.k.common.utils.KafkaThread)\n"
    "{error}\n"
    "\tat o.a.k.clients.producer.internals.FutureRecordMetadata.value(FutureRecordMetadata.java:104)"
)
AGAIN = "[2026-11-19 11:59:56,001] INFO [mirror|task-0] Creating task mirror-0 (o.a.k.connect.runtime.Worker)"


def splitting(kind: str) -> Service:
    return service(kind, kind, log(*[SPLIT] * 10))


def resting(state: str, *, tasks: bool) -> Observation:
    deployed = connector()
    assert deployed.status is not None
    its = tuple(replace(task, state=state) for task in deployed.status.tasks) if tasks else ()
    return lab(replace(deployed, status=replace(deployed.status, state=state, tasks=its)))


CASES: Mapping[str, Case] = {
    "at_rest": Case(
        troubles=(
            (resting("PAUSED", tasks=True), '"mirror" is PAUSED'),
            (resting("STOPPED", tasks=False), '"mirror" is STOPPED'),
        ),
        near_misses=(lab(connector()), resting("UNASSIGNED", tasks=True)),
    ),
    "memory": Case(
        (
            (lab(services=(service(written=log(HEAP), state="exited", exit_code=3),)), "Java heap space"),
            (lab(services=(service(state="exited", exit_code=137, oom_killed=True),)), "container's limit"),
        ),
        (lab(services=(service(state="exited", exit_code=137),)), logged(AS_A_SIZE)),
    ),
    "plugin_class": Case(
        (
            (logged(NO_CLASS), "replication.policy.class"),
            (logged(NO_PROVIDER), "com.example.Nope"),
            (lab(connector(trace=NO_CONNECTOR)), "com.example.Nope"),
            (logged(OLD_LOADER), "MirrorCheckpointConnector"),
        ),
        (logged(MANIFESTS), lab(connector(trace=OTHER_FAILURE))),
    ),
    "certificate_expired": Case(
        ((logged(*handshake(EXPIRED)), "NotAfter: Wed Nov 18"), (logged(*handshake(NOT_YET)), "NotBefore")),
        (logged(*handshake(UNTRUSTED)), logged(*handshake(EXPIRED), ago_s=60)),
    ),
    "certificate_authority": Case(
        (
            (logged(*handshake(UNTRUSTED)), "impostor:9101"),
            (logged(*handshake(NO_STORE, "-1 (broker/10.0.0.1:29092)")), 'cluster "source"'),
        ),
        (logged(*handshake(EXPIRED)), logged(*handshake(MISNAMED))),
    ),
    "certificate_name": Case(
        ((logged(*handshake(MISNAMED)), '"impostor"'), (logged(*handshake(BY_ADDRESS)), '"172.21.0.8"')),
        (logged(*handshake(UNTRUSTED)),),
    ),
    "password": Case(
        ((logged(REFUSED), 'cluster "source" (broker:29092)'), (logged(SCRAM), 'cluster "source"')),
        (logged(*handshake(UNTRUSTED)), logged(REFUSED, ago_s=120)),
    ),
    "security_protocol": Case(
        (
            (logged(HUNG_UP, times=5), "hangs up"),
            (logged(NO_TLS), 'cluster "target" (broker2:29093)'),
            (logged(AS_A_SIZE), "the size of an answer"),
        ),
        (logged(HUNG_UP), logged(NOBODY.format(node="-1 (broker/10.0.0.1:29092)"), times=5)),
    ),
    "advertised_listener": Case(
        (
            (logged(UNRESOLVED), "nowhere.invalid:9104"),
            (logged(NOBODY.format(node="1 (localhost/127.0.0.1:9105)")), "MM2's own machine"),
        ),
        (
            logged(NOBODY.format(node="-1 (elsewhere/10.0.0.9:9092)")),  # what MM2 itself was told
            logged(NOBODY.format(node="1 (broker/10.0.0.1:29092)")),  # a broker that is known, and down
            lab(
                services=(
                    service(written=log(NOBODY.format(node="2 (broker3/10.0.0.3:9092)"))),
                    service("broker3", "broker", state="exited"),
                )
            ),
        ),
    ),
    "record_too_large": Case(
        (
            (lab(connector(trace=TOO_LARGE)), "2,000,088 bytes"),
            (lab(connector(trace=TOO_LARGE_FOR_TOPIC)), 'cluster "target" takes no record'),
        ),
        (lab(connector(trace=OTHER_FAILURE)),),
    ),
    "batch_refused": Case(
        (
            (logged(SPLIT, times=10), 'topic "source.orders" refuses the batches'),
            (lab(properties=PROPERTIES, services=(splitting("mirror-maker"),)), "refuses the batches"),
        ),
        (
            logged(SPLIT, times=3),  # a batch that is a little too large
            logged(SPLIT, times=10, ago_s=10),
            logged(SPLIT.replace("MESSAGE_TOO_LARGE", "NOT_LEADER_OR_FOLLOWER"), times=10),
        ),
    ),
    "producer_thread": Case(
        (
            (logged(ENDED.format(error="java.lang.StackOverflowError"), ago_s=300), "StackOverflowError"),
            (logged(ENDED.format(error="java.lang.OutOfMemoryError: Java heap space")), "OutOfMemoryError"),
        ),
        (
            logged(ENDED.format(error="java.lang.StackOverflowError"), AGAIN),
            logged(ENDED.format(error="java.lang.Error").replace("kafka-producer-network-thread", "other")),
        ),
    ),
    "topic_key": Case(
        (
            (lab(connector(take="topics", topic="orders")), "takes all topics"),
            (lab(connector(**{"topics.included": "orders"})), "topics.included"),
            (lab(properties={**PROPERTIES, "source->target.topic": "orders"}), "takes all topics"),
            (lab(properties={**PROPERTIES, "source->target.topics.include": "orders"}), "takes all topics"),
        ),
        (
            lab(connector(**{"topic.creation.default.partitions": "3", "topics.exclude": "a"})),
            lab(properties={**PROPERTIES, "source->target.topics": "orders", "topics.exclude": "a"}),
        ),
    ),
    "replication_factor": Case(
        (
            (lab(connector(**{"replication.factor": "3"})), "wants topics of 3 replicas"),
            (lab(connector(take="offset-syncs.topic.replication.factor")), 'cluster "source"'),
            (
                lab(connector(**{"replication.factor": "3"}), services=(service(written=log(REPLICAS)),)),
                "has 1 broker",
            ),
        ),
        (
            lab(connector(**{"replication.factor": "-1"})),
            lab(connector(**{"replication.factor": "3"}), clusters=(cluster("target", error="no answer"),)),
        ),
    ),
    "group_active": Case(
        (
            (group("stable", "stable", **SYNCS), 'group "app"'),
            (group("stable", "preparing_rebalancing", **SYNCS), 'group "app"'),
        ),
        (
            group("empty", "stable", **SYNCS),  # it has moved over
            group("stable", "empty", **SYNCS),
            group("stable", "stable"),  # nobody asked for its offsets
            group("stable", "stable", **SYNCS, **{"groups.exclude": "app"}),
        ),
    ),
    "header_converter": Case(
        (
            (lab(connector(take="header.converter")), "base64"),
            (
                lab(connector(**{"header.converter": "org.apache.kafka.connect.storage.StringConverter"})),
                "base64",
            ),
        ),
        (
            lab(connector(cls=CHECKPOINT)),
            lab(replace(connector(take="header.converter"), setting=None)),  # the worker may give one
        ),
    ),
    "unknown_topic": Case(
        (
            (going_on(UNKNOWN.format(topic="gone")), 'cluster "target" has no topic "gone"'),
            (going_on(UNFETCHED), 'cluster "source" has no topic "gone"'),
            (
                lab(
                    services=(service(written=lines(UNKNOWN.format(topic="orders"))),),
                    clusters=(
                        cluster("source"),
                        cluster("target", topics={"orders": Topic(partitions=3, replicas=1, leaderless=2)}),
                    ),
                ),
                "nobody leads 2 of the 3 partitions",
            ),
            (going_on(UNKNOWN.format(topic="orders")), "is told otherwise"),
        ),
        (logged(UNKNOWN.format(topic="gone"), times=9), logged(UNKNOWN.format(topic="gone"), ago_s=60)),
    ),
    "flush_timeout": Case(
        (
            (logged(FLUSH), "cannot write how far it is"),
            (logged(OLD_FLUSH), "cannot write how far it is"),
            (
                logged(NO_REPLICAS.format(topic="mm2-offsets.source.internal-17")),
                "cannot write how far it is",
            ),
        ),
        (
            logged(INTERRUPTED),
            logged(FLUSH, ago_s=200),
            logged(NO_REPLICAS.format(topic="source.orders-1")),
        ),
    ),
    "service_down": Case(
        (
            (
                lab(services=(service(state="exited", exit_code=137),)),
                "connect is exited (exit code 137, killed)",
            ),
            (lab(services=(service(), service("broker2", "broker", state="paused"))), "broker2 is paused"),
        ),
        (lab(services=(service(), service("prometheus", "other", state="exited"))),),
    ),
    "log_directory": Case(
        (
            (logged(MKDIR), "/sys/logs"),
            (logged(APPENDER), "/opt/kafka/logs/connect.log"),
            (
                lab(services=(service(), service("broker2", "broker", log(LOG_DIRS), state="exited"))),
                "broker2 cannot write its data to /var/lib/kafka/data",
            ),
        ),
        (logged("mkdir: created directory '/tmp/logs'"), lab(services=(service("b", "broker", log(MKDIR)),))),
    ),
}


def test_every_rule_has_its_cases() -> None:
    assert CASES.keys() == RULES.keys()
    assert [name for name, case in CASES.items() if len(case.troubles) < 2 or not case.near_misses] == []


def test_a_healthy_lab_has_no_finding() -> None:
    assert diagnose(lab()) == []
    assert diagnose(lab(connector(), connector(cls=CHECKPOINT))) == []


@pytest.mark.parametrize(
    ("rule", "seen", "told"),
    [(rule, seen, told) for rule, case in CASES.items() for seen, told in case.troubles],
    ids=[f"{rule}-{number}" for rule, case in CASES.items() for number, _ in enumerate(case.troubles)],
)
def test_a_trouble_is_named_first_or_second(rule: str, seen: Observation, told: str) -> None:
    found = diagnose(seen)[:2]
    its = [finding for finding in found if finding.rule == rule]
    assert its, found
    assert told in its[0].what
    assert its[0].evidence
    assert its[0].remedy


@pytest.mark.parametrize(
    ("rule", "seen"),
    [(rule, seen) for rule, case in CASES.items() for seen in case.near_misses],
    ids=[f"{rule}-{number}" for rule, case in CASES.items() for number, _ in enumerate(case.near_misses)],
)
def test_a_near_miss_is_not(rule: str, seen: Observation) -> None:
    assert list(RULES[rule](seen)) == []


def test_the_likeliest_comes_first() -> None:
    seen = lab(connector(trace=TOO_LARGE, take="header.converter"), services=(service(written=log(REFUSED)),))
    assert [finding.rule for finding in diagnose(seen)] == [
        "record_too_large",
        "header_converter",
        "password",
    ]
