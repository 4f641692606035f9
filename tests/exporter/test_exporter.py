"""The exporter's output, read as Prometheus reads it, while clusters and workers come and go."""

import threading
import time

import pytest

from lab.exporter.exporter import Exporter
from lab.exporter.rounds import Rounds
from lab.kafka import ClusterError
from tests.exporter.fakes import (
    FakeCluster,
    Worker,
    checkpoint,
    checkpoint_config,
    exporter,
    record,
    scraped,
    source_config,
)

SOON_S = 10.0
URL, OTHER = "http://w0:8083", "http://w1:8083"
FLOW = "a->b"
LAG = ("mirror_lab_record_lag", FLOW, "0", "t")


class Case:
    def __init__(self) -> None:
        source = [record(n, f"v{n}") for n in range(10)]
        self.source = FakeCluster("a", t=source)
        self.target = FakeCluster("b", **{"a.t": source[:4]})
        self.source.groups["readers"] = {("t", 0): 3, ("gone", 0): 1}
        self.target.topics["a.checkpoints.internal"] = [checkpoint(0, "readers", 990_000)]
        self.workers = {URL: Worker(msc=source_config(), cpc=checkpoint_config()), OTHER: Worker()}
        self.workers[OTHER].down = True
        self.rounds = Rounds()
        self.exporter: Exporter = exporter(self.source, self.target, workers=self.workers, rounds=self.rounds)

    def collected(self) -> dict[tuple[str, ...], float]:
        for _ in range(2):  # the second asks those of whom the first told
            self.exporter.round()
            assert self.rounds.wait(SOON_S)
        return scraped(self.exporter)


@pytest.fixture
def case() -> Case:
    return Case()


def names(series: dict[tuple[str, ...], float]) -> set[str]:
    return {name for name, *_ in series}


def test_everything_that_is_known_is_told(case: Case) -> None:
    told = case.collected()

    expected = {
        ("mirror_lab_cluster_up", "a"): 1,
        ("mirror_lab_cluster_up", "b"): 1,
        ("mirror_lab_connect_up", URL): 1,
        ("mirror_lab_connect_up", OTHER): 0,
        ("mirror_lab_group_lag", "a", "readers", "0", "t"): 7,
        ("mirror_lab_connector_tasks", "b", "msc", "running"): 1,
        ("mirror_lab_connector_tasks", "b", "msc", "failed"): 0,
        ("mirror_lab_connector_running", "msc"): 1,
        LAG: 6,
        ("mirror_lab_record_lag_exact", FLOW, "0", "t"): 1,
        ("mirror_lab_record_age_seconds", FLOW, "t"): pytest.approx(1_000 - 0.04),
        ("mirror_lab_checkpoint_age_seconds", FLOW, "readers"): 10,
    }
    assert {key: told.get(key) for key in expected} == expected
    assert [key for key in told if key[0] == "mirror_lab_group_lag"] == [
        ("mirror_lab_group_lag", "a", "readers", "0", "t")
    ], "what has no end has no lag"
    assert told["mirror_lab_scrape_seconds",] >= 0
    assert "mirror_lab_heartbeat_age_seconds" not in names(told)


def test_a_latency_is_a_histogram(case: Case) -> None:
    case.collected()
    case.target.topics["a.t"] = case.source.topics["t"]
    told = case.collected()

    bucket = "mirror_lab_latency_seconds_bucket"
    assert told[bucket, FLOW, "900.0", "t"] == 0
    assert told[bucket, FLOW, "3600.0", "t"] == told[bucket, FLOW, "+Inf", "t"] == 1
    assert told["mirror_lab_latency_seconds_count", FLOW, "t"] == 1
    assert told["mirror_lab_latency_seconds_sum", FLOW, "t"] == pytest.approx(1_000 - 0.09)


@pytest.mark.parametrize("which", ["source", "target"])
def test_a_cluster_that_is_down_takes_its_series_with_it_and_nothing_else(case: Case, which: str) -> None:
    before = case.collected()
    down: FakeCluster = getattr(case, which)

    down.down = True
    told = case.collected()
    assert told["mirror_lab_cluster_up", down.alias] == 0
    assert told["mirror_lab_cluster_up", "ab".replace(down.alias, "")] == 1
    assert not {n for n in names(told) if n.startswith(("mirror_lab_record", "mirror_lab_checkpoint"))}
    assert ("mirror_lab_group_lag" in names(told)) == (which == "target")
    assert told["mirror_lab_connector_running", "msc"] == 1

    down.down = False
    assert case.collected().keys() == before.keys()


