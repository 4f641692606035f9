"""Prometheus sees what MM2 does, and nothing on a dashboard is empty while records flow.

Claim: every target is scraped; every expression of every dashboard and every series that an alert looks at
gives numbers; every alert fires when it must and is silent otherwise; the record lag is the whole backlog
while MM2 is paused, which fires an alert, and 0 in the end; the step of a scenario is an annotation.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab.harness import Lab
from lab.metrics import MetricsError
from lab.mm2 import Connector
from lab.producing import Producing
from lab.run import Run
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from lab.workload import Plan
from scenarios.dashboards import Panel, alerts, panels, selectors, with_variables
from scenarios.expressions import wait_for

pytestmark = pytest.mark.topology("kraft-2x2")

TOPIC, FLOW = "monitored", "source-0->target-0"
BACKLOG = 5_000
ALERT_S = 240.0  # 30 s until it may fire, which begin anew where one scrape is missing
EVERY_SECOND = {f"{what}.interval.seconds": "1" for what in ("emit.checkpoints", "refresh.groups")}


def connectors(lab: Lab) -> Iterator[Connector]:
    """The topology's, with names of the scenario's own; the heartbeats are to cross the flow."""
    at_source = lab.internal_bootstrap("source-0")
    for file, overrides in {
        "mm2-msc-source-0": {"topics": TOPIC, "refresh.topics.interval.seconds": "5"},
        "mm2-cpc-source-0": {"groups": TOPIC, **EVERY_SECOND},
        "mm2-hbc-source-0": {"producer.override.bootstrap.servers": at_source},
    }.items():
        yield replace(lab.connector(file, **overrides), name=f"{TOPIC}-{file}")


@pytest.fixture(scope="module")
def flowing(lab: Lab, run: Run) -> Iterator[Lab]:
    """Records are written, mirrored, and read by a group, all the time."""
    lab.cluster("source-0").create_topic(TOPIC, partitions=4, replicas=2)
    reading = f"kafka-console-consumer --bootstrap-server kafka-source-0:9092 --topic {TOPIC} --group {TOPIC}"
    with (
        lab.shell_in_background("kafka-source-0", f"{reading} --from-beginning >/dev/null"),
        Producing(lab.cluster("source-0"), TOPIC, Plan(run="5c3a9e01", rate_per_s=100), run.path / "flowing"),
    ):
        for connector in connectors(lab):
            lab.deploy(connector)
        yield lab


def wait_for_alert(lab: Lab, name: str, *, fires: bool) -> None:
    def observe() -> bool | NotYet:
        alerting = lab.metrics.alerting()
        return (name in alerting) == fires or NotYet(f"firing: {', '.join(alerting) or 'none'}")

    what = f"alert {name} {'fires' if fires else 'is silent'}"
    wait_until(observe, timeout_s=ALERT_S, what=what, transient=(MetricsError,))


def test_every_target_is_scraped(lab: Lab) -> None:
    containers = {box.service for box in lab.containers()} - {"prometheus", "spark"}

    def observe() -> bool | NotYet:
        seen = {target.address.partition(":")[0]: target.health for target in lab.metrics.targets()}
        seen.pop("localhost", None)  # the mark of this step
        return seen == dict.fromkeys(containers, "up") or NotYet(str(seen))

    wait_until(
        observe,
        timeout_s=RECORDS_ARRIVE_S,
        what=f"targets up: {', '.join(sorted(containers))}",
        transient=(MetricsError,),
    )


@pytest.mark.parametrize("panel", list(panels()), ids=str)
def test_no_panel_is_empty(flowing: Lab, panel: Panel) -> None:
    for expression in panel.expressions:
        wait_for(flowing, with_variables(expression, flow=FLOW, topic=TOPIC))


def test_no_alert_looks_at_what_is_not_there(flowing: Lab) -> None:
    for selector in sorted({s for alert in alerts() for s in selectors(alert["expr"])}):
        wait_for(flowing, selector)


def test_every_alert_can_fire_and_be_silent(lab: Lab) -> None:
    told = lab.shell("prometheus", "cd /etc/prometheus && promtool check config prometheus.yml")
    assert "is valid prometheus config" in told
    tested = lab.shell("prometheus", "promtool test rules /etc/prometheus/rules/tests/*.yml")
    assert tested.count("SUCCESS") == tested.count("Unit Testing") > 0


def test_the_lag_is_the_backlog_and_then_nothing(lab: Lab, topic: str, run: Run) -> None:
    source, lag = lab.cluster("source-0"), f'sum(mirror_lab_record_lag{{topic="{topic}"}})'
    source.create_topic(topic, partitions=4, replicas=2)
    connector = replace(lab.connector("mm2-msc-source-0", topics=topic), name=topic)
    lab.deploy(connector)
    wait_for(lab, lag, to_be=0)

    lab.connect.pause(topic)
    wait_for(lab, f'mirror_lab_connector_tasks{{connector="{topic}",state="running"}}', to_be=0)
    with Producing(source, topic, Plan(run="5c3a9e02", records=BACKLOG), run.path / topic) as orders:
        orders.wait()
    wait_for(lab, lag, to_be=BACKLOG)
    wait_for_alert(lab, "ConnectorNotRunning", fires=True)

    lab.connect.resume(topic)
    wait_for(lab, lag, to_be=0)
    wait_for_alert(lab, "ConnectorNotRunning", fires=False)


def test_the_step_of_a_scenario_is_an_annotation(lab: Lab, request: pytest.FixtureRequest) -> None:
    labels = f'scenario="monitoring",step="{request.node.name}"'

    wait_for(lab, f'up{{job="mirror-lab-step",{labels}}}', to_be=1)
