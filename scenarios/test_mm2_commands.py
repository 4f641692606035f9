"""`lab mm2 deploy` makes connectors run as their files say, and says what that took.

Claim: a source's alias deploys its three connectors; again, it leaves them alone; an edited file is deployed
again and a FAILED task repaired, though the connector says RUNNING; a missing file is named and nothing is
created; undeploying what is not there is a warning; a failing connector's own error is told.
"""

from pathlib import Path

import pytest

from lab.export import documents, properties, strimzi
from lab.export.meaning import differing
from lab.harness import Lab
from lab.wait import CONNECTOR_RUNS_S, RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.connector_files import CPC, HBC, MSC, SOURCE, TARGET, count, mm2, write, write_records

pytestmark = pytest.mark.topology("kraft-2x2")

THREE = [MSC, CPC, HBC]


@pytest.fixture
def mirrored(lab: Lab, topic: str) -> str:
    lab.cluster(SOURCE).create_topic(topic, partitions=2)
    write_records(lab, topic, 20, partitions=2)
    return topic


def arrived(lab: Lab, topic: str, number: int) -> int:
    return lab.cluster(TARGET).wait_for_records(topic, at_least=number, timeout_s=RECORDS_ARRIVE_S)


def said(lab: Lab, *arguments: str) -> dict[str, str]:
    return {entry["name"]: entry["done"] for entry in mm2(lab, *arguments, "--json").json["connectors"]}


def test_a_missing_file_is_named_and_nothing_is_created(lab: Lab) -> None:
    done = mm2(lab, "deploy", TARGET)

    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f'error: of the connectors of source "{TARGET}" mm2-msc-{TARGET}.json, mm2-cpc-{TARGET}.json, '
        f"mm2-hbc-{TARGET}.json are missing"
    )
    assert lab.connect.names() == []


def test_a_source_is_deployed_once_and_left_alone_afterwards(lab: Lab) -> None:
    lab.cluster(SOURCE).create_topic("test", partitions=5)
    write_records(lab, "test", 100, partitions=5)
    assert said(lab, "deploy", SOURCE) == dict.fromkeys(THREE, "deployed")
    assert arrived(lab, "test", 100) == 100
    configs = count(lab, TARGET, "connect-configs")

    assert said(lab, "deploy", SOURCE) == dict.fromkeys(THREE, "already deployed")
    assert count(lab, TARGET, "connect-configs") == configs, "no worker was told anything"
    shown = {status["name"]: status for status in mm2(lab, "status", SOURCE, "--json").json["connectors"]}
    assert list(shown) == THREE
    assert {task["state"] for task in shown[MSC]["tasks"]} == {"RUNNING"}
    assert {task["worker"] for task in shown[MSC]["tasks"]} <= {
        "kafka-connect-0:8083",
        "kafka-connect-1:8083",
    }

    assert mm2(lab, "undeploy", SOURCE).out == "".join(f"{name}: undeployed\n" for name in THREE)
    assert lab.connect.names() == []
    again = mm2(lab, "undeploy", SOURCE)
    assert (again.code, again.out) == (0, "".join(f"warning: {name} was not deployed\n" for name in THREE))


def test_an_edited_file_is_deployed_again_and_goes_on(lab: Lab, mirrored: str, tmp_path: Path) -> None:
    file = write(tmp_path, lab, MSC, mirrored, topics=mirrored, **{"tasks.max": "1"})
    assert said(lab, "deploy", file) == {mirrored: "deployed"}
    arrived(lab, mirrored, 20)

    write(tmp_path, lab, MSC, mirrored, topics=mirrored, **{"tasks.max": "2", "offset.lag.max": "0"})
    differing = mm2(lab, "diff", file)
    assert (differing.code, "offset.lag.max" in differing.out) == (1, True)
    assert said(lab, "deploy", file) == {mirrored: "changed: offset.lag.max, tasks.max"}
    assert mm2(lab, "diff", file).code == 0
    assert [task["offset.lag.max"] for task in lab.connect.task_configs(mirrored)] == ["0", "0"]
    write_records(lab, mirrored, 5)
    assert arrived(lab, mirrored, 25) == 25

    assert said(lab, "redeploy", file) == {mirrored: "deployed"}
    write_records(lab, mirrored, 5)
    assert arrived(lab, mirrored, 30) == 30, "it went on from where it was"


def test_what_is_deployed_is_had_as_a_resource_of_strimzi(lab: Lab, mirrored: str, tmp_path: Path) -> None:
    said(lab, "deploy", write(tmp_path, lab, MSC, mirrored, topics=mirrored, **{"offset.lag.max": "0"}))

    done = mm2(lab, "export", mirrored, "--strimzi", "--check")

    assert done.code == 0, done.err
    deployed = [connector for connector in lab.deployed() if connector.name == mirrored]
    assert differing(strimzi.read(documents.read(done.out)), deployed) == []
    as_file = mm2(lab, "export", mirrored, "--properties")
    assert differing(properties.read(as_file.out), deployed) == []


def test_a_failed_task_is_not_deployed_and_is_repaired(lab: Lab, mirrored: str, tmp_path: Path) -> None:
    file = write(tmp_path, lab, MSC, mirrored, topics=mirrored, **{"tasks.max": "1"})
    said(lab, "deploy", file)
    arrived(lab, mirrored, 20)
    lab.cluster(TARGET).set_topic_config(mirrored, **{"max.message.bytes": "500"})

    def failed() -> str | NotYet:
        write_records(lab, mirrored, 1, size_bytes=2_000)  # again: a broker hears of a config a little later
        status = lab.connect.status(mirrored)
        return status.state if status.failed == (0,) else NotYet(str(status))

    assert wait_until(failed, timeout_s=CONNECTOR_RUNS_S, what="a FAILED task") == "RUNNING"
    told = (
        f"{mirrored}: org.apache.kafka.common.errors.RecordTooLargeException: The request included a message"
    )
    assert told in mm2(lab, "status", mirrored).out

    lab.cluster(TARGET).set_topic_config(mirrored, **{"max.message.bytes": None})
    assert said(lab, "deploy", file) == {mirrored: "restarted failed task 0"}

    def repaired() -> bool | NotYet:
        missing = count(lab, SOURCE, mirrored) - count(lab, TARGET, mirrored)
        if missing <= 0:
            return True
        again = mm2(lab, "deploy", file)  # it fails again while its broker has not heard of the config
        return NotYet(f"{missing} records missing; deployed again with exit code {again.code}")

    wait_until(repaired, timeout_s=RECORDS_ARRIVE_S, what="all records on the target")


def test_a_connector_that_cannot_start_tells_its_own_error(lab: Lab, mirrored: str, tmp_path: Path) -> None:
    nowhere = {"source.cluster.bootstrap.servers": "no.such.host.invalid:9092"}
    file = write(tmp_path, lab, MSC, mirrored, topics=mirrored, **nowhere)

    done = mm2(lab, "deploy", file)
    assert done.code == 1
    told = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert told == [
        f'error: connector "{mirrored}" failed: org.apache.kafka.common.config.ConfigException: '
        "No resolvable bootstrap urls given in bootstrap.servers"
    ]

    write(tmp_path, lab, MSC, mirrored, topics=mirrored)
    assert said(lab, "deploy", file) == {mirrored: "changed: source.cluster.bootstrap.servers"}
    assert arrived(lab, mirrored, 20) == 20