def test_while_no_worker_answers_the_lag_is_told_all_the_same(case: Case) -> None:
    case.collected()

    case.workers[URL].down = True
    case.source.topics["t"].append(record(10, "v10"))
    told = case.collected()
    assert told["mirror_lab_connect_up", URL] == 0
    assert not {name for name in names(told) if name.startswith("mirror_lab_connector")}
    assert told[LAG] == 7

    case.workers[OTHER].down = False
    case.workers[OTHER].connectors = case.workers[URL].connectors
    assert case.collected()["mirror_lab_connector_running", "msc"] == 1, "another worker tells it too"


def test_a_flow_is_told_as_long_as_its_connectors_are_there(case: Case) -> None:
    del case.workers[URL].connectors["msc"], case.workers[URL].connectors["cpc"]
    assert LAG not in case.collected()

    case.workers[URL].connectors = {"msc": source_config(topics="t")}
    assert case.collected()[LAG] == 6
    case.workers[URL].state = "PAUSED"
    told = case.collected()
    assert (told[LAG], told["mirror_lab_connector_running", "msc"]) == (6, 0)
    assert told["mirror_lab_connector_tasks", "b", "msc", "paused"] == 1

    case.workers[URL].connectors = {}
    told = case.collected()
    assert LAG not in told
    assert "mirror_lab_connector_running" not in names(told)


def test_what_nobody_can_tell_is_absent_and_said_to_be_inexact(case: Case) -> None:
    case.target.topics["a.t"] = [record(0, "written by somebody else")]
    told = case.collected()

    assert LAG not in told
    assert told["mirror_lab_record_lag_exact", FLOW, "0", "t"] == 0
    assert ("mirror_lab_record_age_seconds", FLOW, "t") not in told


def test_a_cluster_that_hangs_holds_up_neither_a_scrape_nor_the_others(case: Case) -> None:
    now, let_go = [0.0], threading.Event()
    case.rounds = Rounds(stale_s=30, clock=lambda: now[0])
    case.exporter = exporter(case.source, case.target, workers=case.workers, rounds=case.rounds)
    assert case.collected()[LAG] == 6

    case.target.hangs = lambda: let_go.wait(SOON_S)
    now[0] = 31
    begin = time.monotonic()
    for _ in range(3):
        case.exporter.round()
        case.rounds.wait(0.3)
    told = scraped(case.exporter)

    assert time.monotonic() - begin < SOON_S / 2
    assert told["mirror_lab_cluster_up", "a"] == 1
    assert told["mirror_lab_cluster_up", "b"] == 0
    assert LAG not in told
    assert told["mirror_lab_group_lag", "a", "readers", "0", "t"] == 7

    let_go.set()
    assert case.rounds.wait(SOON_S)
    assert case.collected()[LAG] == 6


def test_a_cluster_without_all_leaders_is_up_and_tells_no_lag_of_groups(case: Case) -> None:
    def refuse() -> dict[str, str]:
        raise ClusterError("no leader")

    case.source.group_states = refuse  # type: ignore[method-assign]
    told = case.collected()

    assert told["mirror_lab_cluster_up", "a"] == 1
    assert "mirror_lab_group_lag" not in names(told)
    assert told[LAG] == 6


def test_a_worker_that_shares_out_its_connectors_anew_is_up(case: Case) -> None:
    case.collected()

    case.workers[URL].rebalancing = True
    told = case.collected()

    assert told["mirror_lab_connect_up", URL] == 1
    assert "mirror_lab_connector_running" not in names(told)
    assert told[LAG] == 6, "its flows stay"


def test_before_the_first_collection_nothing_is_claimed(case: Case) -> None:
    assert scraped(case.exporter) == {}


@pytest.mark.parametrize(
    ("alias", "bootstrap", "found"),
    [("other", "a:9092,z:1", "a"), ("b", "proxy:9092", "b"), ("b", "", "b"), ("c", "c:9092", "c")],
    ids=["by an address", "by its alias", "without an address", "by nothing yet"],
)
def test_a_connectors_cluster_is_found(alias: str, bootstrap: str, found: str) -> None:
    of = exporter(FakeCluster("a"), FakeCluster("b"), workers={})
    of._new_cluster = lambda alias, bootstrap: FakeCluster(alias)  # type: ignore[assignment,return-value]

    cluster = of._cluster(alias, bootstrap)

    assert cluster.alias == found
    assert of._cluster(alias, bootstrap) is cluster
