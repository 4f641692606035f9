"""Topics of users: written by a plain client, so without the lab's header and without a ledger."""

import re
from collections.abc import Iterable, Mapping, Sequence

from lab.harness import Lab
from lab.kafka import Cluster, Offsets
from lab.mm2 import BYTES_CONVERTER, Connector
from lab.verify.verdict import Outcome, Verdict, worst
from lab.wait import RECORDS_ARRIVE_S
from scenarios.commands import Done, lab_command
from scenarios.under_load import FETCH_WAITS_S, hold

KeyAndValue = tuple[bytes | None, bytes | None]
Verdicts = Mapping[str, Verdict]


class UserTopic:
    """One topic of the source with a connector of its own."""

    def __init__(
        self,
        lab: Lab,
        topic: str,
        *,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        self.lab, self.topic = lab, topic
        keys = {"topics": topic, "header.converter": BYTES_CONVERTER, **(overrides or {})}
        self.connector = Connector(name=topic, config=lab.connector("test_mirror", **keys).config)
        self.remote = self.connector.remote_topic(topic)
        lab.source.create_topic(topic, partitions=partitions, configs=configs)

    def put(self, records: Iterable[KeyAndValue], *, partition: int = 0) -> None:
        write(self.lab.source, self.topic, records, partition=partition)

    def mirror(self, *, expect: int) -> None:
        self.lab.deploy(self.connector)
        self.arrived(expect)

    def arrived(self, number: int) -> None:
        """The target holds exactly that many: whatever comes twice or by itself would be judged too."""
        found = self.lab.target.wait_for_records(self.remote, at_least=number, timeout_s=RECORDS_ARRIVE_S)
        assert found == number

    def pause(self) -> None:
        """Until MM2 reads nothing: a fetch that waits at a broker is answered, and mirrored later."""
        self.lab.connect.pause(self.topic)
        self.lab.connect.wait_until_state(self.topic, "PAUSED")
        hold(4 * FETCH_WAITS_S)

    def stop(self) -> None:
        self.lab.connect.stop(self.topic)
        self.lab.connect.wait_until_state(self.topic, "STOPPED")

    def resume(self) -> None:
        self.lab.connect.resume(self.topic)

    def go_on_at(self, offset: int) -> None:
        """Let MM2 read on from another offset of partition 0 than the one that it has committed."""
        self.lab.connect.rewind(self.topic, self.topic, {0: offset}, source_alias="source")

    def ends(self) -> Offsets:
        """Of partition 0 on the target."""
        return self.lab.target.offsets(self.remote)[0]

    def verdicts(self, *, timeout_s: float = RECORDS_ARRIVE_S) -> Verdicts:
        judged = self.lab.verify(self.topic, timeout_s=timeout_s)
        return {verdict.check: verdict for verdict in judged.verdicts}

    def by_command(self, *options: str) -> tuple[Done, Verdicts]:
        """`lab verify` as a user runs it, for its exit code."""
        done = lab_command("verify", self.topic, "--name", self.lab.name, "--json", *options)
        assert "verdicts" in done.out, done
        found = [Verdict(**{**v, "outcome": Outcome(v["outcome"])}) for v in done.json["verdicts"]]
        return done, {verdict.check: verdict for verdict in found}


def write(
    cluster: Cluster,
    topic: str,
    records: Iterable[KeyAndValue],
    *,
    partition: int = 0,
    timestamps_ms: Sequence[int] = (),
) -> None:
    """All of them acknowledged; stamped by the client as they are written if no timestamps are given."""
    producer, errors = cluster.producer(), []
    for number, (key, value) in enumerate(records):
        producer.produce(
            topic,
            key=key,
            value=value,
            partition=partition,
            timestamp=timestamps_ms[number] if timestamps_ms else 0,
            on_delivery=lambda error, _: errors.append(error),
        )
    assert producer.flush(RECORDS_ARRIVE_S) == 0
    assert set(errors) == {None}


def numbered(first: int, count: int) -> list[KeyAndValue]:
    """Records without a key that can be told apart."""
    return [(None, f"record {number}".encode()) for number in range(first, first + count)]


def failing(verdicts: Verdicts) -> set[str]:
    assert verdicts, "nothing was judged"
    return {name for name, verdict in verdicts.items() if verdict.outcome is Outcome.FAIL}


def passes(verdicts: Verdicts, *, records: int) -> None:
    """Every check that applies is PASS, and judged as many records as there are."""
    objections = [f"{v.check} {v.outcome}: {v.meaning}" for v in verdicts.values() if _objects(v)]
    assert not objections, objections
    assert worst(v.outcome for v in verdicts.values()) is Outcome.PASS
    assert verdicts["loss"].counts["owed"] == records


def _objects(verdict: Verdict) -> bool:
    return verdict.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE)


def missing(verdicts: Verdicts, records: int) -> None:
    """FAIL for records that did not arrive, and just as many are counted."""
    found = {n: verdicts[n] for n in ("loss", "skipped") if n in failing(verdicts)}
    assert found, summary(verdicts)
    for verdict in found.values():
        assert records in verdict.counts.values(), verdict


def says_when(verdict: Verdict) -> None:
    """What MM2 only owes after an interval: not wrong yet, and the sentence names a time."""
    assert verdict.outcome is not Outcome.FAIL, verdict
    assert re.search(r"interval|\d ?s\b|\d seconds|\d{2}:\d{2}", verdict.meaning), verdict


def summary(verdicts: Verdicts) -> list[str]:
    return [f"{v.check} {v.outcome}: {v.meaning}" for v in verdicts.values()]
