"""The lab's record lag is the truth, partition by partition.

Claim: it is 0 everywhere when MM2 has caught up, exactly the backlog while the connector is paused, and 0
again afterwards; also when MM2 has written records twice, when the source holds markers and aborted records
of transactions, and when all records are equal. Nothing of it comes from what Connect has committed.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from lab.harness import Lab
from lab.kafka import Producer
from lab.lag import LagWatcher, Sample, watchers
from lab.mm2 import Connector
from lab.producing import Producing
from lab.records import Plan
from lab.run import Run
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.commands import COMMAND, lab_command

pytestmark = pytest.mark.topology("basic-mirror")

PARTITIONS = 3


class Flowing:
    """A topic with a connector of its own and a watch of its lag."""

    def __init__(self, lab: Lab, topic: str) -> None:
        self.lab, self.topic = lab, topic
        self.connector = Connector(name=topic, config=lab.connector("test_mirror", topics=topic).config)
        self.remote = self.connector.remote_topic(topic)
        lab.source.create_topic(topic, partitions=PARTITIONS)
        self.producer: Producer = lab.source.producer()
        self.watcher = self.new_watcher()

    def new_watcher(self) -> LagWatcher:
        (watcher,) = watchers([self.connector], self.lab.ends, topic=self.topic)
        return watcher

    def write(self, *counts: int, value: str = "record {}") -> None:
        """So many records into each partition."""
        for partition, count in enumerate(counts):
            for number in range(count):
                self.producer.produce(self.topic, value=value.format(number).encode(), partition=partition)
        self.producer.flush()

    def samples(self) -> list[Sample]:
        return self.watcher.sample(patience_s=10)

    def lags(self) -> list[int | None]:
        return [sample.lag if sample.exact else None for sample in self.samples()]

    def exact(self) -> list[int | None]:
        """Once all answer in time: what is told as exact is right at any time."""
        return wait_until(
            lambda: NotYet(str(lags)) if None in (lags := self.lags()) else lags,
            timeout_s=RECORDS_ARRIVE_S,
            what="an exact lag",
        )

    def wait_for(self, *lags: int) -> None:
        def observe() -> bool | NotYet:
            seen = self.lags()
            return seen == list(lags) or NotYet(str(seen))

        wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f"lag {list(lags)}")

    def wait_for_the_same_anew(self, *lags: int) -> None:
        """Of a watcher that has seen nothing yet: at its first look, once all answer in time."""

        def observe() -> bool | NotYet:
            with self.new_watcher() as fresh:
                seen = [sample.lag for sample in fresh.sample(patience_s=10)]
            return seen == list(lags) or NotYet(str(seen))

        wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what=f"lag {list(lags)} at a first look")

    def deploy(self) -> None:
        self.lab.deploy(self.connector)

    def pause(self) -> None:
        """Until its tasks are paused and have mirrored what they had read."""
        self.lab.connect.pause(self.topic)
        self.lab.connect.wait_until_state(self.topic, "PAUSED")

    def resume(self) -> None:
        self.lab.connect.resume(self.topic)
        self.lab.connect.wait_until_state(self.topic, "RUNNING")


@pytest.fixture
def flowing(lab: Lab, topic: str) -> Iterator[Flowing]:
    flowing = Flowing(lab, topic)
    with flowing.watcher:
        yield flowing


def test_it_is_the_backlog_while_paused_and_nothing_before_and_after(flowing: Flowing) -> None:
    flowing.write(10, 20, 30)
    assert flowing.exact() == [10, 20, 30], "nothing is mirrored yet"
    flowing.deploy()
    flowing.wait_for(0, 0, 0)

    flowing.pause()
    flowing.write(7, 0, 1_234)
    assert flowing.exact() == [7, 0, 1_234]
    samples = flowing.samples()
    assert [s.mirrored_to for s in samples] == [10, 20, 30]
    assert [s.oldest_unmirrored_age_s == 0 for s in samples] == [False, True, False]
    flowing.write(3, 5, 0)
    assert flowing.exact() == [10, 5, 1_234]
    flowing.wait_for_the_same_anew(10, 5, 1_234)

    flowing.resume()
    flowing.wait_for(0, 0, 0)
    assert all(s.arrival_s for s in flowing.samples()), "the watch saw records arrive"


def test_records_that_are_all_equal_are_told_apart(flowing: Flowing) -> None:
    flowing.write(50, 50, 50, value="equal")
    flowing.deploy()
    flowing.wait_for(0, 0, 0)
    flowing.pause()
    flowing.write(400, 1, 0, value="equal")

    assert flowing.exact() == [400, 1, 0]
    flowing.wait_for_the_same_anew(400, 1, 0)


def test_records_that_were_written_twice_change_nothing(flowing: Flowing) -> None:
    flowing.write(100, 100, 100)
    flowing.deploy()
    flowing.wait_for(0, 0, 0)
    flowing.lab.connect.rewind(flowing.topic, flowing.topic, {0: 60, 2: 0}, source_alias="source")
    flowing.lab.target.wait_for_records(flowing.remote, at_least=440, timeout_s=RECORDS_ARRIVE_S)
    assert flowing.exact() == [0, 0, 0]

    flowing.pause()
    flowing.write(5, 6, 7)
    assert flowing.exact() == [5, 6, 7]
    flowing.wait_for_the_same_anew(5, 6, 7)
    flowing.resume()
    flowing.wait_for(0, 0, 0)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_markers_are_no_records(lab: Lab, run: Run, topic: str, isolation: str) -> None:
    """And aborted records are some only for an MM2 that reads them: every fifth transaction."""
    topic = f"{topic}-{isolation.rpartition('_')[2]}"
    flowing = Flowing(lab, topic)
    flowing.watcher.close()
    flowing.connector = flowing.connector.with_overrides({"source.consumer.isolation.level": isolation})
    flowing.watcher = flowing.new_watcher()
    with flowing.watcher:
        flowing.deploy()
        transactions(lab, run, topic, number=1)
        flowing.wait_for(0, 0, 0)
        assert lab.source.offsets(topic)[0].count > 200, "there are markers"

        flowing.pause()
        transactions(lab, run, topic, number=2)
        expected = 200 if isolation == "read_uncommitted" else 160
        lags = flowing.lags()
        assert sum(lag or 0 for lag in lags) == 3 * expected
        assert lags == [expected] * PARTITIONS
        flowing.resume()
        flowing.wait_for(0, 0, 0)


def transactions(lab: Lab, run: Run, topic: str, *, number: int) -> None:
    plan = Plan(run=f"feed1a6{number}", records=PARTITIONS * 200, transaction_size=30)
    with Producing(lab.source, topic, plan, run.path / f"{topic}-{number}") as orders:
        orders.wait()


def test_the_command_says_the_same(lab: Lab, flowing: Flowing) -> None:
    flowing.write(4, 4, 4)
    flowing.deploy()
    flowing.wait_for(0, 0, 0)
    flowing.pause()
    flowing.write(1, 2, 3)

    once = lab_command("lag", flowing.topic, "--name", lab.name, "--json").json
    assert (once["lag"], once["exact"]) == (6, True)
    assert [p["lag"] for p in once["partitions"]] == [1, 2, 3]

    options = ("--name", lab.name, "--watch", "--interval=0.5", "--for=8s")
    watched = lab_command("lag", flowing.topic, *options)
    assert watched.code == 0
    lines = [line for line in watched.out.splitlines() if " lag " in line]
    assert len(lines) >= 3
    told = [line.partition(" lag ")[2].partition(",")[0] for line in lines]
    counting = sum(text.startswith("≤ ") for text in told)  # goes on from sample to sample, and ends
    assert counting < len(told)
    assert told == ["≤ 6 in 3 partitions"] * counting + ["6 in 3 partitions"] * (len(told) - counting)

    samples = lab_command("lag", flowing.topic, *options, "--json").json
    assert {moment["lag"] for moment in samples["samples"]} == {6}
    kept = json.loads((Path(samples["run"]) / "samples.json").read_text())
    assert {(sides["source"], sides["target"]) for sides in kept} == {(18, 12)}
    assert len(kept) == len(samples["samples"])


def test_ctrl_c_ends_a_watch_and_keeps_its_samples(lab: Lab, flowing: Flowing) -> None:
    flowing.write(1, 1, 1)
    flowing.deploy()
    command = [*COMMAND, "lag", flowing.topic, "--name", lab.name, "--watch", "--interval=0.2"]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as watching:
        assert watching.stdout
        assert " lag " in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        _, told = watching.communicate(timeout=30)

    assert watching.returncode == 130
    assert told.startswith("error: watching was interrupted\n")
    folder = Path(told.strip().rpartition(" ")[2])
    assert json.loads((folder / "samples.json").read_text())
    assert json.loads((folder / "run.json").read_text())["outcome"] == "interrupted"
