"""Plots: well-formed, described, with every part that the data has, and left out with a reason."""

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from lab.verify.report import parse, plots
from lab.verify.report.model import FaultSpan
from lab.verify.report.plots import Drawn
from lab.verify.report.scale import Scale
from lab.verify.report.svg import LEFT, RIGHT, WIDTH, fault_rows, line
from tests.verify.report.inputs import bare, full

_NAME = "{http://www.w3.org/2000/svg}"


def drawn(draw: Any, data: dict[str, Any]) -> Drawn:
    found = draw(parse(json.dumps(data)))
    assert isinstance(found, Drawn)
    return found


def tree(draw: Any, data: dict[str, Any]) -> ET.Element:
    found = drawn(draw, data)
    assert found.svg is not None, found.left_out
    return ET.fromstring(found.svg)  # noqa: S314 - our own


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{_NAME}text")]


def classed(root: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in root.iter() if name in element.get("class", "").split()]


ALL = (plots.rates, plots.lag, plots.latency, plots.trouble)


@pytest.mark.parametrize("draw", ALL)
def test_a_plot_has_a_name_and_a_description(draw: Any) -> None:
    root = tree(draw, full())
    by_id = {element.get("id"): element for element in root.iter() if element.get("id")}

    assert root.get("role") == "img"
    assert by_id[root.get("aria-labelledby")].text
    assert by_id[root.get("aria-describedby")].text


@pytest.mark.parametrize("draw", ALL)
def test_everything_stands_inside_the_drawing(draw: Any) -> None:
    root = tree(draw, full())
    _, _, width, height = map(float, (root.get("viewBox") or "").split())

    assert width == WIDTH
    for element in root.iter():
        for names, limit in ((("x", "x1", "x2", "cx"), width), (("y", "y1", "y2", "cy"), height)):
            for name in names:
                assert -10 <= float(element.get(name, 0)) <= limit, ET.tostring(element)


@pytest.mark.parametrize("draw", ALL)
def test_every_pattern_that_is_used_is_there(draw: Any) -> None:
    root = tree(draw, full())
    ids = {element.get("id") for element in root.iter(f"{_NAME}pattern")}
    used = set(re.findall(r"url\(#([\w-]+)\)", ET.tostring(root, encoding="unicode")))

    assert used <= ids


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (plots.rates, "no record with a time was read"),
        (plots.lag, "nobody sampled both sides while records were mirrored"),
        (plots.latency, "no record was found on the target"),
        (plots.trouble, "records were not compared one by one"),
    ],
)
def test_a_plot_without_data_says_why(draw: Any, reason: str) -> None:
    found = drawn(draw, bare())

    assert (found.svg, found.left_out) == (None, reason)


def test_rates_have_a_line_and_a_word_for_each_side() -> None:
    root = tree(plots.rates, full(source="west", target="east"))

    assert {"west", "east", "records/s"} <= set(texts(root))
    # One in the legend, one in the plot; beside its colour each side has its own marker.
    assert len(classed(root, "line")) == 4
    assert {element.tag for element in classed(root, "mark") if "source" in element.get("class", "")} == {
        f"{_NAME}circle"
    }
    assert {element.tag for element in classed(root, "mark") if "target" in element.get("class", "")} == {
        f"{_NAME}rect"
    }


def test_a_side_without_records_has_no_line() -> None:
    root = tree(plots.rates, full(series={"source": [[100, 5]]}))

    assert "target" not in texts(root)


def test_a_long_time_is_drawn_with_few_points() -> None:
    hours = {"source": [[at, 7] for at in range(36_000)], "target": []}
    found = drawn(plots.rates, full(series=hours, faults=[], samples=[]))

    assert found.about == "source at most 7/s; each point is the mean of 300 s"
    assert found.svg is not None
    assert len(found.svg) < 10_000


def test_lag_keeps_the_peak_of_many_samples() -> None:
    samples = [{"at": at, "source": 10, "target": 0 if at == 777 else 10} for at in range(5000)]
    found = drawn(plots.lag, full(samples=samples, series={}, faults=[]))

    assert found.about == "at most 10 records, 0 at the last of 5,000 samples"


def test_lag_below_zero_is_explained() -> None:
    found = drawn(plots.lag, bare(samples=[{"at": at, "source": 5, "target": 9} for at in (1, 2)]))

    assert found.about.endswith("below zero the target has more records than the source")


def test_latency_has_bars_bounds_and_percentiles() -> None:
    root = tree(plots.latency, full())

    assert {"p50 14.2 ms", "p95 88 ms", "p99 240 ms", "10 ms", "500 ms"} <= set(texts(root))
    assert [bar[0].text for bar in classed(root, "bar")] == [
        "1 ms to 10 ms: 5 records",
        "10 ms to 20 ms: 50 records",
        "20 ms to 100 ms: 20 records",
        "100 ms to 500 ms: 3 records",
    ]
    places = [element.get("transform", "") for element in root.iter(f"{_NAME}g")]
    drawn_at = [float(place.split("(")[1].split()[0]) for place in places[-3:]]
    # From 10 to 20 ms is the third of five buckets; 14.2 ms lies 42 % in it.
    assert drawn_at[0] == pytest.approx(LEFT + (RIGHT - LEFT) * 2.42 / 5, abs=0.1)
    assert drawn_at == sorted(drawn_at)


@pytest.mark.parametrize("upper", [None, float("inf")])
def test_a_bucket_without_a_bound(upper: float | None) -> None:
    root = tree(plots.latency, full(latency_ms={"p99": 9e9, "histogram": [[5, 1], [upper, 2]]}))

    assert [bar[0].text for bar in classed(root, "bar")] == ["to 5 ms: 1 records", "5 ms and more: 2 records"]


