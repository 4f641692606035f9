"""Dashboards and alerts ask only for what something exports, and say what they show and what to do."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.project import ROOT
from scenarios.dashboards import (
    DASHBOARDS,
    RULE_TESTS,
    RULES,
    Panel,
    alerts,
    panels,
    selectors,
    with_variables,
)

# What every JMX agent exports of its JVM, and Prometheus of its targets and alerts.
BUILT_IN = {
    *("jvm_memory_used_bytes", "jvm_memory_max_bytes", "jvm_gc_collection_seconds_sum"),
    *("process_cpu_seconds_total", "up", "ALERTS"),
}
JMX_RULES = sorted((ROOT / "prometheus/jmx").glob("*.yml"))
every_panel = pytest.mark.parametrize("panel", list(panels()), ids=str)
every_alert = pytest.mark.parametrize("alert", list(alerts()), ids=lambda alert: alert["alert"])
CASES = [
    case
    for path in RULE_TESTS
    for test in yaml.safe_load(path.read_text())["tests"]
    for case in test["alert_rule_test"]
]


@cache
def exported_by_jmx() -> list[re.Pattern[str]]:
    """Each rule's name, with the groups of its pattern in the place of $1, $2 …"""
    rules = [rule for path in JMX_RULES for rule in yaml.safe_load(path.read_text())["rules"]]
    return [re.compile(_name(**rule).lower().replace("-", "_")) for rule in rules]


def _name(*, pattern: str, name: str, **_: object) -> str:
    return re.sub(r"\$(\d)", lambda match: _group(pattern, int(match[1])), name)


def _group(pattern: str, number: int) -> str:
    """The text of a pattern's group, with its brackets."""
    opened: list[tuple[int, bool]] = []
    found = 0
    start = None
    for at, character in enumerate(pattern):
        if character == "(" and pattern[at - 1] != "\\":
            captures = pattern[at + 1] != "?"
            found += captures
            opened.append((at, captures and found == number))
        elif character == ")" and pattern[at - 1] != "\\":
            start, wanted = opened.pop()
            if wanted:
                return pattern[start : at + 1]
    raise AssertionError(f"{pattern} has no group {number}")


@cache
def exported_by_the_lab() -> set[str]:
    names = re.findall(r'(\w+MetricFamily)\(\s*"(\w+)"', (ROOT / "lab/exporter/metrics.py").read_text())
    assert names
    return {
        name + suffix
        for kind, name in names
        for suffix in (("_bucket", "_sum", "_count") if kind.startswith("Histogram") else ("",))
    }


def is_exported(metric: str) -> bool:
    return (
        metric in BUILT_IN
        or metric in exported_by_the_lab()
        or any(pattern.fullmatch(metric) for pattern in exported_by_jmx())
    )


def metrics_of(expression: str) -> set[str]:
    return {selector.partition("{")[0] for selector in selectors(expression)}


@pytest.mark.parametrize("metric", ["kafka_connect_source_record_poll_total", "mirror_lab_record_lag", "up"])
def test_what_is_exported_is_known(metric: str) -> None:
    assert is_exported(metric)


@pytest.mark.parametrize("metric", ["kafka_connect_source_record_count", "mirror_lab_lag", "kafka_log_size"])
def test_what_is_not_exported_is_found(metric: str) -> None:
    assert not is_exported(metric)


@every_panel
def test_a_panel_says_what_it_shows_in_which_unit(panel: Panel) -> None:
    assert panel.title
    assert panel.body["description"].endswith(".")
    assert panel.body["fieldConfig"]["defaults"]["unit"]
    assert panel.body["type"] in {"timeseries", "stat", "table"}


@every_panel
def test_a_panel_asks_the_labs_prometheus_for_what_is_exported(panel: Panel) -> None:
    assert panel.expressions
    sources = [panel.body["datasource"], *(target["datasource"] for target in panel.body["targets"])]
    assert all(source == {"type": "prometheus", "uid": "prometheus"} for source in sources)
    for expression in panel.expressions:
        assert metrics_of(expression)
        assert [metric for metric in metrics_of(expression) if not is_exported(metric)] == []


def test_dashboards_have_names_of_their_own_and_scenarios_as_annotations() -> None:
    documents = [json.loads(path.read_text()) for path in DASHBOARDS]

    assert [document["uid"] for document in documents] == ["clusters", "connect", "replication"]
    for document in documents:
        ids = [panel["id"] for panel in document["panels"]]
        assert len(set(ids)) == len(ids)
        asked = {found["name"]: found["expr"] for found in document["annotations"]["list"]}
        assert asked["Scenarios"] == 'up{job="mirror-lab-step"}'
        assert all(is_exported(m) for expression in asked.values() for m in metrics_of(expression))


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboards_variables_are_all_used_and_all_declared(path: Path) -> None:
    document = json.loads(path.read_text())
    declared = {variable["name"] for variable in document["templating"]["list"]}
    used = {name for panel in panels() if panel.dashboard == path.stem for name in _variables(panel)}

    assert used == declared


def _variables(panel: Panel) -> set[str]:
    return {name for expression in panel.expressions for name in re.findall(r"\$(\w+)", expression)}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_do_not_lie_over_each_other(path: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(path.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in cells) < 24
        assert not taken & cells, panel["title"]
        taken |= cells


def test_variables_are_replaced_as_grafana_does() -> None:
    expression = 'sum(x{flow=~"$flow",topic=~"(.+[.])?($topic)"})'

    assert with_variables(expression, topic="t") == 'sum(x{flow=~".*",topic=~"(.+[.])?(t)"})'


@every_alert
def test_an_alert_says_what_to_do_and_asks_for_what_is_exported(alert: dict[str, Any]) -> None:
    told = str(alert["annotations"]["summary"])
    assert ":" in told
    assert told.endswith(".")
    assert alert["labels"]["severity"] in {"warning", "critical"}
    assert alert["for"]
    assert metrics_of(str(alert["expr"]))
    assert [metric for metric in metrics_of(str(alert["expr"])) if not is_exported(metric)] == []


@every_alert
def test_an_alert_is_shown_firing_and_silent(alert: dict[str, Any]) -> None:
    """promtool runs them, in scenarios/test_monitoring.py."""
    shown = [case for case in CASES if case["alertname"] == alert["alert"]]

    assert any(case["exp_alerts"] for case in shown), "firing"
    assert any(not case["exp_alerts"] for case in shown), "silent"


def test_rule_tests_test_every_file() -> None:
    assert [path.name for path in RULE_TESTS] == [path.name for path in RULES]


@pytest.mark.parametrize("path", JMX_RULES, ids=lambda path: path.stem)
def test_an_agent_reads_named_objects_only(path: Path) -> None:
    rules = yaml.safe_load(path.read_text())

    assert rules["includeObjectNames"]
    assert all(name.startswith("kafka.") for name in rules["includeObjectNames"])
    # A pattern is searched anywhere: without the colon "records-lag" is "records-lag-max" too.
    assert all(rule["pattern"].endswith((": ", ": (.+)")) for rule in rules["rules"])
