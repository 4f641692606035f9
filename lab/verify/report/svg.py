"""Pieces of a plot: the frame with axes, lines, bars, fault spans, patterns and the legend.

No plotting package: the page must be self-contained and small, follow light and dark by itself, and name
its parts for a screen reader; that is less code than to bend another's SVG into it. Colours are classes
of page.css, and each of them comes with a dash, a marker or a pattern for eyes that cannot tell them apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lab.verify.report.markup import NOTHING, Markup, el, join, words
from lab.verify.report.model import FaultSpan
from lab.verify.report.scale import Scale, moment, number, time_ticks

WIDTH: Final = 520  # two plots side by side on a screen; one on a phone, with letters of 10 px
LEFT: Final = 62
RIGHT: Final = WIDTH - 22
_LETTER: Final = 8.6  # a letter's width at most, in the widest font that page.css names
_ROW: Final = 18


@dataclass(kw_only=True)
class Plot:
    """One drawing that grows downward: `y` is where the next part begins."""

    id: str
    title: str
    about: str
    y: float = 0
    parts: list[Markup] = field(default_factory=list)

    def add(self, *parts: Markup) -> None:
        self.parts.extend(parts)

    def svg(self) -> Markup:
        """The drawing; its title and description are what a screen reader says."""
        return el(
            "svg",
            el("title", words(self.title), id=f"{self.id}-title"),
            el("desc", words(self.about), id=f"{self.id}-about"),
            el("defs", *_patterns(self.id)),
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {self.y:.0f}",
            role="img",
            aria_labelledby=f"{self.id}-title",
            aria_describedby=f"{self.id}-about",
        )

    def pattern(self, name: str) -> str:
        return f"url(#{self.id}-{name})"


def _patterns(prefix: str) -> list[Markup]:
    """Hatching for what colour alone must not tell: kinds of trouble, and faults."""

    def tile(name: str, size: int, *shapes: Markup) -> Markup:
        fill = el("rect", width=size, height=size, class_=f"{name}-ground")
        return el(
            "pattern",
            fill,
            *shapes,
            id=f"{prefix}-{name}",
            width=size,
            height=size,
            patternUnits="userSpaceOnUse",
        )

    stroke = {"class_": "tile", "fill": "none"}
    return [
        tile("missing", 6),
        tile("duplicate", 6, el("path", d="M-1 1L1 -1M0 6L6 0M5 7L7 5", **stroke)),
        tile("reordered", 6, el("circle", cx=3, cy=3, r=1.5, class_="dot")),
        tile("damaged", 6, el("path", d="M0 0L6 6M6 0L0 6", **stroke)),
        tile("foreign", 6, el("path", d="M0 3L6 3", **stroke)),
        tile("fault", 8, el("path", d="M-1 1L1 -1M0 8L8 0M7 9L9 7", class_="fault-line", fill="none")),
    ]


def text(x: float, y: float, content: str, *, anchor: str = "start", class_: str | None = None) -> Markup:
    return el("text", words(content), x=x, y=y, text_anchor=anchor, class_=class_)


def width_of(content: str) -> float:
    return len(content) * _LETTER


def legend(plot: Plot, unit: str, entries: Sequence[tuple[str, Markup]]) -> None:
    """The first rows: the unit of the upward axis, then a sample (drawn around 0, 0) and a word per entry."""
    x, y = width_of(unit) + 22.0 if unit else 8.0, plot.y + 14
    if unit:
        plot.add(text(0, y, unit, class_="unit"))
    for label, sample in entries:
        needed = width_of(label) + 40
        if x + needed > WIDTH and x > LEFT:
            x, y = 8.0, y + _ROW
        plot.add(el("g", sample, transform=f"translate({x + 10:.0f} {y - 4:.0f})"), text(x + 26, y, label))
        x += needed
    plot.y = y + 12


def upward_axis(plot: Plot, marks: Sequence[float], *, height: float) -> Scale:
    """Lines with numbers at the ticks; the plot goes on below, by the height."""
    scale = Scale(low=marks[0], high=marks[-1], first_px=plot.y + height, last_px=plot.y)
    for value in marks:
        y = scale.px(value)
        plot.add(el("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="axis" if value == 0 else "grid"))
        plot.add(text(LEFT - 6, y + 4.5, number(value), anchor="end"))
    plot.y += height
    return scale


def time_axis(plot: Plot, begin: float, end: float) -> Scale:
    """Ticks below the plot, counted from its first second; the caption says when that was."""
    scale = Scale(low=0, high=end - begin, first_px=LEFT, last_px=RIGHT)
    marks = [(scale.px(value), label) for value, label in time_ticks(end - begin)]
    sideways_axis(plot, marks, f"time since {moment(begin)}")
    return Scale(low=begin, high=end, first_px=LEFT, last_px=RIGHT)


def sideways_axis(plot: Plot, marks: Sequence[tuple[float, str]], caption: str) -> None:
    for x, label in marks:
        room = width_of(label) / 2
        anchor = "end" if x + room > WIDTH else "middle"
        plot.add(el("line", x1=x, x2=x, y1=plot.y, y2=plot.y + 5, class_="axis"))
        plot.add(text(x, plot.y + 19, label, anchor=anchor))
    plot.add(text((LEFT + RIGHT) / 2, plot.y + 38, caption, anchor="middle", class_="unit"))
    plot.y += 46


def line(points: Sequence[tuple[float, float]], side: str) -> Markup:
    """A line through pixels, with the side's marker where it ends."""
    if not points:
        return NOTHING
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return el("g", el("path", d=path, class_=f"line {side}", fill="none"), marker(*points[-1], side))


