"""`lab diagnose` names what is wrong with a dedicated MM2, which nobody can ask by REST.

Claim: of each trouble that a tutorial lists two instances of different causes are named first or second, in
the form that today's Kafka gives them: a class that is not there, an address that leads nowhere, a topic that
is gone, a log that cannot be written, offsets that cannot be written. What is advised ends each; before and
after nothing is found.
"""

import io
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.diagnose import diagnose
from lab.harness import Lab, ending
from lab.harness.observing import read_logs
from lab.run import Run
from lab.wait import RECORDS_ARRIVE_S, SERVICES_HEALTHY_S, NotYet, wait_until
from scenarios.dedicated import DEFAULT, changed, restart, start_with
from scenarios.diagnosing import Doctor, flows, send, there

pytestmark = pytest.mark.topology("dedicated-tls")

MM2, TOPIC, REMOTE = "mirror-maker", "orders", "source.orders"
BROKER, DATA = "kafka3", "/var/lib/kafka/data"
STARTS = "Started MirrorSourceConnector"
STARTED_S = 25.0  # without another start
OFFSETS = "mm2-offsets.source.internal"
Changes = Mapping[str, str | None]
IMPOSTOR = "source.bootstrap.servers"
TROUBLES: Mapping[str, tuple[str, tuple[tuple[Changes, str], ...]]] = {
    "class": (
        "plugin_class",
        (
            ({"replication.policy.class": "com.example.Policy"}, "com.example.Policy"),
            ({"config.providers.file.class": "com.example.Provider"}, "com.example.Provider"),
        ),
    ),
    "listener": (
        "advertised_listener",
        (
            ({IMPOSTOR: "impostor:9104"}, "nowhere.invalid:9104, where nobody answers"),
            ({IMPOSTOR: "impostor:9105"}, "localhost:9105, where nobody answers: that is MM2's own machine"),
        ),
    ),
    "topics": (
        "topic_key",
        (
            ({"source->target.topics": None, "source->target.topic": TOPIC}, "takes all topics"),
            ({"source->target.topics": None, "source->target.topics.include": TOPIC}, "takes all topics"),
        ),
    ),
}
# As workers of Kafka 2 said it.
OLD = """\
[2020-05-11 09:12:01,101] ERROR Plugin class loader for connector: \
'org.apache.kafka.connect.mirror.MirrorCheckpointConnector' was not found. Returning: Delegating@7a \
(org.apache.kafka.connect.runtime.isolation.DelegatingClassLoader:165)
[2020-05-11 09:14:01,101] WARN [Producer clientId=connector-producer-MirrorHeartbeatConnector-0] Error while \
fetching metadata with correlation id 2314 : {source.heartbeats=UNKNOWN_TOPIC_OR_PARTITION} \
(org.apache.kafka.clients.NetworkClient:1077)
[2020-05-11 09:15:01,101] ERROR WorkerSourceTask{id=MirrorSourceConnector-0} Failed to flush, timed out \
while waiting for producer to flush outstanding 1 messages (o.a.k.connect.runtime.WorkerSourceTask:438)
[2020-05-11 09:15:01,101] ERROR WorkerSourceTask{id=MirrorSourceConnector-0} Failed to commit offsets \
(org.apache.kafka.connect.runtime.SourceTaskOffsetCommitter:114)
"""


@pytest.fixture(scope="module")
def file(lab: Lab, run: Run) -> Iterator[Path]:
    path = run.path / "mm2.properties"
    path.write_text(DEFAULT.read_text())
    path.chmod(0o644)  # a container's user reads it
    start_with(lab, path, profiles=("impostor",))
    lab.source.create_topic(TOPIC, replicas=3)
    yield path
    ending.stop_profile(lab.name, "impostor")
    start_with(lab, DEFAULT)


@pytest.fixture
def doctor(lab: Lab, file: Path) -> Iterator[Doctor]:
    """Of a lab in which records flow and nothing is found, and whose file is in order afterwards."""
    doctor = Doctor(lab)
    flows(lab, TOPIC, REMOTE)
    doctor.says_nothing()
    yield doctor
    if file.read_text() != (before := DEFAULT.read_text()):
        file.write_text(before)
        restart(lab)


@pytest.mark.parametrize("what", TROUBLES)
def test_a_properties_file_that_is_wrong(lab: Lab, doctor: Doctor, file: Path, what: str) -> None:
    rule, instances = TROUBLES[what]
    for changes, told in instances:
        changed(DEFAULT, changes, file)
        restart(lab)
        doctor.says(rule, told)
    file.write_text(DEFAULT.read_text())
    restart(lab)
    flows(lab, TOPIC, REMOTE)


