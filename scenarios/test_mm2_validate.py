"""`lab mm2 validate` finds what the worker's own validation lets pass.

Claim: there is nothing against the files of the topology; each planted mistake is one that the worker accepts
without a word, and the command names its key; `deploy` refuses it and creates nothing.
"""

from pathlib import Path

import pytest

from lab.harness import Lab
from lab.mm2 import BYTES_CONVERTER
from scenarios.connector_files import CPC, HBC, MSC, SOURCE, TARGET, mm2, write, write_records

pytestmark = pytest.mark.topology("kraft-2x2")

TOPIC = "judged"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
DEFAULT_POLICY = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"

# Of which connector: the change, and the key that is named.
MISTAKES = {
    "too many replicas": (MSC, "replication.factor", "3"),
    "too many replicas of offset syncs": (MSC, "offset-syncs.topic.replication.factor", None),
    "too many replicas of checkpoints": (CPC, "checkpoints.topic.replication.factor", None),
    "too many replicas of heartbeats": (HBC, "heartbeats.topic.replication.factor", None),
    "the worker's key converter": (MSC, "key.converter", None),
    "a value converter of JSON": (CPC, "value.converter", JSON_CONVERTER),
    "another policy than the source connector's": (CPC, "replication.policy.class", None),
    "another separator": (CPC, "replication.policy.separator", "_"),
    "another place of offset syncs": (CPC, "offset-syncs.topic.location", "target"),
    "another protocol": (CPC, "source.cluster.security.protocol", "SSL"),
    "no such topic": (MSC, "topics", "never-made"),
}


@pytest.fixture(scope="module")
def deployed(lab: Lab) -> str:
    """A source connector of this flow runs, with which the others must agree."""
    lab.cluster(SOURCE).create_topic(TOPIC)
    write_records(lab, TOPIC, 1)
    lab.deploy(lab.connector(MSC, topics=TOPIC))
    return MSC


def judged(lab: Lab, file: str, name: str) -> list[tuple[str, str]]:
    done = mm2(lab, "validate", file, "--json")
    found = [(problem["severity"], problem["key"]) for problem in done.json["connectors"][name]]
    assert done.code == (1 if any(severity == "error" for severity, _ in found) else 0)
    return found


@pytest.mark.parametrize("like", [MSC, CPC, HBC])
def test_there_is_nothing_against_a_right_connector(
    lab: Lab, deployed: str, like: str, tmp_path: Path
) -> None:
    assert deployed in lab.connect.names()
    right = {"topics": TOPIC} if like == MSC else {}
    assert judged(lab, write(tmp_path, lab, like, "right", **right), "right") == []


@pytest.mark.parametrize(("like", "key", "value"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_that_the_worker_accepts_is_named(
    lab: Lab, deployed: str, tmp_path: Path, like: str, key: str, value: str | None
) -> None:
    changes = {**({"topics": TOPIC} if like == MSC else {}), key: value}
    file = write(tmp_path, lab, like, "wrong", **changes)
    assert lab.connect.validate(lab.connector(like, **changes)) == [], "the worker says nothing"

    assert judged(lab, file, "wrong") == [("error", key)]
    refused = mm2(lab, "deploy", file)
    assert (refused.code, refused.err.partition(": ")[2].split(": ")[1]) == (2, key)
    assert lab.connect.names() == [deployed]


def test_headers_in_base64_are_a_warning(lab: Lab, deployed: str, tmp_path: Path) -> None:
    file = write(tmp_path, lab, MSC, "warned", topics=TOPIC, **{"header.converter": None})
    assert judged(lab, file, "warned") == [("warning", "header.converter")]
    assert lab.connector(MSC).config["header.converter"] == BYTES_CONVERTER
    assert lab.connect.names() == [deployed]


def test_what_the_worker_refuses_is_told_too(lab: Lab, deployed: str, tmp_path: Path) -> None:
    file = write(tmp_path, lab, MSC, "refused", topics=TOPIC, **{"tasks.max": "many"})
    assert set(judged(lab, file, "refused")) == {("error", "tasks.max")}
    assert lab.connect.names() == [deployed]


def test_an_endless_loop_is_refused_and_prefixes_are_not(lab: Lab, deployed: str, tmp_path: Path) -> None:
    forth = lab.connector(MSC).config
    back = {
        "source.cluster.alias": TARGET,
        "target.cluster.alias": SOURCE,
        "source.cluster.bootstrap.servers": forth["target.cluster.bootstrap.servers"],
        "target.cluster.bootstrap.servers": forth["source.cluster.bootstrap.servers"],
        "producer.override.bootstrap.servers": forth["source.cluster.bootstrap.servers"],
    }
    lab.cluster(TARGET).wait_for_topic(TOPIC)
    loop = write(tmp_path, lab, MSC, "back", topics=TOPIC, **back)
    assert judged(lab, loop, "back") == [("error", "replication.policy.class")]
    assert lab.connect.names() == [deployed]

    prefixed = {**back, "replication.policy.class": DEFAULT_POLICY}
    assert judged(lab, write(tmp_path, lab, MSC, "back", topics=TOPIC, **prefixed), "back") == []


def test_a_change_of_what_is_deployed_is_refused_for_what_it_brings(lab: Lab, deployed: str) -> None:
    """An unknown key, three replicas on two brokers: refused as `deploy` does; not for what was so before."""
    before = lab.connect.config(deployed)
    for change, told in (("replication.facto=1", "replication.facto"), ("replication.factor=3", "more than")):
        done = mm2(lab, "set", deployed, change)
        assert (done.code, told in done.err) == (2, True), done.err
        assert lab.connect.config(deployed) == before
    assert mm2(lab, "set", deployed, "replication.factor=3", "--force").code == 0
    done = mm2(lab, "set", deployed, "sync.topic.configs.interval.seconds=7", "--json")
    assert done.code == 0, done.err
    assert lab.connect.config(deployed)["sync.topic.configs.interval.seconds"] == "7"
    assert mm2(lab, "set", deployed, f"replication.factor={before['replication.factor']}").code == 0
