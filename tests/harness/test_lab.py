"""A lab comes up under a name that means one topology and one version, and is attached to by it."""

import json
import threading

import pytest
from pyspark.errors import PySparkException

from lab import leases, monitoring
from lab.errors import BadInput, HostNotReady, LabError, NotEnough
from lab.harness import Lab, Wish
from lab.harness.flows import Flows
from lab.kafka import ClusterError
from lab.project import runs_folder
from lab.verify import verification
from lab.verify.verdict import Outcome
from lab.verify.verification import Judged
from tests.harness.conftest import Engine

WISH = Wish(topology="basic-mirror", name="a")


def test_a_lab_that_comes_up_has_ports_and_a_run(fake: Engine) -> None:
    lab = Lab.up(WISH)

    assert (lab.name, lab.topology.name, lab.kafka_version) == ("a", "basic-mirror", "3.9.1")
    assert leases.names() == ["a"]
    assert lab.address("connect") == f"127.0.0.1:{lab.ports['CONNECT_PORT']}"
    (run,) = runs_folder().iterdir()
    assert json.loads((run / "run.json").read_text())["outcome"] == "up"
    assert fake.removed == []


def test_a_lab_is_named_like_its_topology_by_default(fake: Engine) -> None:
    assert Lab.up(Wish(topology="basic-mirror")).name == "basic-mirror"


def test_a_lab_that_is_up_is_attached_to(fake: Engine) -> None:
    started = Lab.up(WISH)

    for name in ("a", None):
        lab = Lab.attach(name)
        assert (lab.name, lab.topology, lab.ports) == ("a", started.topology, started.ports)


def test_without_a_lab_there_is_nothing_to_attach_to() -> None:
    with pytest.raises(BadInput) as caught:
        Lab.attach()

    assert (caught.value.message, caught.value.hint) == ("no lab is up", 'start one: "lab up basic-mirror"')


def test_a_name_means_one_topology_and_one_version(fake: Engine) -> None:
    Lab.up(WISH)

    with pytest.raises(BadInput) as caught:
        Lab.up(Wish(topology="basic-mirror", name="a", kafka="3.6.2"))

    assert caught.value.message == 'lab "a" is there already, with topology "basic-mirror" and Kafka 3.9.1'
    assert caught.value.hint == '"lab down --name a" first, or choose another --name'


def test_a_lab_keeps_its_version_unless_another_is_asked_for(
    fake: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    Lab.up(Wish(topology="basic-mirror", name="a", kafka="3.6.2"))

    assert Lab.up(WISH).kafka_version == "3.6.2"
    monkeypatch.setenv("LAB_KAFKA_VERSION", "3.9.1")
    assert Lab.up(WISH).kafka_version == "3.6.2"
    with pytest.raises(BadInput, match="is there already"):
        Lab.up(Wish(topology="basic-mirror", name="a", kafka="3.9.1"))


def test_what_another_user_started_is_left_alone(fake: Engine) -> None:
    """Or what was known of it is lost, as when somebody removes the folder of leases."""
    fake.holds = True

    with pytest.raises(BadInput) as caught:
        Lab.up(WISH)

    assert caught.value.message == (
        'lab "a" is there, started by another user, or what was known of it is lost'
    )
    assert caught.value.hint == 'choose another --name; "lab down --name a" removes it'
    assert (fake.removed, leases.names()) == ([], [])


def test_records_that_lie_elsewhere_than_now_are_not_given_up(fake: Engine) -> None:
    Lab.up(WISH)
    path = leases.env_file("a")
    path.write_text(path.read_text().replace("LAB_LAYOUT=2\n", ""))

    with pytest.raises(BadInput) as caught:
        Lab.up(WISH)

    assert caught.value.message == (
        'lab "a" was started by another version of this project, which kept records elsewhere'
    )


def test_a_port_that_a_lab_was_started_without_is_told(fake: Engine) -> None:
    """Its topology was edited since: what is not leased may be another lab's."""
    Lab.up(WISH)
    path = leases.env_file("a")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("BROKER_PORT")))

    with pytest.raises(BadInput) as caught:
        Lab.attach("a")

    assert caught.value.message == (
        'topology "basic-mirror" was changed since lab "a" was started with it: the lab has no BROKER_PORT'
    )
    assert caught.value.hint == '"lab up basic-mirror --name a" brings it into shape'
    Lab.up(WISH)
    assert Lab.attach("a").ports["BROKER_PORT"]


def test_a_lease_that_a_power_cut_left_empty_is_none(fake: Engine) -> None:
    Lab.up(WISH)
    leases.env_file("a").write_text("")

    assert leases.leased("a") is None
    assert Lab.up(WISH).name == "a"