def marker(x: float, y: float, side: str) -> Markup:
    """A disc for the source, a square for the target, a diamond for what is between them."""
    if side == "target":
        return el("rect", x=x - 3.5, y=y - 3.5, width=7, height=7, class_=f"mark {side}")
    if side == "lag":
        path = f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"
        return el("path", d=path, class_=f"mark {side}")
    # Larger than the square: a ring shows when both stand at one place.
    return el("circle", cx=x, cy=y, r=5.5, class_=f"mark {side}")


def sample_line(side: str) -> Markup:
    return line([(-10, 0), (10, 0)], side)


def fault_rows(faults: Sequence[FaultSpan], scale: Scale) -> tuple[list[tuple[FaultSpan, int]], int]:
    """Each fault with the row for its name, so that names do not cover each other, and the number of rows."""
    ends: list[float] = []
    placed = []
    for fault in sorted(faults, key=lambda fault: fault.begin):
        begin = min(scale.px(fault.begin), RIGHT - _name_width(fault))
        row = next((number for number, end in enumerate(ends) if end <= begin), len(ends))
        ends[row : row + 1] = [begin + _name_width(fault) + 8]
        placed.append((fault, row))
    return placed, len(ends)


def fault_spans(plot: Plot, faults: Sequence[FaultSpan], scale: Scale, *, height: float) -> None:
    """Hatched spans over the time that follows, each under its name; drawn before what they lie behind."""
    placed, rows = fault_rows(faults, scale)
    bottom = plot.y + rows * _ROW + height
    for fault, row in placed:
        begin = scale.px(fault.begin)
        end = max(scale.px(scale.high if fault.end is None else fault.end), begin + 2)
        top = plot.y + row * _ROW
        until = "the end" if fault.end is None else moment(fault.end)
        said = el("title", words(f"fault {fault.name}: {moment(fault.begin)} to {until}"))
        span = el(
            "rect",
            x=begin,
            y=top + 2,
            width=end - begin,
            height=bottom - top - 2,
            fill=plot.pattern("fault"),
            class_="fault",
        )
        label_x = max(min(begin + 4, RIGHT - _name_width(fault)), 0)
        plot.add(
            el("g", said, span, text(label_x, top + 14, _short_name(fault), class_="fault-name")),
        )
    plot.y += rows * _ROW


def _short_name(fault: FaultSpan) -> str:
    return fault.name if len(fault.name) <= 32 else f"{fault.name[:31]}…"


def _name_width(fault: FaultSpan) -> float:
    return width_of(_short_name(fault))


def bars(plot: Plot, values: Sequence[float], scale: Scale, *, titles: Sequence[str]) -> list[float]:
    """Bars side by side over the whole width; gives the pixels of their edges, one more than bars."""
    width = (RIGHT - LEFT) / len(values)
    edges = [LEFT + width * number for number in range(len(values) + 1)]
    gap = min(2.0, width / 4)
    for left, value, said in zip(edges, values, titles, strict=False):
        if value:
            top = min(scale.px(value), scale.first_px - 1)
            box = {"x": left + gap / 2, "y": top, "width": width - gap, "height": scale.first_px - top}
            plot.add(el("rect", el("title", words(said)), class_="bar", **box))
    return edges


def strip(plot: Plot, bins: Sequence[int], kind: str, *, y: float, height: float, said: str) -> Markup:
    """One kind of trouble in one partition: a single path, however many places there are."""
    width = (RIGHT - LEFT) / len(bins)
    runs: list[tuple[int, int]] = []
    for number_, count in enumerate(bins):
        if count and runs and runs[-1][1] == number_:
            runs[-1] = (runs[-1][0], number_ + 1)
        elif count:
            runs.append((number_, number_ + 1))
    boxes = []
    for begin, end in runs:
        wide = max((end - begin) * width, 3)
        boxes.append(f"M{LEFT + begin * width:.1f} {y:.1f}h{wide:.1f}v{height:.0f}h-{wide:.1f}z")
    title = el("title", words(said))
    return el("path", title, d="".join(boxes), fill=plot.pattern(kind), class_=f"trouble {kind}")


def grouped(parts: list[Markup], **attributes: object) -> Markup:
    return el("g", join(parts), **attributes)
