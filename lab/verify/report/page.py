"""The page: the answer in one sentence, then the checks, the plots, and the facts to repeat it with."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lab.errors import LabError
from lab.verify.report import plots
from lab.verify.report.markup import NOTHING, Markup, el, join, words
from lab.verify.report.model import CheckVerdict, Report, read
from lab.verify.verdict import Outcome

_STYLE: Final = Path(__file__).with_name("page.css")
_ICONS: Final = {Outcome.PASS: "✓", Outcome.FAIL: "✗", Outcome.UNKNOWN: "?", Outcome.NOT_APPLICABLE: "·"}
_CLASSES: Final = {Outcome.PASS: "pass", Outcome.FAIL: "fail", Outcome.UNKNOWN: "unknown"}
_WORST_FIRST: Final = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.PASS, Outcome.NOT_APPLICABLE)

# The page stays below 500 kB whatever was found; verdict.json holds all of it.
_COORDINATES: Final = 20
_PARTITIONS: Final = 200
_LETTERS: Final = 300


def write(verdict: Path) -> Path:
    """The page of a `verdict.json`, written beside it under the same name."""
    page = verdict.with_suffix(".html")
    content = render(read(verdict))
    try:
        page.write_text(content, encoding="utf-8")
    except OSError as error:
        raise LabError(f'"{page}" cannot be written: {error.strerror}', "is the folder yours?") from error
    return page


def render(report: Report) -> str:
    flow = f"{report.topic} → {report.remote}" if report.remote else report.topic
    head = el(
        "head",
        el("meta", charset="utf-8"),
        # Whatever a record holds, the page loads nothing and runs nothing.
        el(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", words(f"{report.outcome}: {flow}")),
        Markup(f"<style>\n{_STYLE.read_text(encoding='utf-8')}</style>"),
    )
    main = el("main", _checks(report.verdicts), _plots(report), _facts(report))
    body = el("body", _headline(report, flow), main)
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _headline(report: Report, flow: str) -> Markup:
    return el(
        "header",
        el("h1", _outcome(report.outcome), Markup(" "), words(flow, at_most=_LETTERS)),
        el("p", words(sentence(report), at_most=4 * _LETTERS)),
        class_=_CLASSES.get(report.outcome, "none"),
    )


def sentence(report: Report) -> str:
    """The verdict for somebody who reads nothing else."""
    found = [verdict for verdict in report.verdicts if verdict.outcome is report.outcome]
    applied = [verdict for verdict in report.verdicts if verdict.outcome is not Outcome.NOT_APPLICABLE]
    if not found or not applied:
        return "No check came to an answer: there was too little evidence to judge."
    if report.outcome is Outcome.PASS:
        rows = sum(partition.t_rows or 0 for partition in report.partitions)
        seen = f": {rows:,} records of the target were compared" if rows else ""
        return f"{_some_of(len(found), len(applied))} passed{seen}."
    verb = "failed" if report.outcome is Outcome.FAIL else "could not judge, for lack of evidence"
    names = ", ".join(verdict.check for verdict in found)
    which = f"{found[0].check}: " if len(found) > 1 else ""
    meaning = f" {which}{found[0].meaning.rstrip('.')}." if found[0].meaning else ""
    return f"{_some_of(len(found), len(applied))} {verb}: {names}.{meaning}"


def _some_of(count: int, applied: int) -> str:
    if applied == 1:
        return "The only check"
    return f"All {applied} checks" if count == applied else f"{count} of {applied} checks"


def _outcome(outcome: Outcome) -> Markup:
    icon = el("span", words(_ICONS[outcome]), class_="icon", aria_hidden="true")
    return el("span", icon, words(f" {outcome}"), class_=f"outcome {_CLASSES.get(outcome, 'none')}")


def _checks(verdicts: Sequence[CheckVerdict]) -> Markup:
    """What needs a look stands on top; within an outcome the order is the verification's."""
    if not verdicts:
        return _section("Checks", el("p", words("No check was made."), class_="soft"))
    ordered = sorted(verdicts, key=lambda verdict: _WORST_FIRST.index(verdict.outcome))
    head = el(
        "tr", *(el("th", words(name), scope="col") for name in ("verdict", "check", "counts", "meaning"))
    )
    rows = [
        el(
            "tr",
            el("td", _outcome(verdict.outcome)),
            el("th", words(verdict.check, at_most=_LETTERS), scope="row"),
            el("td", _counts(verdict), class_="counts"),
            el("td", words(verdict.meaning, at_most=4 * _LETTERS), _first(verdict)),
        )
        for verdict in ordered
    ]
    return _section("Checks", el("table", el("thead", head), el("tbody", *rows), class_="checks"))


