"""pause, resume, stop and offsets do what they say, with records as evidence, not states.

Claim: while a connector is paused or stopped nothing of its topic arrives, though another connector's records
do; afterwards all arrives, once. What Connect has committed is the truth once it was flushed; after a reset
everything is mirrored again.
"""

from pathlib import Path

import pytest

from lab.harness import Lab
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.connector_files import MSC, SOURCE, TARGET, count, mm2, write, write_records

pytestmark = pytest.mark.topology("kraft-2x2")

PARTITIONS, COUNT = 3, 60


@pytest.fixture
def beside(lab: Lab, topic: str, tmp_path: Path) -> str:
    """A second topic with a connector that goes on: what arrives there shows that time has passed."""
    beside = f"{topic}-beside"
    for name in (topic, beside):
        lab.cluster(SOURCE).create_topic(name, partitions=PARTITIONS)
        write_records(lab, name, COUNT, partitions=PARTITIONS)
        done = mm2(lab, "deploy", write(tmp_path, lab, MSC, name, topics=name))
        assert done.code == 0, done.err
        arrived(lab, name, COUNT)
    return beside


def arrived(lab: Lab, topic: str, number: int) -> int:
    return lab.cluster(TARGET).wait_for_records(topic, at_least=number, timeout_s=RECORDS_ARRIVE_S)


def committed(lab: Lab, topic: str) -> list[tuple[int, int, int]]:
    done = mm2(lab, "offsets", topic, "--json")
    assert done.code == 0, done.out
    return [(p["committed"], p["end"], p["behind"]) for p in done.json["connectors"][topic]]


def behind(lab: Lab, topic: str, number: int) -> None:
    """Once it was flushed, which happens every `offset.flush.interval.ms`."""

    def observe() -> bool | NotYet:
        seen = committed(lab, topic)
        there = None not in [c for c, _, _ in seen] and sum(b for _, _, b in seen) == number
        return True if there else NotYet(str(seen))

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f"{number} offsets behind")


@pytest.mark.parametrize(("command", "state"), [("pause", "PAUSED"), ("stop", "STOPPED")])
def test_nothing_arrives_meanwhile_and_all_of_it_afterwards(
    lab: Lab, topic: str, beside: str, command: str, state: str
) -> None:
    assert mm2(lab, command, topic, "--json").json["connectors"][0]["state"] == state
    assert mm2(lab, "restart", topic).code == 2
    for name in (topic, beside):
        write_records(lab, name, COUNT, partitions=PARTITIONS)
    arrived(lab, beside, 2 * COUNT)
    assert count(lab, TARGET, topic) == COUNT

    resumed = mm2(lab, "resume", topic, "--json").json["connectors"][0]
    assert {task["state"] for task in resumed["tasks"]} == {"RUNNING"}
    assert arrived(lab, topic, 2 * COUNT) == 2 * COUNT


def test_offsets_agree_with_the_truth_once_flushed_and_can_be_reset(
    lab: Lab, topic: str, beside: str
) -> None:
    behind(lab, topic, 0)
    ends = [offsets.end for offsets in lab.cluster(SOURCE).offsets(topic).values()]
    assert committed(lab, topic) == [(end, end, 0) for end in ends]

    refused = mm2(lab, "offsets", topic, "--reset")
    assert refused.code == 2
    assert f'error: connector "{topic}" is RUNNING' in refused.err
    stopped = mm2(lab, "stop", topic)
    assert stopped.code == 0, stopped.err
    write_records(lab, topic, 7, partitions=PARTITIONS)
    behind(lab, topic, 7)
    assert count(lab, TARGET, topic) == COUNT

    assert mm2(lab, "offsets", topic, "--reset", "--json").json == {"connectors": {topic: []}}
    assert mm2(lab, "resume", topic).code == 0
    assert arrived(lab, topic, 2 * COUNT + 7) == 2 * COUNT + 7, "everything was mirrored again"
    assert count(lab, TARGET, beside) == COUNT


def test_restart_goes_on_where_it_was(lab: Lab, topic: str, beside: str) -> None:
    assert mm2(lab, "restart", topic).code == 0
    write_records(lab, topic, 5, partitions=PARTITIONS)
    assert arrived(lab, topic, COUNT + 5) == COUNT + 5
    assert count(lab, TARGET, beside) == COUNT
