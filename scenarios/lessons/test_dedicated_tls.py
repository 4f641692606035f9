"""A dedicated MirrorMaker 2 mirrors a topic out of a cluster that is reached with TLS only.

The source stands for a cluster in a cloud: it has no listener without TLS, and two that also ask for a user
and an API key. The target is a local cluster. Between them runs MM2 without a Connect cluster, a process with
a properties file. You make a trust store of the source's CA certificate, use Kafka's tools with it, write
orders, see them arrive with their headers, and let Spark prove it, reading by the listeners that MM2 uses.
Then MM2 goes the other ways: from SASL_SSL to the local cluster, from TLS to SASL_SSL, from SASL_SSL to TLS.

Follow along: `lab up dedicated-tls`, then `lab exec mirror-maker bash` is a shell where MM2 runs.
"""

import pytest

from lab import mm2_dedicated
from lab.engine import EngineError
from lab.harness import Lab
from lab.metrics import MetricsError
from lab.producing import Producing
from lab.run import Run
from lab.verify.verdict import Outcome
from lab.wait import RECORDS_ARRIVE_S, TOPIC_APPEARS_S, NotYet, wait_until
from lab.workload import Plan
from scenarios.dedicated import DEFAULT, FILES, changed, start_with, wait_until_committed
from scenarios.diagnosing import Doctor

pytestmark = pytest.mark.topology("dedicated-tls")

MM2 = "mirror-maker"
ORDERS, PRODUCTS, REMOTE = "orders", "products", "source.orders"
RECORDS, SOME = 100_000, 1_000
TLS, SASL = "/run/secrets/source-tls.properties", "/run/secrets/source-sasl.properties"
AT_SOURCE = "--bootstrap-server source-1:9092,source-2:9092,source-3:9092"
AT_TARGET = "--bootstrap-server kafka1:9092,kafka2:9093,kafka3:9094"


# -- certificates and tools --------------------------------------------------------------------------


def test_10_a_trust_store_is_made_of_the_source_s_certificate(lab: Lab) -> None:
    """In the shell, the certificate of the source's authority is /run/secrets/ca.crt:

    keytool -import -trustcacerts -alias root -file /run/secrets/ca.crt -keystore /tmp/truststore.jks \\
        -storepass:file /run/secrets/truststore.password -noprompt

    Everything that runs in a JVM finds trusted certificates in such a store. With `-storepass:file` its
    password stands on no command line, where `ps` shows it to everybody on the machine. /home/truststore.jks
    is one that the lab made of the same certificate.
    """
    opened_by = "-storepass:file /run/secrets/truststore.password"
    lab.shell(
        MM2,
        "rm -f /tmp/truststore.jks; keytool -import -trustcacerts -alias root -file /run/secrets/ca.crt "
        f"-keystore /tmp/truststore.jks {opened_by} -noprompt",
    )
    listed = {
        store: lab.shell(MM2, f"keytool -list -keystore {store} {opened_by}").splitlines()[-1]
        for store in ("/tmp/truststore.jks", "/home/truststore.jks")  # noqa: S108 - in the container
    }
    assert len(set(listed.values())) == 1
    assert "Certificate fingerprint (SHA-256)" in listed["/home/truststore.jks"]


def test_11_kafka_s_tools_take_the_same_as_a_properties_file(lab: Lab) -> None:
    """`kafka-topics.sh --bootstrap-server source-1:9092 --command-config /run/secrets/source-tls.properties
    --create --topic orders --partitions 3 --replication-factor 3`, and the same for `products`. With
    /run/secrets/source-sasl.properties port 9093 answers, which also wants the API key. Without a file,
    nothing does: a client that speaks plain Kafka is hung up on.
    """
    tool = f"kafka-topics.sh {AT_SOURCE}"
    for topic in (ORDERS, PRODUCTS):
        create = f"--create --topic {topic} --partitions 3 --replication-factor 3"
        lab.shell(MM2, f"{tool} --command-config {TLS} {create}")
    by_password = f"kafka-topics.sh --bootstrap-server source-1:9093 --command-config {SASL}"
    assert lab.shell(MM2, f"{by_password} --describe --topic {ORDERS}").count("Isr: ") == 3
    assert lab.shell(MM2, f"{tool} --command-config {TLS} --list").split()[:2] != []
    with pytest.raises(EngineError):
        lab.shell(MM2, "timeout 8 kafka-topics.sh --bootstrap-server source-1:9092 --list 2>&1")


# -- MirrorMaker and its properties ------------------------------------------------------------------


