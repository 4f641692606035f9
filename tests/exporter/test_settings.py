"""What Compose tells the exporter; what is wrong is refused by name."""

from pathlib import Path

import pytest

from lab.errors import BadInput
from lab.exporter.settings import read

CLUSTERS = "a=one:9092,two:9092\n b-1=three:9092"


def test_clusters_workers_and_the_interval_are_read(tmp_path: Path) -> None:
    (tmp_path / "b-1.properties").write_text("security.protocol=SSL\n")

    settings = read(
        {
            "EXPORTER_CLUSTERS": CLUSTERS,
            "EXPORTER_CONNECT": "http://w0:8083 http://w1:8083",
            "EXPORTER_INTERVAL_S": "2.5",
            "EXPORTER_CLIENTS": str(tmp_path),
        }
    )

    assert settings.clusters == {"a": "one:9092,two:9092", "b-1": "three:9092"}
    assert settings.workers == ("http://w0:8083", "http://w1:8083")
    assert settings.interval_s == 2.5
    assert settings.properties == {"b-1": {"security.protocol": "SSL"}}


def test_clusters_are_enough() -> None:
    settings = read({"EXPORTER_CLUSTERS": CLUSTERS, "EXPORTER_INTERVAL_S": ""})

    assert (settings.workers, settings.interval_s, settings.properties) == ((), 5.0, {})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "EXPORTER_CLUSTERS names no cluster"),
        ({"EXPORTER_CLUSTERS": "one:9092"}, 'EXPORTER_CLUSTERS: "one:9092" is no cluster'),
        ({"EXPORTER_CLUSTERS": "a="}, 'EXPORTER_CLUSTERS: "a=" is no cluster'),
        (
            {"EXPORTER_CLUSTERS": "a=b:1", "EXPORTER_INTERVAL_S": "soon"},
            'EXPORTER_INTERVAL_S: "soon" is not a number of seconds',
        ),
        (
            {"EXPORTER_CLUSTERS": "a=b:1", "EXPORTER_INTERVAL_S": "0"},
            'EXPORTER_INTERVAL_S: "0" is not a number of seconds',
        ),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(given)

    assert caught.value.message == message
    assert caught.value.hint
