"""The four plots: records per second, replication lag, latency, and where trouble lies.

A plot without data is one line that says what is missing, never an empty frame.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lab.verify.report import svg
from lab.verify.report.markup import Markup, el
from lab.verify.report.model import TROUBLES, Bucket, Report, Trouble, TroubledPartition
from lab.verify.report.scale import Scale, milliseconds, moment, number, per_bin, ticks, time_step
from lab.verify.report.svg import LEFT, RIGHT, Plot
from lab.words import counted

_HEIGHT: Final = 170
_POINTS: Final = 240  # more than a plot has room for, and little enough for a page that is mailed
_BARS: Final = 60
_SHORTEST_S: Final = 10
_BINS: Final = 100
_STRIPS: Final = 24
_LANE: Final = 10

_DID: Final = {
    "missing": "not in the target",
    "duplicate": "in the target more than once",
    "reordered": "behind a later record",
    "damaged": "with another payload or other headers",
    "foreign": "never in the source, by place on the target",
}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A plot with its heading, or the reason why there is none."""

    heading: str
    about: str = ""
    svg: Markup | None = None
    left_out: str = ""


def all_of(report: Report) -> list[Drawn]:
    drawings: tuple[Callable[[Report], Drawn], ...] = (rates, lag, latency, trouble)
    return [draw(report) for draw in drawings]


def rates(report: Report) -> Drawn:
    heading = "Records per second"
    span = _span(report)
    if span is None or not (report.series.source or report.series.target):
        return Drawn(heading=heading, left_out="no record with a time was read")
    begin, end = span
    width = time_step(end - begin, at_most=_POINTS)
    bins = max(math.ceil((end - begin) / width), 1)
    found = (("source", report.source, report.series.source), ("target", report.target, report.series.target))
    sides = {
        side: (label, [count / width for count in per_bin(points, begin, bins, width)])
        for side, label, points in found
        if points
    }
    highest = max(max(values) for _, values in sides.values())
    tops = ", ".join(f"{label} at most {number(max(values))}/s" for label, values in sides.values())
    about = f"{tops}; each point is the mean of {width:,} s" if width > 1 else tops
    plot = Plot(id="rates", title=heading, about=about)
    svg.legend(plot, "records/s", [(label, svg.sample_line(side)) for side, (label, _) in sides.items()])
    across, up = _time_frame(plot, report, (begin, end), (0, highest))
    for side, (_, values) in sides.items():
        at = [across.px(begin + (place + 0.5) * width) for place in range(bins)]
        plot.add(svg.line([(x, up.px(value)) for x, value in zip(at, values, strict=True)], side))
    return Drawn(heading=heading, about=about, svg=plot.svg())


def lag(report: Report) -> Drawn:
    heading = "Replication lag"
    span = _span(report, of_samples=True)
    if span is None or not report.samples:
        return Drawn(heading=heading, left_out="nobody sampled both sides while records were mirrored")
    if len(report.samples) == 1:
        (only,) = report.samples
        return Drawn(heading=heading, left_out=f"{number(only.lag)} at the only look, {moment(only.at)}")
    begin, end = span
    worst: dict[int, tuple[float, float]] = {}
    width = max((end - begin) / _POINTS, 1e-9)
    for sample in report.samples:  # the worst of what falls on one point: a peak must not be averaged away
        place = int((sample.at - begin) / width)
        if place not in worst or sample.lag > worst[place][1]:
            worst[place] = (sample.at, sample.lag)
    points = sorted(worst.values())
    lags = [value for _, value in points]
    last = max(report.samples, key=lambda sample: sample.at).lag
    about = (
        f"at most {number(max(lags))} records, {number(last)} at the last of {len(report.samples):,} samples"
    )
    if last > 0:
        about += "; counted by offsets, which markers of transactions take too"
    if min(lags) < 0:
        about += "; below zero the target has more records than the source"
    plot = Plot(id="lag", title=heading, about=about)
    entry = (f"{report.source} less {report.target}", svg.sample_line("lag"))
    svg.legend(plot, "records", [entry])
    across, up = _time_frame(plot, report, (begin, end), (min(0, *lags), max(0, *lags)))
    plot.add(svg.line([(across.px(at), up.px(value)) for at, value in points], "lag"))
    return Drawn(heading=heading, about=about, svg=plot.svg())


