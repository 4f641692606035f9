"""The verdict finds planted trouble on real clusters, and names exactly what was planted.

Claim: of a topic that MM2 mirrored faithfully every check is PASS; of one that lost records before MM2
read them, got a foreign record, a record with another payload, a replayed range, or headers spoilt by
Connect's default converter, the check that is about it is FAIL and names those records and no others.
"""

from pathlib import Path
from typing import Any

import pytest

from lab.harness import Lab
from lab.mm2 import BYTES_CONVERTER, Connector
from lab.producing import Producing
from lab.records import HEADER, Plan, record_id
from lab.verify.verdict import Outcome, Verdict
from lab.wait import RECORDS_ARRIVE_S

pytestmark = pytest.mark.topology("basic-mirror")

RUN = "feed{:04x}"
COUNT = 400
PARTITIONS = 2


class Planted:
    """One topic with a connector and a workload of its own."""

    def __init__(self, lab: Lab, topic: str, number: int, folder: Path) -> None:
        self.lab, self.topic, self.run = lab, topic, RUN.format(number)
        self.folder = folder
        self.connector = Connector(
            name=topic,
            config=lab.connector("test_mirror", topics=topic, **{"header.converter": BYTES_CONVERTER}).config,
        )
        self.remote = self.connector.remote_topic(topic)
        lab.source.create_topic(topic, partitions=PARTITIONS)

    def produce(self) -> None:
        plan = Plan(run=self.run, records=COUNT, size_bytes=80)
        with Producing(self.lab.source, self.topic, plan, self.folder) as orders:
            orders.wait()
        assert orders.tally.acked == COUNT

    def mirror(self, *, expect: int = COUNT, overrides: dict[str, str | None] | None = None) -> None:
        self.lab.deploy(self.connector.with_overrides(overrides or {}))
        self.lab.target.wait_for_records(self.remote, at_least=expect, timeout_s=RECORDS_ARRIVE_S)

    def verdicts(self) -> dict[str, Verdict]:
        return {verdict.check: verdict for verdict in self.lab.verify(self.topic).verdicts}

    def id(self, sequence: int) -> str:
        return record_id(self.run, sequence)


@pytest.fixture
def planted(lab: Lab, topic: str, request: pytest.FixtureRequest) -> Planted:
    number = sum(map(ord, request.node.name)) % 0xFFFF
    assert lab.run is not None
    return Planted(lab, topic, number, lab.run.path / topic)


def failing(verdicts: dict[str, Verdict]) -> set[str]:
    assert verdicts, "nothing was judged"
    return {name for name, verdict in verdicts.items() if verdict.outcome is Outcome.FAIL}


def ids(verdict: Verdict) -> list[Any]:
    return sorted(coordinates["id"] for coordinates in verdict.first)


def test_a_faithful_mirror_passes_every_check(planted: Planted) -> None:
    planted.produce()
    planted.mirror()
    verdicts = planted.verdicts()
    assert failing(verdicts) == set()
    assert {v.outcome for v in verdicts.values()} - {Outcome.PASS} <= {"n/a"}
    assert verdicts["loss"].counts["owed"] == COUNT


def test_records_deleted_before_they_were_read_are_lost_and_named(planted: Planted) -> None:
    """Retention passes what MM2 has not read; MM2 goes on after it, RUNNING, without a word."""
    planted.produce()
    planted.lab.source.delete_records(planted.topic, {0: 7, 1: 5})
    planted.mirror(expect=COUNT - 12)
    verdicts = planted.verdicts()
    assert "loss" in failing(verdicts)
    lost = verdicts["loss"]
    assert (lost.counts["lost"], lost.counts["gone_from_source"]) == (12, 12)
    # Records without a key go round the partitions: sequence 2n is offset n of partition 0.
    assert ids(lost) == sorted(planted.id(s) for s in [*range(0, 14, 2), *range(1, 11, 2)])


def test_a_foreign_record_on_the_target_is_a_phantom_and_named(planted: Planted) -> None:
    planted.produce()
    planted.mirror()
    producer = planted.lab.target.producer()
    producer.produce(planted.remote, value=b"written by hand", partition=1)
    producer.flush()
    verdicts = planted.verdicts()
    assert failing(verdicts) == {"phantoms"}
    (named,) = verdicts["phantoms"].first
    assert verdicts["phantoms"].counts["foreign"] == 1
    assert (named["t_partition"], named["t_first"]) == (1, COUNT // PARTITIONS)


def test_a_record_with_another_payload_is_damaged_and_named(planted: Planted) -> None:
    planted.produce()
    planted.mirror()
    producer = planted.lab.target.producer()
    header = [(HEADER, planted.id(42).encode())]
    producer.produce(planted.remote, value=b"something else", headers=header, partition=0)
    producer.flush()
    verdicts = planted.verdicts()
    assert {"payload"} <= failing(verdicts) <= {"payload", "duplicates", "timestamp"}
    assert ids(verdicts["payload"]) == [planted.id(42)]


def test_a_replayed_range_is_duplicated_and_named(planted: Planted) -> None:
    """The connector is sent back by eight records of one partition, as a crash does it."""
    planted.produce()
    planted.mirror()
    end = COUNT // PARTITIONS
    planted.lab.connect.rewind(planted.topic, planted.topic, {1: end - 8}, source_alias="source")
    planted.lab.target.wait_for_records(planted.remote, at_least=COUNT + 8, timeout_s=RECORDS_ARRIVE_S)
    verdicts = planted.verdicts()
    assert failing(verdicts) == {"duplicates"}
    assert verdicts["duplicates"].counts["extra"] == 8
    assert ids(verdicts["duplicates"]) == sorted(planted.id(2 * n + 1) for n in range(end - 8, end))
    allowed = planted.lab.verify(planted.topic, allow_duplicates=True, only=["duplicates"])
    assert [(v.check, v.outcome) for v in allowed.verdicts] == [
        ("reading", Outcome.PASS),
        ("duplicates", Outcome.PASS),
    ]
    assert allowed.verdicts[1].counts["extra"] == 8


def test_headers_in_base64_are_named(planted: Planted) -> None:
    """Connect's default header converter, on every record that has a header."""
    planted.produce()
    planted.mirror(overrides={"header.converter": None})
    verdicts = planted.verdicts()
    assert failing(verdicts) == {"headers"}
    assert "base64" in verdicts["headers"].meaning
    assert COUNT in verdicts["headers"].counts.values()


def test_a_topic_that_is_still_written_to_is_judged_by_what_was_there(planted: Planted) -> None:
    """What came after the source's ends were named may be on the target or not, and nobody owes it."""
    planted.produce()
    planted.mirror()
    more = Plan(run="feed0bad", rate_per_s=200)
    with Producing(planted.lab.source, planted.topic, more, planted.folder / "more"):
        planted.lab.source.wait_for_records(planted.topic, at_least=COUNT + 1, timeout_s=RECORDS_ARRIVE_S)
        before = sum(o.count for o in planted.lab.source.offsets(planted.topic).values())
        while_written = planted.verdicts()
        after = sum(o.count for o in planted.lab.source.offsets(planted.topic).values())
    assert before < after
    assert failing(while_written) == set()
    assert COUNT < while_written["loss"].counts["owed"] < after
    assert failing(planted.verdicts()) == set()