def _counts(verdict: CheckVerdict) -> Markup:
    counts = list(verdict.counts.items())[:_COORDINATES]
    shown = [
        el(
            "span",
            words(f"{name.replace('_', ' ')} {value:,}", at_most=_LETTERS),
            class_=None if value else "zero",
        )
        for name, value in counts
    ]
    return join(shown, " ")


def _first(verdict: CheckVerdict) -> Markup:
    """Where the first trouble lies; open where it is what one came for."""
    if not verdict.first:
        return NOTHING
    shown = [
        ", ".join(f"{name} {value}" for name, value in place.items())
        for place in verdict.first[:_COORDINATES]
    ]
    lines = [el("li", el("code", words(place, at_most=_LETTERS))) for place in shown]
    summary = "the first" if len(shown) == 1 else f"the first {len(shown)}"
    is_open = "" if verdict.outcome is Outcome.FAIL and len(shown) <= 5 else None
    return el("details", el("summary", words(summary)), el("ul", *lines), open=is_open)


def _plots(report: Report) -> Markup:
    drawings = plots.all_of(report)
    figures = [
        el(
            "figure",
            el("figcaption", el("h3", words(drawn.heading)), el("p", words(drawn.about, at_most=_LETTERS))),
            drawn.svg,
        )
        for drawn in drawings
        if drawn.svg is not None
    ]
    absent = [
        el("li", words(f"{drawn.heading}: {drawn.left_out}.")) for drawn in drawings if drawn.svg is None
    ]
    return _section(
        "Plots",
        el("div", *figures, class_="plots") if figures else NOTHING,
        el("ul", *absent, class_="absent") if absent else NOTHING,
    )


def _facts(report: Report) -> Markup:
    facts = [
        ("lab", " · ".join(part for part in (report.lab, report.topology) if part)),
        ("topic", f"{report.topic} on {report.source}"),
        ("remote topic", f"{report.remote} on {report.target}" if report.remote else ""),
        ("offsets frozen at", _moment(report.frozen_at)),
        ("Kafka", report.kafka),
        *sorted((name, value) for name, value in report.versions.items()),
        ("commit", report.commit),
        ("run", report.run),
        ("faults", ", ".join(fault.name for fault in report.faults)),
    ]
    listed = [
        el("dt", words(name)) + el("dd", words(value, at_most=4 * _LETTERS)) for name, value in facts if value
    ]
    return _section(
        "Facts",
        el("dl", *(Markup(pair) for pair in listed)),
        _partitions(report),
        _stages(report),
    )


def _partitions(report: Report) -> Markup:
    if not report.partitions:
        return el("p", words("No partition was read."), class_="soft")
    sides = (report.source, report.target)
    columns = ["partition", *(f"{side} {what}" for side in sides for what in ("start", "end", "rows"))]
    rows = [
        _row("td", [p.partition, p.s_start, p.s_end, p.s_rows, p.t_start, p.t_end, p.t_rows])
        for p in report.partitions[:_PARTITIONS]
    ]
    s_rows = sum(p.s_rows or 0 for p in report.partitions)
    t_rows = sum(p.t_rows or 0 for p in report.partitions)
    total = _row("th", ["all", "", "", s_rows, "", "", t_rows])
    left_off = len(report.partitions) - len(rows)
    more = f"{left_off:,} more partitions are in verdict.json." if left_off else ""
    grid = el(
        "table", el("thead", _row("th", columns)), el("tbody", *rows), el("tfoot", total), class_="offsets"
    )
    return el(
        "div",
        el("h3", words("Offsets and rows per partition")),
        el("div", grid, class_="wide", tabindex=0, role="group", aria_label="offsets and rows per partition"),
        el("p", words(more), class_="soft") if more else NOTHING,
    )


def _stages(report: Report) -> Markup:
    if not report.stages:
        return NOTHING
    rows = [_row("td", [stage.name, f"{stage.seconds:,.1f} s"]) for stage in report.stages]
    total = _row("th", ["all", f"{sum(stage.seconds for stage in report.stages):,.1f} s"])
    grid = el("table", el("thead", _row("th", ["stage", "took"])), el("tbody", *rows), el("tfoot", total))
    return el("div", el("h3", words("Stages")), grid, class_="stages")


def _row(cell: str, values: Sequence[object]) -> Markup:
    """A name on the left, and numbers, with their headings, on the right."""
    cells = []
    for place, value in enumerate(values):
        shown = "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
        cells.append(
            el(
                cell,
                words(shown, at_most=_LETTERS),
                class_="number" if place else None,
                scope="col" if cell == "th" else None,
            )
        )
    return el("tr", *cells)


def _section(heading: str, *content: Markup) -> Markup:
    return el("section", el("h2", words(heading)), *content)


def _moment(iso: str) -> str:
    """An ISO time in UTC for people; anything else as it stands."""
    try:
        found = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{found.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if found.tzinfo else iso
