"""A group switches to the target with nothing skipped, whoever wrote its offsets there.

Claim: `lab sync-offsets` writes what MM2's own `sync.group.offsets.enabled` writes for the same checkpoints.
A group that goes on there reads every record that it has not read on the source, and reads again exactly as
many as `lab groups --compare` has said. What must not be written is refused.
"""

import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

import pytest

from lab.harness import Lab
from lab.kafka import ClusterError, GroupOffset, Place
from lab.mm2 import BYTES_CONVERTER, CHECKPOINT, Connector
from lab.producing import Producing
from lab.records import Plan
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.commands import COMMAND, Done, lab_command
from scenarios.under_load import hold

pytestmark = pytest.mark.topology("basic-mirror")

TOPIC, APP, LATE = "sync_offsets_orders", "switching-app", "switching-late"
PARTITIONS, READ = 3, 450
# 199 records in each partition: with an `offset.lag.max` of 10 the last of them has an offset sync at once,
# as number 0, 11, 22 … For any other it would come up to a minute later, and translate anew.
PARTS = (150, 150, 150, 147)
COUNT = sum(PARTS)
SYNCED_S = 3.0  # in which a task that still runs would have written
MM2S_OWN = {"sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": "1"}


@dataclass
class Switching:
    lab: Lab
    source: Connector
    checkpoints: Connector
    read_here: list[str]  # the ids of the records that the group has read on the source

    @property
    def remote(self) -> str:
        return self.source.remote_topic(TOPIC)

    def there(self, group: str = APP) -> dict[Place, GroupOffset]:
        """In the mirrored topic: a consumer of another one commits there by itself."""
        committed = self.lab.target.group_offsets(group)
        return {place: offset for place, offset in committed.items() if place[0] == self.remote}

    def sync(self, *options: str, group: str = APP) -> Done:
        return lab_command("sync-offsets", "--name", self.lab.name, "--group", group, *options)

    def wait_for_checkpoints(self, group: str) -> dict[Place, GroupOffset]:
        """Until they say what the group has committed on the source."""

        def observe() -> dict[Place, GroupOffset] | NotYet:
            told = self._told(group)
            committed = {
                (self.remote, p): o.offset for (_, p), o in self.lab.source.group_offsets(group).items()
            }
            upstream = {place: up for place, (up, _) in told.items()}
            if not committed or upstream != committed:
                return NotYet(f"{upstream}, not {committed}")
            return {place: GroupOffset(offset=down) for place, (_, down) in told.items()}

        return wait_until(
            observe,
            timeout_s=RECORDS_ARRIVE_S,
            what=f'checkpoints of group "{group}"',
            transient=(ClusterError,),
        )

    def _told(self, group: str) -> dict[Place, tuple[int, int]]:
        options = ("--group", group, "--topic", TOPIC, "--latest", "--json", "--name", self.lab.name)
        told = lab_command("checkpoints", *options).json.get("checkpoints", ())
        return {(c["topic"], c["partition"]): (c["upstream"], c["downstream"]) for c in told}


def consume(lab: Lab, service: str, address: str, topic: str, group: str, count: int) -> list[str]:
    """The ids of so many records, read by Kafka's console consumer, which commits when it has them."""
    told = lab.shell(
        service,
        f"kafka-console-consumer --bootstrap-server {address} --topic {topic} --group {group} "
        f"--max-messages {count} --timeout-ms 60000 --from-beginning 2>/dev/null",
    )
    return [line.partition(" ")[0] for line in told.splitlines()]


