"""A lab gives its parts by name, and names the nearest to one that it has not."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.connect import Connect, ConnectError
from lab.errors import BadInput, NotEnough
from lab.harness import Lab, Wish
from lab.harness.flows import Flows
from lab.kafka import Cluster
from lab.mm2 import IDENTITY_POLICY, SOURCE, Connector
from lab.topology import read
from tests.harness.conftest import Engine
from tests.written_topology import write

WISH = Wish(topology="basic-mirror", name="a")


def test_a_labs_parts_are_asked_for_by_name(fake: Engine) -> None:
    lab = Lab.up(WISH)

    assert lab.source is lab.cluster("source")
    assert lab.target.bootstrap == f"127.0.0.1:{lab.ports['BROKER2_PORT']}"
    assert lab.internal_bootstrap("source") == "broker:29092"
    assert lab.connector("test_mirror", topics="orders").config["topics"] == "orders"
    assert {endpoint.service: endpoint.what for endpoint in lab.endpoints()} == {
        "zookeeper": "ZooKeeper",
        "zookeeper2": "ZooKeeper",
        "broker": "cluster source",
        "broker2": "cluster target",
        "connect": "Connect REST",
        "spark": "Spark Connect",
    }


def test_a_part_that_a_lab_has_not_names_the_nearest(fake: Engine) -> None:
    lab = Lab.up(WISH)

    for call, message, hint in (
        (lambda: lab.cluster("sorce"), 'topology "basic-mirror" has no cluster "sorce"', "source"),
        (lambda: lab.address("brokr"), 'lab "a" has no service "brokr"', "broker"),
        (
            lambda: lab.connector("test_miror"),
            'topology "basic-mirror" has no connector "test_miror"',
            "test_mirror",
        ),
    ):
        with pytest.raises(BadInput) as caught:
            call()
        assert (caught.value.message, caught.value.hint) == (message, f'did you mean "{hint}"?')


def test_the_only_source_and_target_are_found_whatever_their_aliases(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))

    assert (lab.source.alias, lab.target.alias) == ("source-0", "target-0")


def test_of_two_sources_one_must_be_named(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="aggregate", name="a"))

    assert lab.target.alias == "central"
    with pytest.raises(BadInput) as caught:
        _ = lab.source
    assert caught.value.message == 'topology "aggregate" has 2 source clusters: us, uk'
    assert caught.value.hint == "name one with --cluster: us, uk, central"


@pytest.mark.parametrize(
    ("lost", "asked"), [((), "0"), (("0",), "1"), (("0", "1"), "0")], ids=["none", "one", "both"]
)
def test_a_worker_that_is_lost_is_not_asked(
    fake: Engine, monkeypatch: pytest.MonkeyPatch, lost: tuple[str, ...], asked: str
) -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))
    ports = {number: str(lab.ports[f"KAFKA_CONNECT_{number}_PORT"]) for number in "01"}

    def version(worker: Connect) -> str:
        if any(worker.url.endswith(ports[number]) for number in lost):
            raise ConnectError("connection refused")
        return "3.9.1"

    monkeypatch.setattr(Connect, "version", version)

    assert lab.connect.url == f"http://127.0.0.1:{ports[asked]}"


class Worker:
    """Stands for Connect: the connectors of the topology "aggregate", as they are or with other keys."""

    def __init__(self, lab: Lab, **overrides: str) -> None:
        files = (lab.connector(name, **overrides) for name in lab.topology.connector_files())
        self._connectors = list(files)

    def connectors(self) -> list[Connector]:
        return self._connectors

    def version(self) -> str:
        return "7.6.0-ccs"


def test_a_topic_that_several_sources_have_is_found_by_its_source(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.up(Wish(topology="aggregate", name="a"))
    monkeypatch.setattr(Lab, "connect", Worker(lab))

    assert Flows(lab).mirroring("logs", source="uk").name == "mm2-msc-uk"
    for source, message, hint in (
        (None, 'topic "logs" is mirrored from 2 clusters: uk, us', "choose one, e.g. --cluster uk"),
        (
            "central",
            'no deployed connector mirrors topic "logs" of cluster "central"',
            '"lab mm2 deploy" deploys one',
        ),
    ):
        with pytest.raises(BadInput) as caught:
            Flows(lab).mirroring("logs", source=source)
        assert (caught.value.message, caught.value.hint) == (message, hint)


def test_what_is_excluded_is_not_mirrored(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.up(Wish(topology="aggregate", name="a"))
    monkeypatch.setattr(Cluster, "has_topic", lambda *_: True)
    policy = {"replication.policy.class": IDENTITY_POLICY}
    worker = Worker(lab, **policy)
    monkeypatch.setattr(Lab, "connect", worker)
    without = [
        c.with_overrides({"topics.exclude": "logs"}) if c.name == "mm2-msc-us" else c
        for c in worker.connectors()
    ]
    monkeypatch.setattr(worker, "connectors", lambda: without)

    uk = Flows(lab).mirroring("logs")
    assert uk.name == "mm2-msc-uk"
    assert Flows(lab).others(uk, "logs", lab.deployed()) == []


def test_a_topic_that_is_mirrored_to_several_is_found_by_its_target(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.up(Wish(topology="aggregate", name="a"))
    monkeypatch.setattr(Lab, "connect", Worker(lab))
    uk = lab.connector("mm2-msc-uk")
    there = {"target.cluster.alias": "us", "target.cluster.bootstrap.servers": "us:9092"}
    second = replace(uk.with_overrides(there), name="second")
    renamed = replace(uk.with_overrides({"replication.policy.class": IDENTITY_POLICY}), name="renamed")

    assert Flows(lab).mirroring("logs", target="us", among=[uk, second]).name == "second"
    assert [c.name for c in Flows(lab).mirroring_from("logs", among=[uk, second])] == ["mm2-msc-uk", "second"]
    for among, target, message, hint in (
        (
            [uk, second],
            None,
            'topic "logs" is mirrored to 2 topics: "uk.logs" of "central", "uk.logs" of "us"',
            "choose one, e.g. --target central",
        ),
        (
            [uk, renamed],
            "central",
            'topic "logs" is mirrored to 2 topics: "logs" of "central", "uk.logs" of "central"',
            "keep one of mm2-msc-uk, renamed",
        ),
        ([uk], "us", 'no deployed connector mirrors topic "logs" to cluster "us"', "known: central"),
    ):
        with pytest.raises(BadInput) as caught:
            Flows(lab).mirroring("logs", target=target, among=among)
        assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_flow_goes_between_the_clusters_that_its_connector_reaches(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever names the connector has for them."""
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))
    given = {"target.cluster.alias": "dr", "source.cluster.alias": "primary"}
    mine = [lab.connector(f"mm2-{kind}-source-0", **given) for kind in ("msc", "cpc")]
    monkeypatch.setattr(Lab, "deployed", lambda _: mine)
    monkeypatch.setattr(Lab, "kafka_4", False)

    flow = Flows(lab).of(mine[0].topic_patterns[0])

    assert (flow.source.alias, flow.target.alias) == ("source-0", "target-0")
    assert flow.bootstraps.keys() == {"source-0", "target-0"}
    assert flow.checkpointer is mine[1]
    another = replace(mine[1].with_overrides({"topics": "another"}), name="first")
    monkeypatch.setattr(Lab, "deployed", lambda _: [another, *mine])
    assert Flows(lab).of(mine[0].topic_patterns[0]).checkpointer is mine[1]
    nowhere = mine[0].with_overrides({"target.cluster.bootstrap.servers": "elsewhere:9092"})
    monkeypatch.setattr(Lab, "deployed", lambda _: [nowhere])
    with pytest.raises(BadInput, match='has no cluster "dr"'):
        Flows(lab).of(mine[0].topic_patterns[0])


