"""MM2's own sync, `lab sync-offsets` and Kafka's Java library make the same offsets of the same checkpoints.

Claim: for groups at the head, behind it, and in one partition only, the three agree in every partition. They
differ in what they do with a group that must not be touched. While consumers of it are on the target, MM2
leaves it alone with a warning in its log, `lab sync-offsets` refuses it and says why, and the library, which
knows nothing of groups, translates all the same; so too where the group has gone back on the source: the
library tells the earlier offset, and the other two never move a group back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from lab.harness import Lab
from lab.kafka import GroupOffset, Place
from lab.producing import Producing
from lab.run import Run
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import Plan
from scenarios.checkpoints import Committed, wait_until_checkpointed, wait_until_synced
from scenarios.commands import Done, lab_command
from scenarios.java_library import translate_offsets
from scenarios.telling import tell

pytestmark = pytest.mark.topology("migration")

TOPIC, SOURCE, TARGET = "translations", "msksource", "mskdest"
# Records of each part, so 1,112 in each partition: with an `offset.lag.max` of 100 the last of them has an
# offset sync at once, as number 0, 101, 202 … For any other it would come later, and translate anew.
PARTITIONS, PARTS, COUNT = 3, 4, 834
END = PARTS * COUNT // PARTITIONS
GROUPS = {
    "agree-head": dict.fromkeys(range(PARTITIONS), END),
    "agree-behind": {0: END - 7, 1: END - 333, 2: 1},
    "agree-one": {1: END - 40},
}
HEAD, BEHIND, ONE = GROUPS
LATER = "agree-later"
QUICK = {"groups": "agree-.*"} | {
    f"{what}.interval.seconds": "1" for what in ("refresh.groups", "emit.checkpoints", "sync.group.offsets")
}


@dataclass(frozen=True)
class Three:
    """What each of them says of a group."""

    mm2: Mapping[Place, int]
    command: Mapping[Place, int]
    library: Mapping[Place, int]


def offsets(given: Committed) -> dict[Place, int]:
    return {place: committed.offset for place, committed in given.items()}


def commit(lab: Lab, group: str, positions: Mapping[int, int]) -> None:
    lab.source.commit(group, {(TOPIC, p): GroupOffset(offset=offset) for p, offset in positions.items()})


def there(lab: Lab, group: str) -> Committed:
    """On the target, in the mirrored topic: a consumer of another one commits there by itself."""
    return {place: o for place, o in lab.target.group_offsets(group).items() if place[0] == TOPIC}


def sync(lab: Lab, group: str, *options: str) -> Done:
    given = ("--group", group, "--source", SOURCE, "--json", *options, "--name", lab.name)
    return lab_command("sync-offsets", *given)


def refusals(done: Done) -> list[str]:
    """Of one round."""
    groups: list[dict[str, Any]] = done.json["groups"]
    return [refused["why"] for group in groups for refused in group["refused"]]


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    """MM2's topic of checkpoints, once records and groups are mirrored with MM2's own sync."""
    assert lab.run is not None
    lab.source.create_topic(TOPIC, partitions=PARTITIONS)
    lab.deploy(lab.connector("mm2-msc", topics=TOPIC))
    for part in range(PARTS):  # offset syncs come with time
        plan = Plan(run=f"agree{part}", records=COUNT)
        with Producing(lab.source, TOPIC, plan, lab.run.path / f"part-{part}") as producing:
            assert producing.wait().acked == COUNT
        so_far = (part + 1) * COUNT
        lab.target.wait_for_records(TOPIC, at_least=so_far, timeout_s=RECORDS_ARRIVE_S)
    for group, positions in GROUPS.items():
        commit(lab, group, positions)
    connector = lab.connector("mm2-cpc-sync", **QUICK)
    lab.deploy(connector)
    for group in GROUPS:
        wait_until_checkpointed(lab.source, lab.target, connector.checkpoints_topic, group)
    wait_until_synced(lab.target, connector.checkpoints_topic, GROUPS)
    return connector.checkpoints_topic


def test_10_of_the_same_checkpoints_the_three_make_the_same(
    lab: Lab, run: Run, topic: str, request: pytest.FixtureRequest
) -> None:
    lab.connect.delete("mm2-cpc")  # no checkpoint comes any more
    lab.connect.wait_until_gone("mm2-cpc")
    by_mm2 = {group: offsets(lab.target.group_offsets(group)) for group in GROUPS}
    for group in GROUPS:
        lab.shell(TARGET, f"kafka-consumer-groups --bootstrap-server mskdest:9092 --delete --group {group}")
        assert lab.target.group_offsets(group) == {}
        assert sync(lab, group, "--once").code == 0
    three = {
        group: Three(
            mm2=by_mm2[group],
            command=offsets(lab.target.group_offsets(group)),
            library=offsets(translate_offsets(lab, TARGET, SOURCE, group)),
        )
        for group in GROUPS
    }
    rows = [
        {
            "group": group,
            "partition": partition,
            "source": committed,
            **{
                who: getattr(three[group], who).get((TOPIC, partition))
                for who in ("mm2", "command", "library")
            },
        }
        for group, positions in GROUPS.items()
        for partition, committed in positions.items()
    ]
    run.save("translations.json", rows)
    show(request, run, rows)
    for group, its in three.items():
        assert its.mm2 == its.command == its.library, group
        assert set(its.mm2) == {(TOPIC, partition) for partition in GROUPS[group]}
    assert all(0 < row["mm2"] <= row["source"] for row in rows), "never beyond what the group has read"


def show(request: pytest.FixtureRequest, run: Run, rows: list[dict[str, Any]]) -> None:
    lines = [f"{'group':<14}{'partition':>9}{'source':>8}{'MM2':>8}{'sync-offsets':>14}{'Java library':>14}"]
    lines += [
        "{group:<14}{partition:>9}{source:>8}{mm2!s:>8}{command!s:>14}{library!s:>14}".format(**row)
        for row in rows
    ]
    told = "\n".join(lines) + "\n"
    run.save("translations.txt", told)
    tell(request.config, told)


def test_20_a_group_with_consumers_there_is_translated_and_not_written(lab: Lab, topic: str) -> None:
    """The other group shows that MM2's sync went on meanwhile."""
    before = there(lab, ONE)
    consumer = f"kafka-console-consumer --bootstrap-server mskdest:9092 --topic none --group {ONE}"
    with lab.shell_in_background(TARGET, f"KAFKA_HEAP_OPTS=-Xmx64m {consumer}"):
        wait_for_state(lab, ONE, "stable")
        lab.deploy(lab.connector("mm2-cpc-sync", **QUICK))
        commit(lab, ONE, {1: END})
        told = wait_until_checkpointed(lab.source, lab.target, topic, ONE)
        commit(lab, BEHIND, dict.fromkeys(range(PARTITIONS), END))
        wait_until_checkpointed(lab.source, lab.target, topic, BEHIND)
        wait_until_synced(lab.target, topic, [BEHIND])
        warned(lab, f"Unable to sync offsets for consumer group {ONE}")

        assert offsets(told) != offsets(before), "there is something to write"
        assert there(lab, ONE) == before
        refused = sync(lab, ONE, "--once")
        assert (refused.code, refusals(refused)) == (1, ["active"])
        assert there(lab, ONE) == before
        assert offsets(translate_offsets(lab, TARGET, SOURCE, ONE)) == offsets(told)
    wait_for_state(lab, ONE, "empty")
    wait_until_synced(lab.target, topic, [ONE])