def test_a_folder_that_cannot_be_written(lab: Lab, doctor: Doctor) -> None:
    """MM2's own log, without which it runs on, and the data of a broker, without which it ends."""
    start_with(lab, lab.mm2_file(), profiles=("impostor",), LAB_MM2_LOG_DIR="/sys/logs")
    found = doctor.says("log_directory")
    assert "/sys/logs" in found.what
    doctor.carry_out(found)
    assert "server.log" in lab.shell(MM2, "ls /tmp/logs")
    flows(lab, TOPIC, REMOTE)

    lab.shell(BROKER, f"chmod 500 {DATA}")
    create = "--create --topic unwritten --partitions 6 --replication-factor 1"
    lab.shell("kafka1", f"kafka-topics.sh --bootstrap-server kafka1:9092 {create}")
    found = doctor.says("log_directory", BROKER, shows=f"{BROKER} is exited")
    assert (BROKER in found.what, DATA in found.what) == (True, True)
    give_back(lab)
    lab.project.start(BROKER, timeout_s=SERVICES_HEALTHY_S)
    flows(lab, TOPIC, REMOTE)


def give_back(lab: Lab) -> None:
    """The mode of a folder in a container that has ended: no chmod runs there, but a copy carries it."""
    (box,) = [box.id for box in lab.containers() if box.service == BROKER]
    told = tarfile.TarInfo(Path(DATA).name)
    told.type, told.mode, told.uid = tarfile.DIRTYPE, 0o700, int(lab.shell(MM2, "id -u"))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(told)
    copy = ["docker", "cp", "-", f"{box}:{Path(DATA).parent}"]
    subprocess.run(copy, input=archive.getvalue(), check=True, capture_output=True)


def test_offsets_that_cannot_be_written(lab: Lab, doctor: Doctor) -> None:
    """All three replicas must be in sync and one is down: records flow, and offsets are not kept."""
    lab.target.set_topic_config(OFFSETS, **{"min.insync.replicas": "3"})
    lab.project.stop(BROKER)
    try:
        send(lab, TOPIC)
        found = doctor.says("flush_timeout")
        assert f"{BROKER} is exited" in found.evidence
        flows(lab, TOPIC, REMOTE)
    finally:
        lab.project.start(BROKER, timeout_s=SERVICES_HEALTHY_S)
    flows(lab, TOPIC, REMOTE)
    doctor.says_nothing()
    lab.target.set_topic_config(OFFSETS, **{"min.insync.replicas": None})


def test_lines_of_older_versions_are_known(run: Run) -> None:
    path = run.save("connect.log", OLD)
    assert [f.rule for f in diagnose(read_logs([path]))] == ["flush_timeout", "plugin_class", "unknown_topic"]


def test_a_topic_that_is_gone(lab: Lab, doctor: Doctor, file: Path) -> None:
    """The last: afterwards the two topics do not hold the same any more.

    On the target MM2 makes it again only when it looks for topics, every ten minutes by default; of the
    source it cannot know better than what is there.
    """
    changed(DEFAULT, {"refresh.topics.interval.seconds": "600"}, file)
    restart(lab)
    flows(lab, TOPIC, REMOTE)
    come_to_rest(lab)
    lab.target.delete_topics(REMOTE)
    send(lab, TOPIC)
    found = doctor.says("unknown_topic", gone := f'cluster "target" has no topic "{REMOTE}"')
    assert found.what.startswith(gone)
    restart(lab)  # as it is advised
    lab.target.wait_for_records(REMOTE, at_least=1, timeout_s=RECORDS_ARRIVE_S)

    come_to_rest(lab)
    lab.source.delete_topics(TOPIC)
    found = doctor.says("unknown_topic", gone := f'cluster "source" has no topic "{TOPIC}"')
    assert found.what.startswith(gone)
    lab.source.create_topic(TOPIC, replicas=3)
    file.write_text(DEFAULT.read_text())
    restart(lab)
    before = there(lab, REMOTE)
    for _ in range(20):  # more than the topic held before: MM2 skips those up to its old position
        send(lab, TOPIC)
    lab.target.wait_for_records(REMOTE, at_least=before + 1, timeout_s=RECORDS_ARRIVE_S)


def come_to_rest(lab: Lab) -> None:
    """MM2 starts its connectors twice, and each time looks for topics: what is gone by then is not missed."""
    starts, since = 0, time.monotonic()

    def observe() -> bool | NotYet:
        nonlocal starts, since
        log = lab.project.logs(MM2)
        if starts != (now := log.count(STARTS)):
            starts, since = now, time.monotonic()
        rested_s = time.monotonic() - since
        return rested_s >= STARTED_S or NotYet(f"{starts} starts, the last {rested_s:.0f} s ago")

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="MM2 starts no connector any more", pause_s=2)
