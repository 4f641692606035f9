"""The page: whole in itself, closed, escaped, small, and the same facts in words as in colours."""

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lab.errors import BadInput, LabError
from lab.verify.report import parse, render, write
from lab.verify.report.page import sentence
from tests.verify.report.inputs import bare, full


class Page(HTMLParser):
    """The tags in their nesting, and the text; what is not closed or closed twice fails."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page(data: dict[str, Any]) -> Page:
    return Page(render(parse(json.dumps(data))))


def test_a_page_has_all_sections() -> None:
    found = page(full())

    assert "✗ FAIL orders → source.orders" in found.words
    assert len(found.named("svg")) == 4
    assert len(found.named("figure")) == 4
    for part in ("Checks", "Plots", "Facts", "Offsets and rows per partition", "Stages"):
        assert part in found.words


def test_verdicts_have_icon_and_word_and_the_worst_is_on_top() -> None:
    words = page(full()).words

    order = [words.index(shown) for shown in ("✗ FAIL loss", "? UNKNOWN sync_pairs", "✓ PASS ledger", "n/a")]
    assert order == sorted(order)
    assert "not mirrored 7" in words
    assert "partition 1, offset 52000" in words


def test_facts_and_sums_are_in_words() -> None:
    words = page(full()).words

    for fact in (
        "mine · basic-mirror",
        "orders on source",
        "source.orders on target",
        "2025-11-18 12:14:00 UTC",
        "c203ff21da3e",
        "Kafka 3.9.1",
        "Spark 4.0.0",
        "kill-leader broker",
        "all 4,000 3,993",
        "scan 31.9 s",
        "all 40.1 s",
    ):
        assert fact in words


def test_nothing_is_a_page_too() -> None:
    found = page(bare())

    assert found.named("svg") == []
    assert (
        "? UNKNOWN orders No check came to an answer: there was too little evidence to judge." in found.words
    )
    assert "Replication lag: nobody sampled both sides while records were mirrored." in found.words
    assert "No partition was read." in found.words


@pytest.mark.parametrize(
    "part", ["stages", "verdicts", "partitions", "series", "samples", "latency_ms", "trouble", "faults"]
)
def test_any_part_may_be_absent(part: str) -> None:
    data = full()
    del data[part]

    assert page(data).named("h1")


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    found = page(full())
    source = render(parse(json.dumps(full())))

    assert {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in found.tags} == set()
    assert not any(key in ("src", "href") or key.startswith("on") for _, keys in found.tags for key in keys)
    # The attribute http-equiv, and the name of SVG's vocabulary in each drawing.
    assert source.count("http") == 1 + 4
    assert "@import" not in source
    assert found.named("meta")[1]["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_the_svg_is_well_formed_xml_and_ids_are_unique() -> None:
    source = render(parse(json.dumps(full())))
    drawings = source.split("<svg")[1:]

    for drawing in drawings:
        ET.fromstring("<svg" + drawing.split("</svg>")[0] + "</svg>")  # noqa: S314 - our own
    ids = [attributes["id"] for _, attributes in page(full()).tags if "id" in attributes]
    assert len(ids) == len(set(ids))


HOSTILE = '</style></title><script>alert(1)</script><img src=x onerror="a">\' \x00\ud7ff\u202e&amp;'


def _everywhere(value: Any) -> Any:
    """The same data with hostile text wherever text may be."""
    if isinstance(value, dict):
        kept = ("outcome",)
        return {key: item if key in kept else _everywhere(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_everywhere(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def test_hostile_text_stays_text() -> None:
    data = _everywhere(full())
    data["verdicts"][1]["first"] = [{HOSTILE: HOSTILE, "key": {"nested": [HOSTILE]}}]
    data["verdicts"][1]["counts"] = {HOSTILE: 3}
    data["versions"] = {HOSTILE: HOSTILE}
    source = render(parse(json.dumps(data)))
    found = Page(source)

    assert "script" not in {tag for tag, _ in found.tags}
    assert "img" not in {tag for tag, _ in found.tags}
    assert "<script>alert(1)</script>" in found.words
    assert "\x00" not in source
    assert "\u202e" not in source
    for drawing in source.split("<svg")[1:]:
        ET.fromstring("<svg" + drawing.split("</svg>")[0] + "</svg>")  # noqa: S314 - our own


def test_coordinates_with_half_surrogates_are_written(tmp_path: Path) -> None:
    data = bare(verdicts=[{"check": "payload", "outcome": "FAIL", "first": [{"key": "\ud800"}]}])
    (tmp_path / "verdict.json").write_text(json.dumps(data))

    assert "key \\ud800" in write(tmp_path / "verdict.json").read_text(encoding="utf-8")


def _large() -> dict[str, Any]:
    bins = [1, 0] * 500
    kinds = dict.fromkeys(("missing", "duplicate", "reordered", "damaged"), bins)
    place = {"partition": 1, "offset": 52_000, "expected": "e" * 5000, "found": "f" * 5000}
    count = 2000
    return full(
        partitions=[full()["partitions"][0] | {"partition": number} for number in range(count)],
        verdicts=[
            {"check": f"check{number}", "outcome": "FAIL", "meaning": "m" * 9000, "first": [place] * 100}
            for number in range(20)
        ],
        series={side: [[1000 + at, at % 977] for at in range(90_000)] for side in ("source", "target")},
        samples=[{"at": 1000 + at, "source": at, "target": at * 7 % 11} for at in range(90_000)],
        latency_ms={"histogram": [[upper, upper] for upper in range(1, 5000)]},
        trouble={
            "bins": 1000,
            "partitions": [{"partition": number, "records": 5000} | kinds for number in range(100)],
        },
        faults=[{"name": f"fault {number}", "from": 2000 + number, "to": 3000} for number in range(10)],
    )


def test_the_page_stays_small() -> None:
    source = render(parse(json.dumps(_large())))

    assert len(source.encode()) < 500_000
    assert "1,800 more partitions are in verdict.json." in Page(source).words


@pytest.mark.parametrize(
    ("outcome", "verdicts", "expected"),
    [
        ("PASS", {"loss": "PASS"}, "The only check passed."),
        ("PASS", {"loss": "PASS", "order": "PASS", "compaction": "n/a"}, "All 2 checks passed."),
        ("PASS", {}, "No check came to an answer: there was too little evidence to judge."),
        (
            "UNKNOWN",
            {"compaction": "n/a"},
            "No check came to an answer: there was too little evidence to judge.",
        ),
        ("FAIL", {"loss": "FAIL", "order": "PASS"}, "1 of 2 checks failed: loss. What loss found."),
        (
            "FAIL",
            {"loss": "FAIL", "order": "FAIL", "payload": "UNKNOWN"},
            "2 of 3 checks failed: loss, order. loss: What loss found.",
        ),
        (
            "UNKNOWN",
            {"loss": "UNKNOWN", "order": "PASS"},
            "1 of 2 checks could not judge, for lack of evidence: loss. What loss found.",
        ),
    ],
)
def test_the_sentence(outcome: str, verdicts: dict[str, str], expected: str) -> None:
    found = [
        {"check": check, "outcome": said, "meaning": f"What {check} found"}
        for check, said in verdicts.items()
    ]

    assert sentence(parse(json.dumps(bare(outcome=outcome, verdicts=found)))) == expected


def test_the_sentence_of_a_pass_counts_what_was_compared() -> None:
    data = full(outcome="PASS", verdicts=[{"check": "loss", "outcome": "PASS"}])

    assert (
        sentence(parse(json.dumps(data)))
        == "The only check passed: 3,993 records of the target were compared."
    )


def test_the_page_lies_beside_its_verdict(tmp_path: Path) -> None:
    verdict = tmp_path / "verdict-2.json"
    verdict.write_text(json.dumps(full()))

    assert write(verdict) == tmp_path / "verdict-2.html"
    assert write(verdict).read_text().startswith("<!doctype html>\n<html")


def test_a_verdict_that_is_not_there_leaves_no_page(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        write(tmp_path / "verdict.json")
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(json.dumps(bare()))
    (tmp_path / "verdict.html").mkdir()

    with pytest.raises(LabError, match=r'verdict.html" cannot be written: Is a directory$') as failed:
        write(tmp_path / "verdict.json")
    assert failed.value.hint == "is the folder yours?"
