"""What is known of a flow: exact lag under any policy, ages, and each arrival counted once."""

from collections.abc import Mapping
from typing import cast

import pytest

from lab.exporter.flows import Flow, FlowState, Latency, plan
from lab.kafka import Cluster, ClusterError
from lab.mm2 import IDENTITY_POLICY, Connector
from tests.exporter.fakes import (
    NOW_S,
    FakeCluster,
    checkpoint,
    checkpoint_config,
    flow,
    heartbeat,
    record,
    source_config,
)

IDENTITY = {"replication.policy.class": IDENTITY_POLICY}


class Case:
    """A flow between two clusters, collected again and again."""

    def __init__(self, source: FakeCluster, target: FakeCluster, *configs: Mapping[str, str]) -> None:
        self.source, self.target = source, target
        self.connectors = [
            Connector(name=str(n), config=c) for n, c in enumerate(configs or (source_config(),))
        ]
        by_alias = {"a": source, "b": target}
        self.flow: Flow = flow(lambda alias, _: cast(Cluster, by_alias[alias]))

    def collect(self) -> FlowState:
        return self.flow.collect(self.connectors, kafka_4=False)

    def lags(self) -> dict[str, int | None]:
        return {sample.topic: sample.lag for sample in self.collect().partitions}


def records(*numbers: int) -> list:  # type: ignore[type-arg]
    return [record(place, f"v{n}", n * 10) for place, n in enumerate(numbers)]


@pytest.mark.parametrize(("policy", "remote"), [({}, "a.t"), (IDENTITY, "t")], ids=["default", "identity"])
def test_the_lag_is_exact_with_either_policy(policy: dict[str, str], remote: str) -> None:
    case = Case(
        FakeCluster("a", t=records(*range(10))),
        FakeCluster("b", **{remote: records(0, 1, 2)}),
        source_config(**policy),
    )

    assert case.lags() == {"t": 7}
    case.target.topics[remote] = records(*range(10))
    assert case.lags() == {"t": 0}


def test_markers_and_trimmed_records_are_not_counted() -> None:
    case = Case(
        FakeCluster("a", t=[r for r in records(*range(10)) if r.offset >= 4]),
        FakeCluster("b", **{"a.t": []}),
    )
    case.source.bounds["t"] = (4, 13)  # four trimmed, three markers at the end

    assert case.lags() == {"t": 6}


def test_only_what_the_connectors_mirror_has_a_lag_and_heartbeats_have_none() -> None:
    everything = {
        "t": records(0),
        "heartbeats": records(0),
        "__consumer_offsets": records(0),
        "u": records(0),
    }
    case = Case(FakeCluster("a", **everything), FakeCluster("b"), source_config(topics="t"))

    assert case.lags() == {"t": 1}

    case.connectors.append(Connector(name="more", config=source_config(topics="u|v")))
    case.source.topics["v"] = records(0, 1)
    assert case.lags() == {"t": 1, "u": 1, "v": 2}


def test_of_several_connectors_that_mirror_a_topic_the_one_furthest_behind_counts() -> None:
    case = Case(
        FakeCluster("a", t=records(*range(10))),
        FakeCluster("b", **{"a.t": records(*range(10)), "t": records(0)}),
        source_config(),
        source_config(**IDENTITY),
    )

    assert case.lags() == {"t": 9}


def test_each_arrival_counts_once() -> None:
    case = Case(FakeCluster("a", t=records(*range(10))), FakeCluster("b", **{"a.t": records(0)}))
    assert case.collect().latency == {}, "when the first one arrived nobody knows"

    case.target.topics["a.t"] = records(0, 1, 2)
    age_s = NOW_S - 0.02
    for _ in range(3):
        assert case.collect().latency == {"t": Latency().with_one(age_s)}
    assert case.collect().latency["t"].sum_s == pytest.approx(age_s)

    case.target.topics["a.t"] = records(0, 1, 2, 3)
    assert sum(case.collect().latency["t"].counts) == 2
    del case.source.topics["t"]
    assert case.collect().latency == {}


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0), (0.1, 0), (0.11, 1), (86_400.0, 12), (86_401.0, 13)]
)
def test_a_bucket_holds_what_is_at_most_its_limit(seconds: float, bucket: int) -> None:
    assert Latency().with_one(seconds).counts.index(1) == bucket


def test_a_group_is_as_old_as_its_last_checkpoint() -> None:
    case = Case(FakeCluster("a", t=[]), FakeCluster("b"), source_config(), checkpoint_config())
    assert case.collect().checkpoint_age_s == {}

    tombstone = checkpoint(3, "gone", 900_000)
    case.target.topics["a.checkpoints.internal"] = [
        checkpoint(0, "one", 900_000),
        checkpoint(1, "twö", 990_000),
        checkpoint(2, "one", 980_000),
        type(tombstone)(**{**tombstone.__dict__, "value": None}),
    ]
    reads = case.target.reads
    for _ in range(3):
        assert case.collect().checkpoint_age_s == {"one": 20.0, "twö": 10.0}
    assert case.target.reads == reads + 1, "a topic that has not grown is not read"


def test_heartbeats_count_where_they_cross_and_only_there() -> None:
    case = Case(FakeCluster("a", t=[]), FakeCluster("b", heartbeats=[heartbeat(0, 999_000)]), source_config())
    assert case.collect().heartbeat_age_s is None, "those were written on the target"

    case.target.topics["a.heartbeats"] = [heartbeat(0, 980_000), heartbeat(1, 990_000)]
    assert case.collect().heartbeat_age_s == 10.0
    case.target.topics["a.heartbeats"].append(heartbeat(2, 995_000))
    assert case.collect().heartbeat_age_s == 5.0


def test_after_a_failure_everything_is_found_anew() -> None:
    case = Case(FakeCluster("a", t=records(*range(10))), FakeCluster("b", **{"a.t": records(0, 1)}))
    assert case.lags() == {"t": 8}

    case.target.topics["a.t"] = records(*range(7))
    case.source.offsets_at = _refuse  # type: ignore[method-assign,assignment]  # the target was read already
    with pytest.raises(ClusterError):
        case.lags()
    del case.source.offsets_at

    assert case.lags() == {"t": 3}


def _refuse(_: object) -> object:
    raise ClusterError("no answer")


def test_a_plan_has_each_pair_of_clusters_once() -> None:
    elsewhere = source_config(**{"target.cluster.alias": "c"})
    configs = {
        "one": source_config(),
        "two": elsewhere,
        "three": checkpoint_config(),
        "sink": {"connector.class": "org.example.Sink"},
        "broken": {},
    }

    planned = plan(configs, "4.1.0")

    assert {flow: [c.name for c in found] for flow, found in planned.flows.items()} == {
        "a->b": ["one", "three"],
        "a->c": ["two"],
    }
    assert planned.kafka_4
    assert not plan({}, "3.9.1").kafka_4