def test_20_the_properties_file_is_all_that_mm2_is_told(lab: Lab) -> None:
    """`cat /home/mm2.properties`; `connect-mirror-maker.sh /home/mm2.properties` is what the container runs.

    Passwords are not in it: `${file:/run/secrets/secrets.properties:…}` is read when MM2 starts. Of this file
    MM2 makes three connectors for each direction; what they were given stands in mm2-configs.source.internal.
    """
    text = lab.shell(MM2, "cat /home/mm2.properties")
    assert text.strip() == DEFAULT.read_text().strip()
    assert "password=${file:" in text
    flow = lab.dedicated.flows[0]
    lab.target.wait_for_topic(flow.configs_topic)
    given = {c.config["connector.class"]: c.config for c in lab.dedicated.configs(flow)}
    expected = {c.connector_class: c.config for c in lab.deployed() if c.source_alias == "source"}
    assert given.keys() == expected.keys()
    for cls, config in expected.items():
        both = config.keys() & given[cls].keys()
        assert {"source.cluster.bootstrap.servers", "source.cluster.security.protocol", "topics"} <= both
        assert {key: given[cls][key] for key in both} == {key: config[key] for key in both}


def test_21_each_direction_has_a_connect_cluster_of_its_own(lab: Lab) -> None:
    """`lab topics --internal`: on the target mm2-configs, mm2-offsets and mm2-status of the source, with
    three replicas, which is why three brokers are needed. And on the **source** the same of the target, with
    `heartbeats`: MM2 writes there too, though nothing was asked to go that way, and needs the permission.
    """
    forth, back = lab.dedicated.flows
    assert (forth.name, back.name, back.enabled) == ("source->target", "target->source", False)
    for cluster, flow in ((lab.target, forth), (lab.source, back)):
        for topic in (flow.configs_topic, flow.offsets_topic, flow.status_topic, "heartbeats"):
            cluster.wait_for_topic(topic)
        replicas = {t.name: t.replicas for t in cluster.topics()}
        assert replicas[flow.configs_topic] == replicas[flow.offsets_topic] == 3
    # Of mirrored topics the default is 2, of MM2's own heartbeats and syncs 3.
    lab.target.wait_for_topic("source.heartbeats", timeout_s=TOPIC_APPEARS_S)
    assert {t.name: t.replicas for t in lab.target.topics()}["source.heartbeats"] == 2


def test_22_there_is_no_rest_api_to_ask(lab: Lab) -> None:
    """`curl localhost:8083` and `curl localhost:8080`: nobody listens. `lab mm2 status` and `lab mm2 offsets`
    read what MM2's workers write into their own topics; the log tells the rest: `lab logs mirror-maker`.
    """
    for port in (8080, 8083):
        told = lab.shell(MM2, f"curl -s -m 3 localhost:{port} || echo exit code $?")
        assert told.strip() == "exit code 7"
    statuses = {s.name: s for s in lab.statuses()}
    assert statuses["source->target MirrorSourceConnector"].state == "RUNNING"


# -- records -----------------------------------------------------------------------------------------


def test_30_orders_are_written_over_tls_and_arrive_with_their_headers(lab: Lab, run: Run) -> None:
    """`lab produce orders --records 100000`, `lab produce products --records 1000`: a Python client that
    shows user and API key. Then on the target, in `lab exec kafka1 bash`:

    kafka-console-consumer.sh --bootstrap-server kafka1:9092 --topic source.orders --from-beginning \\
        --property print.headers=true --max-messages 5

    `products` stays where it is: the file says `topics=orders`.
    """
    send(lab, run, PRODUCTS, SOME)
    send(lab, run, ORDERS, RECORDS)
    lab.target.wait_for_records(REMOTE, at_least=RECORDS, timeout_s=RECORDS_ARRIVE_S)
    told = lab.shell(
        "kafka1",
        f"kafka-console-consumer.sh {AT_TARGET} --topic {REMOTE} --from-beginning "
        "--property print.headers=true --max-messages 5 --timeout-ms 30000 2>/dev/null",
    )
    assert [line.partition(":")[0] for line in told.splitlines()] == ["lab-id"] * 5
    assert not lab.target.has_topic(f"source.{PRODUCTS}")


def test_31_mm2_reads_without_a_group_and_in_one_task(lab: Lab) -> None:
    """`lab groups --cluster source`: none of MM2's. Its tasks take partitions by themselves and keep their
    offsets in mm2-offsets.source.internal, on the target: `lab mm2 offsets`. There is not one task per
    partition but the fewer of partitions and `tasks.max`, and that is 1 unless said otherwise.
    """
    assert [group for group in lab.source.group_states() if "mm2" in group or "source" in group] == []
    found = {s.name: s for s in lab.statuses()}["source->target MirrorSourceConnector"]
    assert [task.state for task in found.tasks] == ["RUNNING"]
    assert wait_until_committed(lab, ORDERS) == 3


