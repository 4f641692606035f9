"""Prometheus' answers become values, its refusals errors."""

from typing import Any

import httpx
import pytest

from lab.metrics import Metrics, MetricsError, Target, Value


def answering(data: Any, *, code: int = 200, **more: str) -> tuple[Metrics, list[httpx.URL]]:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(code, json={"status": "success", "data": data, **more})

    return Metrics("http://127.0.0.1:9090/", transport=httpx.MockTransport(answer)), asked


def series(value: str, **labels: str) -> dict[str, Any]:
    return {"metric": labels, "value": [1.0, value]}


def test_an_expression_gives_the_series_that_have_a_number() -> None:
    metrics, asked = answering(
        {"resultType": "vector", "result": [series("3", topic="a"), series("NaN", topic="b")]}
    )

    assert metrics.query("sum(x) by (topic)") == [Value(labels={"topic": "a"}, value=3.0)]
    assert asked[0].path == "/api/v1/query"
    assert asked[0].params["query"] == "sum(x) by (topic)"


def test_a_scalar_has_no_labels() -> None:
    metrics, _ = answering({"resultType": "scalar", "result": [1.0, "42"]})

    assert metrics.query("42") == [Value(labels={}, value=42.0)]


def test_targets_tell_why_they_are_down() -> None:
    labels = {"job": "kafka-source-exporter", "instance": "broker:9404", "cluster": "source"}
    metrics, _ = answering({"activeTargets": [{"labels": labels, "health": "down", "lastError": "refused"}]})

    assert metrics.targets() == [
        Target(
            job="kafka-source-exporter", address="broker:9404", health="down", error="refused", labels=labels
        )
    ]


def test_only_alerts_that_fire_are_named() -> None:
    alerts = [
        {"labels": {"alertname": name}, "state": state}
        for name, state in (("b", "firing"), ("a", "firing"), ("b", "firing"), ("c", "pending"))
    ]
    metrics, _ = answering({"alerts": alerts})

    assert metrics.alerting() == ["a", "b"]


def test_a_refused_expression_is_an_error_that_names_it() -> None:
    metrics, _ = answering(None, code=400, status="error", error="parse error")

    with pytest.raises(MetricsError) as caught:
        metrics.query("sum(")
    assert caught.value.message == 'Prometheus refuses "sum(": parse error'


@pytest.mark.parametrize("reply", [httpx.Response(503, text="starting"), httpx.ConnectError("refused")])
def test_without_an_answer_the_log_is_where_to_look(reply: httpx.Response | httpx.ConnectError) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        if isinstance(reply, httpx.ConnectError):
            raise reply
        return reply

    metrics = Metrics("http://127.0.0.1:9090", transport=httpx.MockTransport(answer))
    with metrics, pytest.raises(MetricsError) as caught:
        metrics.alerting()
    assert caught.value.message.startswith("Prometheus at http://127.0.0.1:9090 does not answer: ")
    assert caught.value.hint == 'see "lab logs prometheus"'