def latency(report: Report) -> Drawn:
    heading = "Latency"
    found = report.latency_ms
    buckets = _trimmed(found.histogram) if found else []
    if found is None or not buckets:
        return Drawn(heading=heading, left_out=_no_latency(report))
    marks = found.marks
    told = ", ".join(f"{name} {milliseconds(value)}" for name, value in marks)
    about = f"{number(sum(bucket.count for bucket in buckets))} records that the target stamped"
    about += f": {told}" if told else ""
    early = sum(bucket.count for bucket in buckets if bucket.upper_ms is not None and bucket.upper_ms < 0)
    about += f"; {number(early)} below zero, as the clocks of both sides differ" if early else ""
    plot = Plot(id="latency", title=heading, about=about)
    svg.legend(plot, "records", [(label, _percentile_line(name)) for name, label in _labels(marks)])
    up = svg.upward_axis(plot, ticks(0, max(bucket.count for bucket in buckets)), height=_HEIGHT)
    edges = svg.bars(plot, [b.count for b in buckets], up, titles=_bucket_titles(buckets))
    for name, value in marks:
        x = _place(value, buckets, edges)
        drawn = _percentile_line(name, height=_HEIGHT)
        plot.add(el("g", drawn, transform=f"translate({x:.1f} {up.last_px:.1f})"))
    svg.sideways_axis(plot, _edge_labels(buckets, edges), "from the source's time to the target's")
    return Drawn(heading=heading, about=about, svg=plot.svg())


def _no_latency(report: Report) -> str:
    """Why it is not known: the remote record's timestamp is usually that of the source."""
    if not any(partition.t_rows for partition in report.partitions):
        return "no record was found on the target"
    topic = f'topic "{report.remote}"' if report.remote else "the remote topic"
    return (
        "not known, as MM2 keeps the time that the producer gave; "
        f"{topic} tells it with message.timestamp.type=LogAppendTime"
    )


def trouble(report: Report) -> Drawn:
    heading = "Where trouble lies"
    if report.trouble is None or not report.trouble.partitions:
        return Drawn(heading=heading, left_out="records were not compared one by one")
    partitions = report.trouble.partitions
    troubled = [partition for partition in partitions if partition.total]
    lost_places = report.trouble.without_place
    if not troubled:
        if lost_places:
            return Drawn(heading=heading, left_out=f"nobody knows the place of {number(lost_places)} records")
        return Drawn(heading=heading, left_out=f"none in {counted(len(partitions), 'partition')}")
    kinds = [kind for kind in TROUBLES if any(sum(p.bins(kind)) for p in troubled)]
    totals = {kind: sum(sum(p.bins(kind)) for p in troubled) for kind in kinds}
    shown = sorted(sorted(troubled, key=lambda p: -p.total)[:_STRIPS], key=lambda p: p.partition)
    about = "; ".join(f"{number(totals[kind])} {kind} ({_DID[kind]})" for kind in kinds)
    about += f"; {_not_drawn(len(partitions), len(troubled), len(shown))}"
    about = about.removesuffix("; ")
    about += f"; {number(lost_places)} more have no known place" if lost_places else ""
    plot = Plot(id="trouble", title=heading, about=about)
    svg.legend(plot, "", [(kind, _sample_box(plot, kind)) for kind in kinds])
    for partition in shown:
        _strips(plot, partition, kinds, report.trouble)
    quarters = [(LEFT + (RIGHT - LEFT) * share / 100, f"{share} %") for share in (0, 25, 50, 75, 100)]
    svg.sideways_axis(plot, quarters, "place in the partition, from its first record to its last")
    return Drawn(heading=heading, about=plot.about, svg=plot.svg())


def _span(report: Report, *, of_samples: bool = False) -> tuple[float, float] | None:
    """One span of time for both time plots, so that faults stand at the same place.

    Samples that were taken only after the last record have a span of their own: neither plot would show
    anything of what it is about if it spanned the silence between.
    """
    seconds = [at for points in (report.series.source, report.series.target) for at, _ in points]
    records = (min(seconds), max(seconds) + 1) if seconds else None
    looks = [sample.at for sample in report.samples]
    samples = (min(looks), max(looks)) if looks else None
    apart = records and samples and samples[0] > records[1] + _SHORTEST_S
    spans = ([samples] if of_samples else [records]) if apart else [records, samples]
    known = [span for span in spans if span is not None]
    if not known:
        return None
    begins, ends = [begin for begin, _ in known], [end for _, end in known]
    if not (apart and of_samples):
        begins += [fault.begin for fault in report.faults]
        ends += [fault.begin if fault.end is None else fault.end for fault in report.faults]
    begin, end = math.floor(min(begins)), math.ceil(max(ends))
    # What took a second or two would be a point; with the silence around it, it is a peak.
    return (begin, end) if end - begin >= _SHORTEST_S else (begin - 1, begin - 1 + _SHORTEST_S)