def test_what_spark_fails_with_is_told_in_words(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: object) -> None:
        raise PySparkException(message="Job aborted: out of memory")

    lab = Lab.up(WISH)
    monkeypatch.setattr(Lab, "flow", lambda *_, **__: None)
    monkeypatch.setattr(Flows, "require_reach", out_of_memory)

    with pytest.raises(NotEnough, match=r'^verifying "orders" failed: Job aborted: out of memory$'):
        lab.verify("orders")


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (ClusterError("no answer", "see x"), "no answer", "see x"),
        (LabError("no answer"), "no answer", '"lab status" shows clusters and workers; verify again'),
        (
            KeyError("s_count"),
            "verifying \"orders\" failed: KeyError: 's_count'",
            "this may be a defect of the lab: its traceback is in {run}/traceback.txt; verify again",
        ),
        (
            RuntimeError("first\nsecond"),
            'verifying "orders" failed: RuntimeError: first',
            "this may be a defect of the lab: its traceback is in {run}/traceback.txt; verify again",
        ),
    ],
)
def test_whatever_fails_while_a_topic_is_judged_is_no_verdict(
    fake: Engine, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str, hint: str
) -> None:
    lab = Lab.up(WISH)
    assert lab.run is not None
    monkeypatch.setattr(Lab, "flow", lambda *_, **__: raised(error))

    with pytest.raises(NotEnough) as caught:
        lab.verify("orders")

    assert (caught.value.message, caught.value.hint) == (message, hint.format(run=lab.run.path))
    assert caught.value.exit_code == 3
    if "traceback" in hint:
        assert type(error).__name__ in (lab.run.path / "traceback.txt").read_text()


@pytest.mark.parametrize("error", [BadInput("no topic"), NotEnough("too little"), HostNotReady("no memory")])
def test_what_says_by_itself_how_it_ends_stays_so(
    fake: Engine, monkeypatch: pytest.MonkeyPatch, error: LabError
) -> None:
    lab = Lab.up(WISH)
    monkeypatch.setattr(Lab, "flow", lambda *_, **__: raised(error))

    with pytest.raises(LabError) as caught:
        lab.verify("orders")

    assert caught.value is error


def raised(error: BaseException) -> None:
    raise error


def test_each_verdict_of_a_run_has_a_file_of_its_own(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.up(WISH)
    assert lab.run is not None
    monkeypatch.setattr(Lab, "flow", lambda *_, **__: None)
    monkeypatch.setattr(Lab, "spark", None)
    monkeypatch.setattr(Flows, "require_reach", lambda *_: None)
    monkeypatch.setattr(Flows, "facts", lambda *_: {"topic": "orders"})

    def judged(*_: object, **__: object) -> Judged:
        return Judged(outcome=Outcome.PASS, source="a", target="b", verdicts=[], frozen_at="", partitions=[])

    monkeypatch.setattr(verification, "verify", judged)
    saved = [lab.verify("orders").saved for _ in range(3)]

    assert saved == [lab.run.path / f"verdict{number}.json" for number in ("", "-2", "-3")]
    assert all(path is not None and path.with_suffix(".html").exists() for path in saved)
    assert "saved" not in json.loads((lab.run.path / "verdict.json").read_text())


def test_the_clients_are_made_while_the_services_start(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    made = threading.Event()
    make_clients = Lab.make_clients

    def make(lab: Lab) -> None:
        make_clients(lab)
        made.set()

    monkeypatch.setattr(Lab, "make_clients", make)
    monkeypatch.setattr(fake, "starting", lambda: made.wait(30) or pytest.fail("no client while it starts"))

    lab = Lab.up(WISH)

    assert made.is_set()
    assert lab.worker("connect") is lab.connect


def test_a_client_that_cannot_be_made_fails_the_lab(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Lab) -> None:
        raise LabError("no such thing")

    monkeypatch.setattr(Lab, "make_clients", refuse)

    with pytest.raises(LabError, match=r'^lab "a" did not come up: no such thing$'):
        Lab.up(WISH)


def test_without_a_registry_a_lab_comes_up_without_its_web_interfaces(fake: Engine) -> None:
    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))

    (run,) = runs_folder().iterdir()
    steps = (run / "steps.jsonl").read_text()
    assert "left out, since no image registry gives grafana/grafana:" in steps
    assert "prometheus" in {endpoint.service for endpoint in lab.endpoints()}
    assert not {"grafana", "kafka-ui"} & {endpoint.service for endpoint in lab.endpoints()}
    assert monitoring.password_file("a").is_file()


def test_with_a_registry_a_lab_has_its_web_interfaces_and_says_where_the_password_is(fake: Engine) -> None:
    fake.registry = True

    lab = Lab.up(Wish(topology="kraft-2x2", name="a"))

    (run,) = runs_folder().iterdir()
    assert "left out" not in (run / "steps.jsonl").read_text()
    found = {endpoint.service: endpoint for endpoint in lab.endpoints()}
    for service, name in (("grafana", "Grafana"), ("kafka-ui", "Kafka UI")):
        assert found[service].what == f"{name}: admin, password in {monitoring.password_file('a')}"
        assert found[service].address.startswith("http://127.0.0.1:")
    assert Lab.attach("a").endpoints() == lab.endpoints()
    assert (leases.leased("a") or {})["LAB_MONITORING"] == str(monitoring.folder("a"))
