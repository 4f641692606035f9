"""Which series follow from what was collected, whatever the order in which things were noticed."""

from lab.exporter.flows import FlowState
from lab.exporter.metrics import Snapshot, families
from lab.exporter.places import ClusterState
from lab.lag import Sample

UP = ClusterState(group_lag={("g", ("t", 0)): -2})


def sample(partition: int, lag: int | None, age_s: float | None) -> Sample:
    return Sample(
        at=1.0,
        topic="t",
        partition=partition,
        source_end=10,
        mirrored_to=None,
        lag=lag,
        oldest_unmirrored_age_s=age_s,
    )


def flow(*samples: Sample) -> FlowState:
    return FlowState(
        source="a",
        target="b",
        partitions=samples,
        latency={},
        checkpoint_age_s={"g": 1.0},
        heartbeat_age_s=2.0,
    )


def series(snapshot: Snapshot) -> dict[tuple[str, ...], float]:
    found = [s for family in families(snapshot) for s in family.samples]
    return {(s.name.removeprefix("mirror_lab_"), *s.labels.values()): s.value for s in found}


def test_a_flow_of_a_cluster_that_is_down_is_not_told_even_if_it_was_just_collected() -> None:
    state = {"a->b": flow(sample(0, 1, 1.0))}
    told = series(Snapshot(clusters={"a": UP, "b": UP}, flows=state))
    assert told["record_lag", "a->b", "t", "0"] == 1
    assert told["heartbeat_age_seconds", "a->b"] == 2.0

    for down in ("a", "b"):
        told = series(Snapshot(clusters={"a": UP, "b": UP, down: None}, flows=state))
        assert not [key for key in told if "a->b" in key]
        assert told["cluster_up", down] == 0


def test_the_age_is_that_of_the_oldest_partition_and_not_told_when_one_is_not_known() -> None:
    age = ("record_age_seconds", "a->b", "t")

    told = series(Snapshot(flows={"a->b": flow(sample(0, 1, 3.0), sample(1, 0, 0.0))}))
    assert told[age] == 3.0
    told = series(Snapshot(flows={"a->b": flow(sample(0, 1, 3.0), sample(1, 1, None))}))
    assert age not in told
    assert told["record_lag", "a->b", "t", "1"] == 1


def test_a_group_ahead_of_the_end_has_a_negative_lag_as_kafkas_tool_says() -> None:
    assert series(Snapshot(clusters={"a": UP}))["group_lag", "a", "g", "t", "0"] == -2


def test_a_cluster_whose_partitions_do_not_all_answer_is_up() -> None:
    told = series(Snapshot(clusters={"a": ClusterState(group_lag=None)}))

    assert told == {("cluster_up", "a"): 1.0}