def wait_for_state(lab: Lab, group: str, state: str) -> None:
    def observe() -> bool | NotYet:
        seen = lab.target.group_states().get(group, "absent")
        return seen == state or NotYet(seen)

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f'group "{group}" {state}')


def warned(lab: Lab, text: str) -> None:
    def observe() -> bool | NotYet:
        return text in lab.project.logs("connect") or NotYet("not in the log")

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f'"{text}" in the worker\'s log', pause_s=0.5)


def test_30_a_group_that_has_gone_back_is_translated_and_not_moved_back(lab: Lab, topic: str) -> None:
    before = there(lab, HEAD)
    commit(lab, HEAD, dict.fromkeys(range(PARTITIONS), END // 2))
    told = wait_until_checkpointed(lab.source, lab.target, topic, HEAD)
    commit(lab, LATER, {0: 10})  # by this group MM2 shows that it has synced since
    wait_until_checkpointed(lab.source, lab.target, topic, LATER)
    wait_until_synced(lab.target, topic, [LATER])

    assert told.keys() == before.keys()
    assert all(offset < before[place].offset for place, offset in offsets(told).items())
    refused = sync(lab, HEAD, "--once")
    assert (refused.code, refusals(refused)) == (1, ["rewind"] * PARTITIONS)
    assert there(lab, HEAD) == before
    assert offsets(translate_offsets(lab, TARGET, SOURCE, HEAD)) == offsets(told)