def test_a_flow_with_names_that_only_java_knows_is_refused(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))
    monkeypatch.setattr(Lab, "kafka_4", False)
    mine = lab.connector("mm2-msc-source-0")
    topic = mine.topic_patterns[0]
    monkeypatch.setattr(Lab, "deployed", lambda _: [mine])
    assert Flows(lab).of(topic).connector is mine

    foreign = mine.with_overrides({"replication.policy.class": "com.example.Policy"})
    monkeypatch.setattr(Lab, "deployed", lambda _: [foreign])
    with pytest.raises(NotEnough, match=r'names topics by "com\.example\.Policy"'):
        Flows(lab).of(topic)


@pytest.mark.parametrize(
    ("variables", "config", "writes"),
    [
        ({}, {}, False),
        ({}, {"exactly.once.support": "required"}, True),
        ({"LAB_EXACTLY_ONCE": "enabled"}, {}, True),
        # It may have been "enabled" before.
        ({"LAB_EXACTLY_ONCE": "disabled"}, {}, True),
        ({"LAB_REBALANCE_DELAY_MS": "9"}, {}, False),
    ],
)
def test_workers_that_support_exactly_once_write_transactions_for_all(
    fake: Engine, variables: dict[str, str], config: dict[str, str], writes: bool
) -> None:
    lab = Lab.up(Wish(topology="resilience", name="a", variables=variables))
    connector = next(iter(lab.known_connectors())).with_overrides(config)

    assert lab.flows.writes_transactions(connector) is writes