@pytest.fixture(scope="module")
def switching(lab: Lab) -> Switching:
    assert lab.run is not None
    lab.source.create_topic(TOPIC, partitions=PARTITIONS)
    given = {"topics": TOPIC, "header.converter": BYTES_CONVERTER}
    config = lab.connector("test_mirror", **given, **{"offset.lag.max": "10"}).config
    source = Connector(name="sync-offsets-source", config=config)
    shared = {k: v for k, v in config.items() if k.endswith(("cluster.alias", "bootstrap.servers"))}
    interval = {f"{what}.interval.seconds": "1" for what in ("emit.checkpoints", "refresh.groups")}
    own = {
        "connector.class": CHECKPOINT,
        "groups": f"{APP},{LATE}",
        "checkpoints.topic.replication.factor": "1",
    }
    checkpoints = Connector(name="sync-offsets-checkpoints", config={**shared, **own, **interval})
    lab.deploy(source)
    for part, count in enumerate(PARTS):  # offset syncs come with time
        plan = Plan(run=f"5witch{part}", records=count)
        with Producing(lab.source, TOPIC, plan, lab.run.path / f"part-{part}") as producing:
            producing.wait()
        so_far = sum(PARTS[: part + 1])
        lab.target.wait_for_records(source.remote_topic(TOPIC), at_least=so_far, timeout_s=RECORDS_ARRIVE_S)
    read = consume(lab, "broker", "broker:29092", TOPIC, APP, READ)
    assert len(set(read)) == READ
    lab.deploy(checkpoints.with_overrides(MM2S_OWN))
    return Switching(lab, source, checkpoints, read)


def test_it_writes_what_mm2_writes_for_the_same_checkpoints(switching: Switching) -> None:
    expected = switching.wait_for_checkpoints(APP)

    def synced() -> bool | NotYet:
        return switching.there() == expected or NotYet(str(switching.there()))

    # the target's first group ever makes it create the topic of all groups
    wait_until(synced, timeout_s=RECORDS_ARRIVE_S, what="MM2's own sync", transient=(ClusterError,))
    told = switching.sync("--dry-run", "--json").json["groups"][0]
    assert (len(told["unchanged"]), told["writes"], told["refused"]) == (PARTITIONS, [], [])

    switching.lab.deploy(switching.checkpoints)  # without MM2's sync: the group is ours now
    delete = f"kafka-consumer-groups --bootstrap-server broker2:29093 --delete --group {APP}"
    switching.lab.shell("broker2", delete)

    def deleted() -> bool | NotYet:  # the task that was replaced may have written it once more
        if there := switching.there():
            switching.lab.shell("broker2", delete)
        return not there or NotYet(str(there))

    hold(SYNCED_S)
    wait_until(deleted, timeout_s=RECORDS_ARRIVE_S, what="no group on the target", pause_s=SYNCED_S)
    told = switching.sync("--dry-run", "--json").json["groups"][0]
    assert len(told["writes"]) == PARTITIONS
    assert switching.there() == {}, "a dry run writes nothing"

    done = switching.sync("--once")
    assert done.code == 0, done.err
    assert switching.there() == expected


def test_who_is_not_there_or_named_otherwise_is_bad_input(switching: Switching, tmp_path: Path) -> None:
    before = switching.there()
    refused = {
        'no checkpoint of group "switching-ap" in topic "source.checkpoints.internal"': switching.sync(
            "--once", group="switching-ap"
        ),
        f'checkpoints name topic "{switching.remote}": Identity': switching.sync(
            "--once", "-rpc", "IdentityReplicationPolicy"
        ),
        'no replication policy "org.example.Mine" is known': switching.sync(
            "--once", "-rpc", "org.example.Mine"
        ),
        'cluster "target" has no topic "source-checkpoints-internal"': switching.sync("--once", "-rps", "-"),
    }
    for told, done in refused.items():
        assert done.code == 2
        assert done.err.splitlines()[0].startswith(f"error: {told}"), done.err
        assert done.err.splitlines()[1].startswith("hint: ")

    nobody = tmp_path / "nobody.properties"
    nobody.write_text("bootstrap.servers=127.0.0.1:9\n")
    down = lab_command("sync-offsets", "-cgi", APP, "-src", "source", "-pfp", str(nobody), "--once")
    assert down.code == 1
    assert down.err.startswith('error: asking cluster "destination" at 127.0.0.1:9 failed: ')
    assert switching.there() == before