def test_many_buckets_are_added_up() -> None:
    root = tree(plots.latency, full(latency_ms={"histogram": [[upper, 2] for upper in range(1, 1001)]}))

    bars = classed(root, "bar")
    assert len(bars) <= 60
    assert sum(int((bar[0].text or "").split(": ")[1].split()[0]) for bar in bars) == 2000


def test_every_kind_of_trouble_has_its_pattern_its_word_and_its_place() -> None:
    root = tree(plots.trouble, full())
    strips = [element for element in classed(root, "trouble") if element.tag == f"{_NAME}path"]

    assert {"missing", "duplicate", "reordered", "damaged", "p 0", "p 1"} <= set(texts(root))
    assert "p 2" not in texts(root)
    assert [(strip.get("fill"), strip[0].text) for strip in strips] == [
        ("url(#trouble-duplicate)", "partition 0: 9 duplicate of 2,000 records"),
        ("url(#trouble-missing)", "partition 1: 7 missing of 2,000 records"),
        ("url(#trouble-reordered)", "partition 1: 2 reordered of 2,000 records"),
        ("url(#trouble-damaged)", "partition 1: 3 damaged of 2,000 records"),
    ]
    wide = (RIGHT - LEFT) / 10
    # Two bins side by side are one box.
    assert strips[0].get("d", "").startswith(f"M{LEFT + wide:.1f} ")
    assert f"h{2 * wide:.1f}v" in strips[0].get("d", "")
    assert strips[0].get("d", "").count("M") == 2


def test_clean_partitions_and_what_is_too_much_are_counted() -> None:
    partitions = [
        {"partition": number, "records": 9, "missing": [number if number < 40 else 0]} for number in range(50)
    ]
    found = drawn(plots.trouble, full(trouble={"bins": 1, "partitions": partitions}))

    assert found.about.endswith(
        "11 clean partitions are left out, of 39 troubled partitions the worst 24 are drawn"
    )
    assert found.svg is not None
    assert "p 39" in found.svg
    assert "p 3<" not in found.svg


def test_no_trouble_is_said_in_words() -> None:
    found = drawn(plots.trouble, full(trouble={"bins": 1, "partitions": [{"partition": 0, "records": 5}]}))

    assert (found.svg, found.left_out) == (None, "none in 1 partition")


@pytest.mark.parametrize("draw", [plots.rates, plots.lag])
def test_faults_are_named_spans_over_time(draw: Any) -> None:
    root = tree(draw, full())
    (span,) = classed(root, "fault")

    assert "kill-leader broker" in texts(root)
    assert span.get("fill", "").endswith("-fault)")
    assert "fault kill-leader broker: 2025-11-18 12:13:30 UTC to 2025-11-18 12:13:40 UTC" in {
        element.text for element in root.iter(f"{_NAME}title")
    }
    assert float(span.get("x", 0)) == pytest.approx(LEFT + (RIGHT - LEFT) * 10 / 44, abs=0.1)
    assert float(span.get("width", 0)) == pytest.approx((RIGHT - LEFT) * 10 / 44, abs=0.1)


def test_names_of_faults_do_not_cover_each_other() -> None:
    scale = Scale(low=0, high=100, first_px=LEFT, last_px=RIGHT)
    faults = [FaultSpan(name="a long name", begin=begin, end=begin + 5) for begin in (0, 3, 60)]

    placed, rows = fault_rows(faults, scale)
    assert rows == 2
    assert [row for _, row in placed] == [0, 1, 0]


def test_a_line_is_its_points_and_a_marker() -> None:
    assert line([], "source") == ""
    assert line([(1, 2), (3.456, 4)], "source") == (
        '<g><path d="M1.0 2.0L3.5 4.0" class="line source" fill="none"></path>'
        '<circle cx="3.5" cy="4" r="5.5" class="mark source"></circle></g>'
    )


def test_one_look_at_the_lag_is_a_sentence_and_no_plot() -> None:
    found = drawn(plots.lag, bare(samples=[{"at": 1, "source": 5, "target": 5}]))

    assert (found.svg, found.left_out) == (None, "0 at the only look, 1970-01-01 00:00:01 UTC")


def test_latency_that_nobody_can_know_says_how_to_know_it() -> None:
    found = drawn(plots.latency, full(latency_ms=None))

    assert found.svg is None
    assert "MM2 keeps the time that the producer gave" in found.left_out
    assert 'topic "source.orders" tells it with message.timestamp.type=LogAppendTime' in found.left_out


def test_latency_below_zero_is_said_to_be_the_clocks() -> None:
    found = drawn(plots.latency, full(latency_ms={"p50": 1, "histogram": [[-1, 2], [0, 0], [1, 5]]}))

    assert found.about.endswith("; 2 below zero, as the clocks of both sides differ")


def test_foreign_records_and_those_without_a_place_are_told() -> None:
    partitions = [{"partition": 0, "records": 9, "foreign": [0, 4]}]
    found = drawn(plots.trouble, full(trouble={"bins": 2, "partitions": partitions, "without_place": 3}))
    clean = drawn(
        plots.trouble, full(trouble={"bins": 2, "partitions": [{"partition": 0}], "without_place": 3})
    )

    assert found.about == (
        "4 foreign (never in the source, by place on the target); 3 more have no known place"
    )
    assert (clean.svg, clean.left_out) == (None, "nobody knows the place of 3 records")