def _time_frame(
    plot: Plot, report: Report, span: tuple[float, float], values: tuple[float, float]
) -> tuple[Scale, Scale]:
    """Fault spans, both axes, and the scales to draw with."""
    across = Scale(low=span[0], high=span[1], first_px=LEFT, last_px=RIGHT)
    within = [f for f in report.faults if f.begin <= span[1] and (f.end is None or f.end >= span[0])]
    svg.fault_spans(plot, within, across, height=_HEIGHT)
    up = svg.upward_axis(plot, ticks(*values), height=_HEIGHT)
    return svg.time_axis(plot, *span), up


def _trimmed(histogram: Sequence[Bucket]) -> list[Bucket]:
    """The buckets from the first to the last that holds anything, at most so many, neighbours added up."""
    filled = [place for place, bucket in enumerate(histogram) if bucket.count]
    if not filled:
        return []
    # One empty bucket before the first gives its lower bound.
    found = list(histogram[max(filled[0] - 1, 0) : filled[-1] + 1])
    group = math.ceil(len(found) / _BARS)
    groups = [found[at : at + group] for at in range(0, len(found), group)]
    return [Bucket(upper_ms=some[-1].upper_ms, count=sum(b.count for b in some)) for some in groups]


def _bound(bucket: Bucket) -> float | None:
    upper = bucket.upper_ms
    return upper if upper is not None and math.isfinite(upper) else None


def _bucket_titles(buckets: Sequence[Bucket]) -> list[str]:
    titles = []
    below = None
    for bucket in buckets:
        bound = _bound(bucket)
        until = "and more" if bound is None else f"to {milliseconds(bound)}"
        since = "" if below is None else f"{milliseconds(below)} "
        titles.append(f"{since}{until}: {bucket.count:,} records")
        below = bound
    return titles


def _edge_labels(buckets: Sequence[Bucket], edges: Sequence[float]) -> list[tuple[float, str]]:
    """The upper bounds of a few buckets, under their right edges."""
    every = math.ceil(len(buckets) / 6)
    bounds = [(edges[place + 1], _bound(bucket)) for place, bucket in enumerate(buckets)]
    return [(x, milliseconds(bound)) for x, bound in bounds[every - 1 :: every] if bound is not None]


def _place(value: float, buckets: Sequence[Bucket], edges: Sequence[float]) -> float:
    """Where a latency lies between the edges of its bucket."""
    below = 0.0
    for place, bucket in enumerate(buckets):
        bound = _bound(bucket)
        if bound is None:
            return edges[place + 1]
        if value <= bound:
            share = (value - below) / (bound - below) if bound > below else 1
            return edges[place] + max(share, 0) * (edges[place + 1] - edges[place])
        below = bound
    return edges[-1]


def _labels(marks: Sequence[tuple[str, float]]) -> list[tuple[str, str]]:
    return [(name, f"{name} {milliseconds(value)}") for name, value in marks]


def _percentile_line(name: str, *, height: float = 14) -> Markup:
    top = -7 if height < _HEIGHT else 0
    return el("line", x1=0, x2=0, y1=top, y2=top + height, class_=f"percentile {name}")


def _sample_box(plot: Plot, kind: str) -> Markup:
    return el("rect", x=-10, y=-7, width=20, height=13, fill=plot.pattern(kind), class_=f"trouble {kind}")


def _strips(plot: Plot, partition: TroubledPartition, kinds: Sequence[str], found: Trouble) -> None:
    """A partition's box, with one lane per kind that occurs anywhere."""
    height = len(kinds) * _LANE + 4
    parts = [el("rect", x=LEFT, y=plot.y, width=RIGHT - LEFT, height=height, class_="strip")]
    for lane, kind in enumerate(kinds):
        bins = _folded(partition.bins(kind))
        if any(bins):
            said = f"partition {partition.partition}: {sum(bins):,} {kind} of {partition.records:,} records"
            y = plot.y + 2 + lane * _LANE
            parts.append(svg.strip(plot, bins, kind, y=y, height=_LANE, said=said))
    parts.append(svg.text(LEFT - 6, plot.y + height / 2 + 4.5, f"p {partition.partition}", anchor="end"))
    plot.add(svg.grouped(parts, class_="partition"))
    plot.y += height + 6


def _folded(bins: Sequence[int]) -> list[int]:
    group = max(math.ceil(len(bins) / _BINS), 1)
    return [sum(bins[at : at + group]) for at in range(0, len(bins), group)]


def _not_drawn(all_of_them: int, troubled: int, shown: int) -> str:
    clean = all_of_them - troubled
    said = [f"{clean:,} clean partitions are left out"] if clean else []
    if troubled > shown:
        said.append(f"of {troubled:,} troubled partitions the worst {shown} are drawn")
    return ", ".join(said)
