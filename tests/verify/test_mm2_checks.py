"""What is read of MM2's doings when a cluster tells all, tells nothing, or was asked for nothing."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lab.kafka import Acl, Cluster, ClusterError, GroupOffset, Offsets, Topic, TopicConfig
from lab.mm2 import CHECKPOINT, SOURCE, Connector
from lab.verify import mm2_state
from lab.verify.flow import Flow
from lab.verify.mm2_checks import checks, read
from lab.verify.parity import Rule


class Told(Cluster):
    """A cluster that answers from memory, or refuses."""

    def __init__(self, alias: str, topics: Mapping[str, int], *, refuses: str = "") -> None:
        super().__init__(alias, "nowhere:1")
        self._topics, self._refuses = topics, refuses

    def _answer(self, question: str) -> None:
        if question == self._refuses:
            raise ClusterError("not authorised")

    def has_topic(self, topic: str) -> bool:
        return topic in self._topics

    def offsets(self, topic: str) -> dict[int, Offsets]:
        return {0: Offsets(start=0, end=self._topics[topic])}

    def topic_id(self, topic: str) -> str:
        return f"{self.alias} {topic}"

    def topics(self, **_: object) -> list[Topic]:
        self._answer("topics")
        return [Topic(name=t, partitions=1, replicas=1, offsets={}) for t in self._topics]

    def topic_configs(self, topics: object) -> dict[str, dict[str, TopicConfig]]:
        self._answer("configs")
        return {str(t): {} for t in topics}  # type: ignore[attr-defined]

    def acls(self) -> list[Acl] | None:
        self._answer("acls")
        return []

    def group_states(self, *, timeout_s: float = 0) -> dict[str, str]:
        self._answer("groups")
        return {"billing": "empty", "console-consumer-1": "empty"}

    def group_offsets(self, group: str) -> dict[tuple[str, int], GroupOffset]:
        return {("orders", 0): GroupOffset(offset=7, metadata="")}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mm2_state, "ASK_AGAIN_S", 0.01)


SYNCS, CHECKPOINTS = "mm2-offset-syncs.target.internal", "source.checkpoints.internal"


def flow(
    config: Mapping[str, str] | None = None,
    *,
    refuses: str = "",
    checkpointer: bool = True,
    checkpoints: int = 3,
) -> Flow:
    given = Connector(name="checkpoints", config={"connector.class": CHECKPOINT})
    return Flow(
        topic="orders",
        connector=Connector(name="mirror", config={"connector.class": SOURCE, **(config or {})}),
        checkpointer=given if checkpointer else None,
        source=Told("source", {"orders": 10, SYNCS: 4}, refuses=refuses),
        target=Told("target", {"source.orders": 10, CHECKPOINTS: checkpoints}),
        bootstraps={"source": "broker:29092", "target": "broker2:29093"},
    )


def test_mm2s_topics_and_the_selected_groups_are_read() -> None:
    found = read(flow())

    assert (found.syncs, found.checkpoints) == ({0: Offsets(start=0, end=4)}, {0: Offsets(start=0, end=3)})
    assert [(g.group, g.topic, g.s_committed) for g in found.groups or ()] == [
        ("billing", "source.orders", 7)
    ]


def test_a_topic_that_is_empty_is_not_read() -> None:
    assert read(flow(checkpoints=0)).checkpoints == {}


@pytest.mark.parametrize("kind", ["groups", "configs", "acls", "topics"])
def test_what_a_cluster_refuses_to_tell_is_left_out(kind: str) -> None:
    found = read(flow(refuses=kind))

    told = {"groups": found.groups, "configs": found.configs, "acls": found.acls, "topics": found.topics}
    assert [name for name, rows in told.items() if rows is None] == [kind]


APPLIED = "sync_pairs translation tightness checkpoints coverage topic_configs acls".split()
ABOUT_GROUPS = "translation tightness checkpoints coverage".split()


@pytest.mark.parametrize(
    ("asked", "without"),
    [
        (flow(), []),
        (flow(checkpointer=False), ABOUT_GROUPS),
        (flow({"emit.offset-syncs.enabled": "false"}), ["sync_pairs"]),
        (flow({"sync.topic.configs.enabled": "false"}), ["topic_configs"]),
        (flow({"sync.topic.acls.enabled": "false"}), ["acls"]),
    ],
    ids=["all", "no checkpoint connector", "no offset syncs", "no configs", "no ACLs"],
)
def test_checks_know_what_the_connectors_were_asked_to_do(asked: Flow, without: list[str]) -> None:
    chosen = {check.name: getattr(check, "applies", True) for check in checks(read(asked))}

    assert [name for name in APPLIED if not chosen[name]] == without


def test_the_bound_of_re_reading_is_the_connectors_own() -> None:
    chosen = {c.name: c for c in checks(read(flow({"offset.lag.max": "7"})))}

    assert vars(chosen["tightness"])["offset_lag_max"] == 7


def test_offset_syncs_may_be_kept_on_the_target() -> None:
    assert flow({"offset-syncs.topic.location": "target"}).syncs_at.alias == "target"
    assert flow().syncs_at.alias == "source"


def test_a_source_without_an_authorizer_has_no_acls_to_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = flow()
    monkeypatch.setattr(asked.source, "acls", lambda: None)
    found = read(asked)

    assert (found.acls, found.has_acls) == ([], False)
    assert not {check.name: getattr(check, "applies", True) for check in checks(found)}["acls"]


def test_the_next_verdict_knows_what_this_one_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = replace(flow(), seen=tmp_path / "seen" / "orders.json")
    at_source = {"min.insync.replicas": TopicConfig(value="2", origin="dynamic_topic_config")}
    monkeypatch.setattr(asked.source, "topic_configs", lambda _: {"orders": at_source})
    first = read(asked)
    monkeypatch.setattr(asked.target, "topic_configs", lambda _: {"source.orders": at_source})
    second = read(asked)

    (before,), (after,) = first.configs or [], second.configs or []
    assert (before.rule, before.judged) == (Rule.UNTOUCHED, False), "nobody had looked"
    assert (after.expected, after.found, after.judged) == (None, "2", True)
    assert [group.t_before for group in first.groups or ()] == [None]
    assert [group.t_before for group in second.groups or ()] == [-1]


def test_what_is_not_there_yet_is_not_due_and_later_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = replace(flow(), seen=tmp_path / "orders.json")
    known = asked.source.topics()
    new = Topic(name="new", partitions=1, replicas=1, offsets={})
    monkeypatch.setattr(asked.source, "topics", lambda **_: [*known, new])
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    due = []
    for now[0] in (1_000_000.0, 1_000_600.0, 1_000_610.0):
        found = read(asked)
        due.append([row.due for row in found.topics or () if row.topic == "new"])

    assert due == [[False], [False], [True]]
    assert found.later.get("topic_set") is None


def test_a_short_interval_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A config that MM2 copies at its next round, within seconds."""
    asked = flow({"sync.topic.configs.interval.seconds": "1"})
    own = {"retention.ms": TopicConfig(value="2", origin="dynamic_topic_config")}
    looks = iter([{"source.orders": {}}, {"source.orders": own}])
    monkeypatch.setattr(asked.source, "topic_configs", lambda _: {"orders": own})
    monkeypatch.setattr(asked.target, "topic_configs", lambda _: next(looks))

    (row,) = read(asked).configs or []
    assert (row.found, row.due) == ("2", True)
