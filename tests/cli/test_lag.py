"""What of `lab lag` needs no cluster: its options, its words, its bars."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.cli import lag
from lab.cli.lag import Moment
from lab.cli.program import exit_code
from lab.errors import BadInput
from lab.harness import Lab
from lab.lag import Sample
from lab.run import Run

Captured = pytest.CaptureFixture[str]


def sample(partition: int, lag: int | None, *, exact: bool = True, age_s: float = 0.0) -> Sample:
    return Sample(
        at=1.0,
        topic="orders",
        partition=partition,
        source_end=100,
        mirrored_to=None if lag is None else 100 - lag,
        lag=lag,
        exact=exact,
        oldest_unmirrored_age_s=age_s,
    )


def moment(*lags: int | None, exact: bool = True) -> Moment:
    return Moment(at=1.0, partitions=tuple(sample(p, n, exact=exact) for p, n in enumerate(lags)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--for", "3s"], "--for needs --watch"),
        (["--watch", "--for", "0s"], '"0s" is not a duration'),
    ],
)
def test_options_that_do_not_go_together_are_bad_input(
    capsys: Captured, options: list[str], message: str
) -> None:
    assert exit_code(["lag", *options]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}\n")


def test_a_watch_as_json_has_an_end(capsys: Captured) -> None:
    assert exit_code(["lag", "--watch", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "--watch with --json needs --for"


def test_a_moment_sums_its_partitions() -> None:
    assert moment(1, 0, 6).lag == 7
    assert moment(1, None).lag is None
    assert moment(1, 2).both_sides == {"at": 1.0, "source": 200, "target": 197}
    assert moment(1, None).both_sides is None
    assert moment(1, exact=False).exact is False


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (moment(1_200, 34), "00:00:01Z  lag 1,234 in 2 partitions, oldest 0.0 s"),
        (moment(0), "00:00:01Z  lag 0 in 1 partition"),
        (moment(5, exact=False), "00:00:01Z  lag ≤ 5 in 1 partition, oldest 0.0 s"),
        (moment(None), "00:00:01Z  lag ? in 1 partition, oldest 0.0 s"),
    ],
)
def test_a_sample_is_a_line(shown: Moment, line: str) -> None:
    assert lag._line(shown) == line


@pytest.mark.parametrize(
    ("lags", "bars"),
    [([], ""), ([0, 0], "▁▁"), ([0, 7, 14], "▁▅█"), ([1, 1_000_000], "▂█"), ([5, None, 5], "█ █")],
)
def test_bars_are_as_high_as_the_lag(lags: list[int | None], bars: str) -> None:
    assert lag._sparkline(lags) == bars


def test_a_watch_keeps_both_sides_in_its_run(tmp_path: Path) -> None:
    watched = lag._Watched(run=Run.open("lag-orders"))
    for lags in ((3,), (None,), (0,)):
        watched.add(moment(*lags))
    watched.save()

    kept = json.loads((watched.run.path / "samples.json").read_text())
    assert kept == [{"at": 1.0, "source": 100, "target": 97}, {"at": 1.0, "source": 100, "target": 100}]


def test_a_cluster_that_is_not_there_is_told_before_connect_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def cluster(alias: str) -> None:
        raise BadInput(f'no cluster "{alias}"')

    monkeypatch.setattr(Lab, "attach", lambda _: SimpleNamespace(cluster=cluster))

    assert exit_code(["lag", "--cluster", "nope"]) == 2
    assert capsys.readouterr().err.startswith('error: no cluster "nope"\n')
