"""Topics of one name from two clusters arrive in a third: apart under their aliases, or merged into one.

Claim: of 50,000 records that each of `us` and `uk` has in its topic `logs`, every one is at `central` once,
and in the order of its own source and partition. With the default policy in `us.logs` and `uk.logs`; with
the identity policy in one `logs`, where a source's records are told from the other's by the ledgers of
both. There the policy promises no order between the sources, and forgets where a record is from.
"""

import pytest

from lab.errors import BadInput
from lab.harness import Lab
from lab.mm2 import IDENTITY_POLICY
from lab.producing import Producing
from lab.run import Run
from lab.verify.verdict import Outcome, Verdict
from lab.wait import RECORDS_ARRIVE_S
from lab.workload import Plan
from scenarios.diagnosing import Doctor

pytestmark = pytest.mark.topology("aggregate")

TOPIC = "logs"
RECORDS = 50_000
PARTITIONS = 3
SOURCES = ("us", "uk")
FINE = (Outcome.PASS, Outcome.NOT_APPLICABLE)


def deploy(lab: Lab, **overrides: str) -> None:
    for alias in SOURCES:
        for kind in ("msc", "cpc", "hbc"):
            lab.deploy(lab.connector(f"mm2-{kind}-{alias}", **overrides))


def verdicts(lab: Lab, alias: str) -> dict[str, Verdict]:
    return {verdict.check: verdict for verdict in lab.verify(TOPIC, source=alias).verdicts}


def not_fine(found: dict[str, Verdict]) -> dict[str, str]:
    return {check: v.meaning for check, v in found.items() if v.outcome not in FINE}


@pytest.fixture(scope="module", autouse=True)
def records(lab: Lab, run: Run) -> None:
    """Both sources get their records at the same time, while both are mirrored."""
    for alias in SOURCES:
        lab.cluster(alias).create_topic(TOPIC, partitions=PARTITIONS)
    deploy(lab)
    named = {alias: f"{alias}{run.path.name[9:15]}" for alias in SOURCES}
    us, uk = (
        Producing(lab.cluster(alias), TOPIC, Plan(run=named[alias], records=RECORDS), run.path / alias)
        for alias in SOURCES
    )
    with us, uk:
        assert [producing.wait().acked for producing in (us, uk)] == [RECORDS, RECORDS]


@pytest.mark.parametrize("alias", SOURCES)
def test_with_the_default_policy_each_source_has_a_topic_of_its_own(lab: Lab, alias: str) -> None:
    found = verdicts(lab, alias)

    assert not_fine(found) == {}
    assert found["loss"].counts["owed"] == RECORDS
    assert lab.target.has_topic(f"{alias}.{TOPIC}")
    assert not lab.target.has_topic(TOPIC)


def test_nothing_is_wrong_with_it(lab: Lab) -> None:
    Doctor(lab).says_nothing()


def test_of_several_sources_one_must_be_named(lab: Lab) -> None:
    with pytest.raises(BadInput, match='topic "logs" is mirrored from 2 clusters: uk, us'):
        lab.verify(TOPIC)


def test_with_the_identity_policy_both_are_merged_and_each_is_complete(lab: Lab) -> None:
    for name in lab.connect.names():  # with their offsets: the same records are mirrored once more
        lab.connect.forget(name)
    deploy(lab, **{"replication.policy.class": IDENTITY_POLICY})
    lab.target.wait_for_records(TOPIC, at_least=2 * RECORDS, timeout_s=RECORDS_ARRIVE_S)

    for alias in SOURCES:
        found = verdicts(lab, alias)
        assert not_fine(found) == {}
        assert found["loss"].counts["owed"] == found["order"].counts["compared"] == RECORDS
        assert found["reading"].counts["of_other_sources"] == RECORDS
    assert sum(o.count for o in lab.target.offsets(TOPIC).values()) == 2 * RECORDS


def test_what_is_wrong_with_one_source_is_found_beside_it(lab: Lab) -> None:
    """One record of `uk` once more, and one that neither had, written into the merged topic by hand."""
    again = next(r for r in lab.target.read(TOPIC, from_start=True) if (r.value or b"").startswith(b"uk"))
    producer = lab.target.producer()
    producer.produce(TOPIC, value=again.value, partition=again.partition, headers=list(again.headers))
    producer.produce(TOPIC, value=b"nobody sent this")
    producer.flush()

    assert not_fine(verdicts(lab, "us")).keys() == {"phantoms"}
    assert not_fine(verdicts(lab, "uk")).keys() == {"duplicates", "timestamp", "phantoms"}