def test_a_flow_of_a_dedicated_mm2_has_the_worker_of_its_target(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.up(Wish(topology="dedicated-tls", name="a"))
    first = lab.deployed()[0]
    properties = lab.mm2_properties()
    monkeypatch.setattr(
        Lab,
        "mm2_properties",
        lambda _: {**properties, f"{first.target_alias}.exactly.once.source.support": "enabled"},
    )

    assert lab.flows.writes_transactions(first)
    back = {"source.cluster.alias": first.target_alias, "target.cluster.alias": first.source_alias}
    assert not lab.flows.writes_transactions(first.with_overrides(back))


def test_confluents_worker_has_a_version_too(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.up(Wish(topology="aggregate", name="a"))
    monkeypatch.setattr(Lab, "connect", Worker(lab))

    assert not lab.kafka_4


def test_sources_are_merged_only_where_names_are_kept(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.up(Wish(topology="aggregate", name="a"))
    monkeypatch.setattr(Cluster, "has_topic", lambda *_: True)
    for policy, others in (({}, []), ({"replication.policy.class": IDENTITY_POLICY}, ["us"])):
        monkeypatch.setattr(Lab, "connect", Worker(lab, **policy))
        found = Flows(lab).others(Flows(lab).mirroring("logs", source="uk"), "logs", lab.deployed())
        assert [origin.source.alias for origin in found] == others


def test_connectors_are_known_by_their_files_where_no_worker_tells(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.up(Wish(topology="aggregate", name="a"))
    files = {name: lab.connector(name).config for name in lab.topology.connector_files()}
    worker = Worker(lab, **{"tasks.max": "7"})
    monkeypatch.setattr(Lab, "connect", worker)
    assert {c.config["tasks.max"] for c in lab.known_connectors()} == {"7"}, "what is deployed counts"

    remaining = [c for c in worker.connectors() if c.name != "mm2-msc-uk"]
    monkeypatch.setattr(worker, "connectors", lambda: remaining)
    known = {c.name: c.config for c in lab.known_connectors()}
    assert known.keys() == files.keys()
    assert known["mm2-msc-uk"] == files["mm2-msc-uk"], "what is not deployed is as its file says"

    def unanswered() -> list[Connector]:
        raise ConnectError("no worker answers")

    monkeypatch.setattr(worker, "connectors", unanswered)
    assert {c.name: c.config for c in lab.known_connectors()} == files


def test_a_connector_may_have_other_names_for_its_ends(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))
    own = lab.connector("mm2-cpc-source-0")
    assert [cluster.alias for cluster in lab.ends(own)] == ["source-0", "target-0"]
    named = own.with_overrides({"source.cluster.alias": "msksource", "target.cluster.alias": "mskdest"})
    assert [cluster.alias for cluster in lab.ends(named)] == ["source-0", "target-0"]

    elsewhere = named.with_overrides({"source.cluster.bootstrap.servers": "elsewhere:9092"})
    with pytest.raises(BadInput, match='has no cluster "msksource"'):
        lab.ends(elsewhere)


def test_a_profile_adds_a_worker(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="migration", name="a"))
    grown = Lab.up(Wish(topology="migration", name="a", profiles=("high-availability",)))

    assert (lab.topology.workers, grown.topology.workers) == (["connect"], ["connect", "connect-2"])
    rest = {e.service for e in grown.endpoints() if e.what == "Connect REST"}
    assert rest == {"connect", "connect-2"}
    assert "connect-2" not in {e.service for e in lab.endpoints()}


EXTERNAL = """\
x-lab:
  title: Staging
  teaches: Nothing
  clusters:
    source: {external: {bootstrap: "127.0.0.1:9092"}}
    target: {external: {bootstrap: "127.0.0.1:9093"}}
  connect_url: http://127.0.0.1:8083
"""


@pytest.mark.parametrize("connect_url", [True, False])
def test_of_workers_that_the_lab_did_not_start_it_is_not_known(
    fake: Engine, tmp_path: Path, connect_url: bool
) -> None:
    """They may mirror exactly once, or have done so: any offset of the target may be a marker."""
    text = EXTERNAL if connect_url else EXTERNAL.replace("  connect_url: http://127.0.0.1:8083\n", "")
    chosen = read(write(tmp_path, "staging", text))
    lab = Lab("a", chosen, "3.9.1", {})
    connector = Connector(name="mirror", config={"connector.class": SOURCE, "topics": "orders"})

    assert lab.flows.writes_transactions(connector)


# -- positions -------------------------------------------------------------------------------------


def offset(cluster: str, topic: str, partition: int, last: int) -> dict[str, object]:
    return {
        "partition": {"cluster": cluster, "topic": topic, "partition": partition},
        "offset": {"offset": last},
    }


def positions(lab: Lab) -> dict[int, int | None] | None:
    config = {"connector.class": SOURCE, "source.cluster.alias": "source", "topics": "orders"}
    return lab.flows.positions(Connector(name="mirror", config=config), "orders")


def test_positions_are_those_of_the_topic_and_the_source(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = [
        *(offset("source", "orders", 0, 41), offset("source", "orders", 1, 7)),
        *(offset("source", "others", 0, 5), offset("another", "orders", 2, 5)),
    ]
    monkeypatch.setattr(Connect, "offsets", lambda _, name: there if name == "mirror" else [])

    assert positions(Lab.up(WISH)) == {0: 42, 1: 8}


def test_workers_that_do_not_tell_leave_them_unknown(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_old(*_: object) -> None:
        raise BadInput("needs Kafka 3.5")

    monkeypatch.setattr(Connect, "offsets", too_old)
    assert positions(Lab.up(WISH)) is None


def test_without_anybody_to_ask_they_are_unknown(fake: Engine, tmp_path: Path) -> None:
    text = EXTERNAL.replace("  connect_url: http://127.0.0.1:8083\n", "")

    assert positions(Lab("a", read(write(tmp_path, "staging", text)), "3.9.1", {})) is None