def test_32_what_watches_the_lab_needs_a_certificate_too(lab: Lab) -> None:
    """`lab lag`, or in Prometheus `sum(mirror_lab_record_lag{topic="orders"})`: 0. MM2's own count is
    `kafka_connect_mirror_source_record_count_total`, from its JMX beans.
    """

    def query(expression: str, wanted: float) -> None:
        def observe() -> bool | NotYet:
            found = [value.value for value in lab.metrics.query(expression)]
            return found == [wanted] or NotYet(f"{expression}: {found}")

        wait_until(observe, timeout_s=60, what=expression, transient=(MetricsError,), pause_s=0.5)

    query(f'sum(mirror_lab_record_lag{{topic="{ORDERS}"}})', 0)
    query(f'sum(kafka_connect_mirror_source_record_count_total{{topic="{REMOTE}"}})', RECORDS)


def test_33_spark_proves_it_over_the_same_listeners(lab: Lab) -> None:
    """`lab verify orders`: 100,000 records with the headers that they had, byte for byte."""
    flow = lab.flow(ORDERS)
    assert flow.options_of(flow.source)["kafka.security.protocol"] == "SSL"
    assert flow.bootstrap(flow.source).startswith("source-1:9092")
    prove(lab, RECORDS)


def test_34_and_nothing_is_wrong(lab: Lab) -> None:
    """`lab diagnose`: nothing found. With `--profile impostor` there is a broker that MM2 can be pointed at
    to see what it says then.
    """
    Doctor(lab).says_nothing()


# -- the other ways ----------------------------------------------------------------------------------


def test_40_from_sasl_ssl_to_the_local_cluster_and_nothing_back(lab: Lab, run: Run) -> None:
    """`lab up dedicated-tls --set LAB_MM2_PROPERTIES=mirror-maker/es-to-local.properties`: the source asks
    for the user `token` and an API key. MM2 goes on where it was.

    With `target->source.emit.heartbeats.enabled=false` no worker runs for the way back, and the source's
    `heartbeats` end: then MM2 needs no permission to write there but for offset syncs.
    """
    quiet = {"target->source.emit.heartbeats.enabled": "false"}
    start_with(lab, changed(FILES / "es-to-local.properties", quiet, run.path / "quiet.properties"))
    assert [flow.name for flow in lab.dedicated.flows] == ["source->target"]
    before = beats(lab)
    more(lab, run, 1)
    assert beats(lab) == before


@pytest.mark.parametrize(
    ("file", "protocols", "number"),
    [("kafka-to-es", ("SSL", "SASL_SSL"), 2), ("es-to-strimzi", ("SASL_SSL", "SSL"), 3)],
    ids=["tls-to-sasl", "sasl-to-tls"],
)
def test_41_from_one_secured_cluster_to_another(
    lab: Lab, run: Run, file: str, protocols: tuple[str, str], number: int
) -> None:
    """The same with mirror-maker/kafka-to-es.properties, and with mirror-maker/es-to-strimzi.properties."""
    start_with(lab, FILES / f"{file}.properties")
    more(lab, run, number)
    flow = lab.flow(ORDERS)
    seen = [flow.options_of(cluster)["kafka.security.protocol"] for cluster in (flow.source, flow.target)]
    assert tuple(seen) == protocols


def test_42_spark_proves_all_of_it_with_the_api_key(lab: Lab) -> None:
    """`lab verify orders` once more: it now reads the source by the listener that asks for the API key."""
    prove(lab, RECORDS + 3 * SOME)
    start_with(lab, DEFAULT)
    assert lab.deployed() == mm2_dedicated.connectors(mm2_dedicated.read(DEFAULT))


def send(lab: Lab, run: Run, topic: str, records: int, number: int = 0) -> None:
    plan = Plan(run=f"{topic[0]}{number}{run.path.name[9:15]}", records=records)
    with Producing(lab.source, topic, plan, run.path / f"{topic}-{number}") as producing:
        assert producing.wait().acked == records


def more(lab: Lab, run: Run, number: int) -> None:
    """Records that can only have come by what runs now, and that it will not mirror again when it starts."""
    send(lab, run, ORDERS, SOME, number)
    lab.target.wait_for_records(REMOTE, at_least=RECORDS + number * SOME, timeout_s=RECORDS_ARRIVE_S)
    wait_until_committed(lab, ORDERS)


def beats(lab: Lab) -> int:
    return sum(offsets.end for offsets in lab.source.offsets("heartbeats").values())


def prove(lab: Lab, records: int) -> None:
    judged = lab.verify(ORDERS)
    assert judged.outcome is Outcome.PASS, [v for v in judged.verdicts if v.outcome is Outcome.FAIL]
    counts = {verdict.check: verdict.counts for verdict in judged.verdicts}
    assert counts["loss"]["owed"] == records
    assert counts["headers"]["compared"] == records
