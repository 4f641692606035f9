"""`lab diagnose` names what is wrong with MM2 on Connect, and with what it advises records flow again.

Claim: each trouble that is planted here is named first or second, in the form that today's Kafka gives it and
from more than one cause; the commands that the diagnosis gives end it; before and after nothing is found.
Most of these troubles leave every connector RUNNING.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from lab import engine
from lab.harness import Lab, Wish
from lab.kafka import ClusterError
from lab.mm2 import BYTES_CONVERTER
from lab.run import Run
from lab.wait import FORGOTTEN_S, RECORDS_ARRIVE_S, NotYet, every, wait_until
from lab.workload import Plan, produce
from scenarios.commands import lab_command
from scenarios.diagnosing import Doctor, flows, send, there

pytestmark = pytest.mark.topology("kraft-2x2")

SOURCE, CHECKPOINT = "mm2-msc-source-0", "mm2-cpc-source-0"
GROUP = "readers"
HEAP = "LAB_CONNECT_HEAP"
BYTES = 2_000_000
OFFSET_SYNCS = "mm2-offset-syncs.target-0.internal"


@pytest.fixture
def doctor(lab: Lab, run: Run) -> Doctor:
    return Doctor(lab)


@pytest.fixture(autouse=True)
def forgotten(lab: Lab) -> Iterator[None]:
    """Each trouble by itself: no connector is left of the one before."""
    yield
    for name in lab.connect.names():
        lab.connect.forget(name)


def mirror(lab: Lab, topic: str, **overrides: str | None) -> None:
    lab.deploy(lab.connector(SOURCE, **{"topics": topic, **overrides}))


def test_a_healthy_flow_has_nothing(lab: Lab, topic: str, doctor: Doctor) -> None:
    lab.source.create_topic(topic)
    mirror(lab, topic)
    flows(lab, topic, topic)
    doctor.says_nothing()
    done = lab_command("diagnose", "--name", lab.name)
    assert (done.code, done.out.startswith("nothing found")) == (0, True)


def test_more_replicas_than_brokers(lab: Lab, topic: str, doctor: Doctor) -> None:
    """MM2 cannot make the topic of its offset syncs. Here brokers make any topic that somebody writes to,
    but as one that forgets: after its retention no group could be translated any more.
    """
    lab.source.create_topic(topic)
    if lab.source.has_topic(OFFSET_SYNCS):
        lab.source.delete_topics(OFFSET_SYNCS)
    mirror(lab, topic, **{"offset-syncs.topic.replication.factor": None})
    flows(lab, topic, topic)
    found = doctor.says("replication_factor")
    assert "offset-syncs.topic.replication.factor=3, MM2's default" in found.evidence
    lab.source.wait_for_topic(OFFSET_SYNCS)
    assert cleanup(lab) == "delete"
    lab.connect.stop(SOURCE)
    lab.connect.wait_until_state(SOURCE, "STOPPED")
    lab.source.delete_topics(OFFSET_SYNCS)
    lab.connect.resume(SOURCE)
    doctor.carry_out(found)
    flows(lab, topic, topic)
    assert cleanup(lab) == "compact"

    mirror(lab, topic, **{"replication.factor": "3"})
    doctor.carry_out(doctor.says("replication_factor"))
    flows(lab, topic, topic)
    doctor.says_nothing()


def cleanup(lab: Lab) -> str | None:
    return lab.source.topic_configs([OFFSET_SYNCS])[OFFSET_SYNCS]["cleanup.policy"].value


def test_a_record_too_large_for_mm2_and_then_for_the_target(lab: Lab, topic: str, doctor: Doctor) -> None:
    lab.source.create_topic(topic, configs={"max.message.bytes": str(2 * BYTES)})
    mirror(lab, topic)
    flows(lab, topic, topic)
    doctor.says_nothing()
    large = {"message.max.bytes": 2 * BYTES}
    sent = send(lab, topic, b"x" * BYTES, **large)
    found = doctor.says("record_too_large")
    assert "max.request.size" in found.evidence[0]
    assert there(lab, topic) == sent - 1
    doctor.carry_out(found)
    lab.target.wait_for_records(topic, at_least=sent, timeout_s=RECORDS_ARRIVE_S)

    # MM2 gave the remote topic the limit of its source; somebody takes it back to Kafka's default.
    lab.target.set_topic_config(topic, **{"max.message.bytes": "1048588"})

    def refused() -> bool | NotYet:  # brokers learn of it in their own time
        send(lab, topic, b"x" * BYTES, **large)
        return bool(lab.connect.status(SOURCE).failed) or NotYet("it still takes them")

    wait_until(refused, timeout_s=60, what="the target takes no large record", pause_s=1)
    sent = sum(offsets.end for offsets in lab.source.offsets(topic).values())
    found = doctor.says("record_too_large")
    assert "max.message.bytes" in found.evidence[0]
    lab.target.set_topic_config(topic, **{"max.message.bytes": str(2 * BYTES)})
    doctor.carry_out(found)
    lab.target.wait_for_records(topic, at_least=sent, timeout_s=RECORDS_ARRIVE_S)
    flows(lab, topic, topic)
    doctor.says_nothing()
    lab.connect.forget(SOURCE)
    lab.source.delete_topics(topic)  # the next scenario mirrors all that there is


def test_topic_for_topics_mirrors_everything(lab: Lab, topic: str, doctor: Doctor) -> None:
    """Also `topics.whitelist`, as in other tools."""
    other = f"{topic}-other"
    for name in (topic, other):
        lab.source.create_topic(name)
        send(lab, name)
    connector = lab.connector(SOURCE, topics=None)
    lab.deploy(connector.with_overrides({"topic": topic}))
    lab.target.wait_for_records(other, at_least=1, timeout_s=RECORDS_ARRIVE_S)
    found = doctor.says("topic_key")
    assert "takes all topics" in found.what
    doctor.carry_out(found)
    flows(lab, topic, topic)

    def ignored() -> bool | NotYet:  # a task that is being replaced may take one more record along
        before = there(lab, other)
        send(lab, other)
        flows(lab, topic, topic)
        return there(lab, other) == before or NotYet("mirrored")

    wait_until(ignored, timeout_s=RECORDS_ARRIVE_S, what=f"{other} left out")
    doctor.says_nothing()

    lab.deploy(connector.with_overrides({"topics.whitelist": topic}))
    assert "takes all topics" in doctor.says("topic_key").what


@pytest.mark.parametrize("given", [None, "org.apache.kafka.connect.storage.StringConverter"])
def test_headers_that_are_converted(lab: Lab, topic: str, doctor: Doctor, given: str | None) -> None:
    lab.source.create_topic(topic)
    mirror(lab, topic, **{"header.converter": given})
    flows(lab, topic, topic)
    assert headers(lab, topic)[-1] != b"\x00\xff"
    found = doctor.says("header_converter")
    assert BYTES_CONVERTER in found.commands[0]
    doctor.carry_out(found)

    def mended() -> bool | NotYet:  # a task that is being replaced may take one more record along
        flows(lab, topic, topic)
        return headers(lab, topic)[-1] == b"\x00\xff" or NotYet("converted")

    wait_until(mended, timeout_s=RECORDS_ARRIVE_S, what="headers as they are")
    doctor.says_nothing()


def headers(lab: Lab, topic: str) -> list[bytes | None]:
    return [
        value for record in lab.target.read(topic, from_start=True, idle_s=2) for _, value in record.headers
    ]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same-topic", "other-topic"])
def test_a_group_that_reads_on_both_sides(lab: Lab, topic: str, doctor: Doctor, elsewhere: bool) -> None:
    """On the target the member may read anything: MM2 looks at the group, not at its topics."""
    lab.source.create_topic(topic)
    mirror(lab, topic, **{"offset.lag.max": "0"})
    for _ in range(20):
        flows(lab, topic, topic)
    settings = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    read = topic
    if elsewhere:
        read = f"{topic}-elsewhere"
        lab.target.create_topic(read)
    with closing(lab.source.consumer(**settings)) as at_source:
        at_source.subscribe([topic])
        assert len(at_source.consume(5, RECORDS_ARRIVE_S)) == 5
        at_source.commit(asynchronous=False)
        seconds = {
            f"{what}.interval.seconds": "1"
            for what in ("sync.group.offsets", "emit.checkpoints", "refresh.groups")
        }
        lab.deploy(lab.connector(CHECKPOINT, **{"sync.group.offsets.enabled": "true", **seconds}))
        wait_until(
            lambda: synced(lab, topic) or NotYet("nothing"),
            timeout_s=RECORDS_ARRIVE_S,
            what="offsets are synced",
            transient=(ClusterError,),
        )
        before = synced(lab, topic)
        doctor.says_nothing()

        with closing(lab.target.consumer(**settings)) as at_target:
            at_target.subscribe([read])

            def joined() -> bool | NotYet:
                at_target.poll(0.5)
                state = lab.target.group_states().get(GROUP, "absent")
                return state == "stable" or NotYet(state)

            wait_until(
                joined, timeout_s=RECORDS_ARRIVE_S, what="a member on the target", transient=(ClusterError,)
            )
            assert len(at_source.consume(10, RECORDS_ARRIVE_S)) == 10
            at_source.commit(asynchronous=False)
            found = doctor.says("group_active")
            for _ in every(1, for_s=5):
                at_target.poll(0)
                assert synced(lab, topic) == before
            assert GROUP in found.what

        wait_until(
            lambda: synced(lab, topic) > before or NotYet(str(before)),
            timeout_s=RECORDS_ARRIVE_S,
            what="the sync goes on",
            transient=(ClusterError,),
        )
        doctor.says_nothing()
    doctor.carry_out(found)


def synced(lab: Lab, topic: str) -> int:
    offset = lab.target.group_offsets(GROUP).get((topic, 0))
    return offset.offset if offset else 0


@pytest.mark.slow  # after it a worker may hear nothing of its configs for minutes
def test_a_target_that_takes_no_offsets(lab: Lab, topic: str, doctor: Doctor) -> None:
    """Both brokers of the target hang for a while: nothing fails, and offsets are not written in time."""
    lab.source.create_topic(topic)
    mirror(lab, topic)
    flows(lab, topic, topic)
    doctor.says_nothing()
    hanging = [box.id for box in lab.containers() if box.service.startswith("kafka-target")]
    engine.docker("pause", *hanging)
    try:
        found = doctor.says("flush_timeout")
        assert any("is paused" in evidence for evidence in found.evidence)
    finally:
        engine.docker("unpause", *hanging)
    lab.target.wait_for_records(topic, at_least=send(lab, topic), timeout_s=FORGOTTEN_S)


def test_a_worker_and_a_broker_that_are_down(lab: Lab, topic: str, doctor: Doctor) -> None:
    """A worker killed from outside is no lack of memory."""
    lab.source.create_topic(topic)
    mirror(lab, topic)
    flows(lab, topic, topic)
    for service in ("kafka-connect-1", "kafka-source-1"):
        lab.project.kill(service)
        found = doctor.says("service_down", service)
        assert "exit code 137, killed" in found.what
        doctor.carry_out(found)
    flows(lab, topic, topic)
    doctor.says_nothing()


@pytest.mark.parametrize(
    ("heap", "exit_code"),
    [("-Xmx64m", 3), ("-Xms1300m -Xmx1300m -XX:+AlwaysPreTouch", 137)],
    ids=["heap", "container"],
)
def test_workers_out_of_memory(
    lab: Lab, run: Run, topic: str, doctor: Doctor, heap: str, exit_code: int
) -> None:
    """A heap that cannot hold what the tasks fetch, and one that does not fit into its container."""
    lab.source.create_topic(topic)
    mirror(lab, topic)
    flows(lab, topic, topic)
    wish = Wish(topology=lab.topology.name, name=lab.name, kafka=lab.kafka_version, variables={HEAP: heap})
    if exit_code == 3:
        lab.connect.stop(SOURCE)
        produce(lab.source, topic, Plan(run="memory", records=400_000, size_bytes=500), lambda _: None)
        Lab.up(wish).close()
        lab.connect.resume(SOURCE)
    else:
        with pytest.raises(engine.EngineError, match=r"ended|exited"):
            Lab.up(wish)
    # Its log tells of it a moment before it ends.
    found = doctor.says("memory", shows=f"exit code {exit_code}")
    doctor.carry_out(found)
    flows(lab, topic, topic)