def test_a_group_in_use_there_is_refused(switching: Switching) -> None:
    lab = switching.lab
    before = switching.there()
    consumer = f"kafka-console-consumer --bootstrap-server broker2:29093 --topic none --group {APP}"
    with lab.shell_in_background("broker2", consumer):
        wait_for_state(lab, "stable")
        done = switching.sync("--once")
        assert done.code == 1
        assert f'error: group "{APP}" is stable in cluster "target"' in done.err
        # a consumer that joins between looking and writing is safe too
        with pytest.raises(ClusterError, match="setting the offsets of group"):
            lab.target.commit(APP, dict.fromkeys(before, GroupOffset(offset=0)))
        assert switching.there() == before
    wait_for_state(lab, "empty")
    assert switching.sync("--once").code == 0


def wait_for_state(lab: Lab, state: str) -> None:
    def observe() -> bool | NotYet:
        seen = lab.target.group_states().get(APP, "absent")
        return seen == state or NotYet(seen)

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f'group "{APP}" {state}', transient=(ClusterError,))


def test_a_group_that_goes_on_there_skips_nothing_and_reads_again_what_was_said(switching: Switching) -> None:
    lab = switching.lab
    rows = lab_command("groups", "--compare", "--group", APP, "--json", "--name", lab.name).json["groups"]
    assert len(rows) == PARTITIONS
    assert {(row["switch"]["exact"], row["switch"]["skipped"]) for row in rows} == {(True, 0)}

    left = sum(row["target"]["lag"] for row in rows)
    read_there = consume(lab, "broker2", "broker2:29093", switching.remote, APP, left)
    assert len(read_there) == left
    assert len({*switching.read_here, *read_there}) == COUNT, "nothing was skipped"
    again = set(switching.read_here) & set(read_there)
    assert len(again) == sum(row["switch"]["again"] for row in rows)
    assert len(again) < READ, "it went on, and did not begin anew"


def test_what_was_read_there_is_not_taken_back(switching: Switching) -> None:
    before = switching.there()
    done = switching.sync("--once")
    assert done.code == 1
    assert f'error: group "{APP}" has committed ' in done.err
    assert "further than the" in done.err
    assert switching.there() == before


@pytest.fixture(scope="module")
def late(switching: Switching) -> Mapping[Place, GroupOffset]:
    """A group that has read everything on the source, and nothing was written of it on the target."""
    consume(switching.lab, "broker", "broker:29092", TOPIC, LATE, COUNT)
    return switching.wait_for_checkpoints(LATE)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_tutorials_line_runs_until_it_is_stopped(
    switching: Switching, late: Mapping[Place, GroupOffset], tmp_path: Path, ending: signal.Signals
) -> None:
    file = tmp_path / "consumer.properties_sync_dest"
    file.write_text(f"bootstrap.servers={switching.lab.target.bootstrap}\n")
    line = [*COMMAND, "sync-offsets", "-cgi", LATE, "-src", "source", "-pfp", str(file), "-int", "1"]
    with subprocess.Popen(line, stdout=PIPE, stderr=PIPE, text=True) as syncing:
        assert syncing.stdout
        first = syncing.stdout.readline()
        assert re.search(rf"wrote {PARTITIONS}, unchanged 0, refused 0|unchanged {PARTITIONS}", first), first
        while "unchanged" not in (seen := syncing.stdout.readline()):
            assert LATE in seen
        syncing.send_signal(ending)
        _, told = syncing.communicate(timeout=60)
    assert syncing.returncode == 130
    began, error, _ = told.splitlines()
    assert began.startswith("next: Ctrl-C ends this")
    assert error == "error: syncing was interrupted"
    assert switching.there(LATE) == late
