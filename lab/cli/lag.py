"""lag: how many records of the mirrored topics are not on the target yet, once or live."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from lab.cli import console
from lab.cli.options import Json, Name, seconds
from lab.errors import BadInput, Interrupted
from lab.harness import Lab
from lab.kafka import ClusterError
from lab.lag import LagWatcher, Sample, watchers
from lab.mm2_renaming import require_known_names
from lab.run import Run
from lab.wait import every
from lab.words import counted

_ONCE_PATIENCE_S: Final = 30.0  # who asks once wants to have a backlog counted
_BARS: Final = "▁▂▃▄▅▆▇█"
_SHOWN: Final = 60  # samples in the sparkline


def register(app: typer.Typer) -> None:
    app.command("lag")(lag)


def lag(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="The topic, by its name in the source cluster; all mirrored ones if not given.",
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Again and again, until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option(min=0.1, max=3_600, metavar="SECONDS", help="With --watch: between two samples.")
    ] = 1.0,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="With --watch: for how long, e.g. 30s.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ALIAS", help="Only from this source; from all if not given."),
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Show how many records the target lacks, per partition, and how old the oldest of them is."""
    if duration is not None and not watch:
        raise BadInput("--for needs --watch", "without it there is one sample")
    if watch and json and duration is None:
        raise BadInput("--watch with --json needs --for", "e.g. --for 30s: the one object comes at the end")
    for_s = None if duration is None else seconds(duration)
    lab = Lab.attach(name)
    with ExitStack() as stack:
        found = [stack.enter_context(watcher) for watcher in _watchers(lab, topic, cluster)]
        if watch:
            _watch(lab, found, topic, interval_s=interval, for_s=for_s, as_json=json)
        else:
            moment = _moment(found, patience_s=_ONCE_PATIENCE_S)
            console.show(moment.data, as_json=json, text=lambda: console.results.print(_table(moment)))


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The samples of all partitions at one time, and their sum."""

    at: float
    partitions: tuple[Sample, ...]

    @property
    def lag(self) -> int | None:
        """None when that of any partition is not known."""
        lags = [sample.lag for sample in self.partitions if sample.lag is not None]
        return sum(lags) if len(lags) == len(self.partitions) else None

    @property
    def exact(self) -> bool:
        return all(sample.exact for sample in self.partitions)

    @property
    def oldest_s(self) -> float:
        return max((sample.oldest_unmirrored_age_s or 0.0 for sample in self.partitions), default=0.0)

    @property
    def data(self) -> dict[str, Any]:
        return {"at": self.at, "lag": self.lag, "exact": self.exact, "partitions": self.partitions}

    @property
    def both_sides(self) -> dict[str, float] | None:
        """For the plot of a report: how far both sides are. Nothing when that is not known."""
        reached = [s.mirrored_to for s in self.partitions if s.mirrored_to is not None]
        if len(reached) < len(self.partitions):
            return None
        ends = sum(sample.source_end for sample in self.partitions)
        return {"at": self.at, "source": ends, "target": sum(reached)}


def _watchers(lab: Lab, topic: str | None, cluster: str | None = None) -> list[LagWatcher]:
    if cluster is not None:
        lab.cluster(cluster)  # what the lab has not is told before anybody is asked
    deployed = lab.deployed()
    if topic is not None:
        source, _ = lab.ends(lab.flows.mirroring_from(topic, source=cluster, among=deployed)[0])
        if not source.has_topic(topic):
            raise BadInput(f'cluster "{source.alias}" has no topic "{topic}"', '"lab topics" lists them')
    connectors = [c for c in deployed if cluster in (None, lab.aliases_of(c)[0])]
    require_known_names(c for c in connectors if topic is None or c.mirrors(topic, kafka_4=lab.kafka_4))
    found = watchers(connectors, lab.ends, topic=topic, kafka_4=lab.kafka_4)
    if not found:
        what = "any topic that is there" if topic is None else f'topic "{topic}"'
        raise BadInput(f"no deployed connector mirrors {what}", '"lab mm2 deploy" deploys one')
    return found


def _moment(found: Sequence[LagWatcher], *, patience_s: float | None = None) -> Moment:
    at = time.time()
    samples: list[Sample] = []
    for watcher in found:
        samples += watcher.sample() if patience_s is None else watcher.sample(patience_s=patience_s)
    return Moment(at=at, partitions=tuple(samples))


# -- again and again ---------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Watched:
    """What was sampled, kept in the run while it goes on."""

    run: Run
    moments: list[Moment] = field(default_factory=list)
    sides: list[dict[str, float]] = field(default_factory=list)
    keep: bool = False  # also the single partitions, for the one object at the end

    def add(self, moment: Moment) -> None:
        self.moments = [*self.moments, moment] if self.keep else [*self.moments[-_SHOWN:], moment]
        if (sides := moment.both_sides) is not None:
            self.sides.append(sides)
            if len(self.sides) % max(1, len(self.sides) // 100) == 0:  # the file is written as a whole
                self.save()

    def save(self) -> None:
        self.run.save("samples.json", list(self.sides))


def _watch(
    lab: Lab,
    found: Sequence[LagWatcher],
    topic: str | None,
    *,
    interval_s: float,
    for_s: float | None,
    as_json: bool,
) -> None:
    run = Run.open(f"lag-{topic or 'all'}", topology=lab.topology.name, lab=lab.name, topic=topic)
    watched = _Watched(run=run, keep=as_json)
    outcome = "failed"
    try:
        with nullcontext(_nothing) if as_json else _screen() as show:
            for moment in _moments(found, interval_s, for_s):
                watched.add(moment)
                show(watched.moments)
        outcome = "watched"
    except KeyboardInterrupt:
        outcome = "interrupted"
        raise Interrupted("watching was interrupted", f"the samples are in {run.path}") from None
    finally:
        watched.save()
        run.close(outcome, samples=len(watched.sides))
    data = {"samples": [moment.data for moment in watched.moments], "run": str(run.path)}
    console.show(data, as_json=as_json, text=lambda: console.line(f"samples: {run.path}/samples.json"))


def _moments(found: Sequence[LagWatcher], interval_s: float, for_s: float | None) -> Iterator[Moment]:
    """A sample at once and then at every interval. A cluster that is away for a while is waited for."""
    for number in every(interval_s, for_s=for_s):
        try:
            yield _moment(found)
        except ClusterError as error:
            if not number:
                raise
            console.complain(error, as_json=False)


Show = Callable[[Sequence[Moment]], None]


def _nothing(_: Sequence[Moment]) -> None:
    """The one object comes at the end."""


@contextmanager
def _screen() -> Iterator[Show]:
    """On a terminal one table that is drawn anew, elsewhere a line per sample."""
    if not console.results.is_terminal:
        yield lambda moments: console.line(_line(moments[-1]))
        return
    with Live(console=console.results, auto_refresh=False) as live:
        yield lambda moments: live.update(
            Group(_table(moments[-1]), f"\nlag  {_sparkline([m.lag for m in moments[-_SHOWN:]])}"),
            refresh=True,
        )


def _line(moment: Moment) -> str:
    clock = datetime.fromtimestamp(moment.at, UTC).strftime("%H:%M:%SZ")
    where = counted(len(moment.partitions), "partition")
    told = f"{clock}  lag {_lag(moment.lag, exact=moment.exact)} in {where}"
    return told + (f", oldest {moment.oldest_s:.1f} s" if moment.lag != 0 else "")


def _table(moment: Moment) -> Table:
    grid = Table(title="Lag", title_justify="left", title_style="bold", box=None, pad_edge=False)
    grid.add_column("topic", overflow="fold")
    for column in ("partition", "source end", "mirrored to", "lag", "oldest", "on arrival"):
        grid.add_column(column, justify="right")
    grid.add_column("", style="dim", overflow="fold")
    for s in moment.partitions:
        grid.add_row(
            escape(s.topic),
            str(s.partition),
            f"{s.source_end:,}",
            "?" if s.mirrored_to is None else f"{s.mirrored_to:,}",
            _lag(s.lag, exact=s.exact),
            _age(s.oldest_unmirrored_age_s),
            _age(s.arrival_s),
            escape(s.reason),
        )
    ends = sum(sample.source_end for sample in moment.partitions)
    sides = moment.both_sides
    reached = "?" if sides is None else f"{sides['target']:,}"
    total = _lag(moment.lag, exact=moment.exact)
    grid.add_row("total", "", f"{ends:,}", reached, total, _age(moment.oldest_s), "", "", style="bold")
    return grid


def _lag(lag: int | None, *, exact: bool) -> str:
    if lag is None:
        return "?"
    return f"{lag:,}" if exact else f"≤ {lag:,}"


def _age(age_s: float | None) -> str:
    if age_s is None:
        return console.UNKNOWN
    return f"{age_s:.1f} s" if age_s < 120 else f"{age_s / 60:,.0f} min"


def _sparkline(lags: Sequence[int | None]) -> str:
    """One bar per sample, as high as the lag is beside the largest; a blank where it is not known."""
    largest = max((lag for lag in lags if lag is not None), default=0)
    return "".join(
        " " if lag is None else _BARS[-(-lag * (len(_BARS) - 1) // largest) if largest else 0] for lag in lags
    )
