"""bench: figures measured side by side in one run, as ratios."""

from typing import Annotated, Final

import typer

from lab.bench import BENCHMARKS, Effort, measure
from lab.cli import console
from lab.cli.options import Json
from lab.errors import BadInput, nearest

_COMPARED: Final = {
    "up": "plain Compose",
    "deploy": "plain PUTs",
    "produce": "a producer without ledger",
    "verify": "sets in Python, sort and comm",
    "tls": "PLAINTEXT",
}
_WHAT: Final = "; ".join(f"{what}: against {_COMPARED[what]}" for what in BENCHMARKS) + "."


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=_WHAT)],
    rounds: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Rounds of each contestant.")] = 5,
    records: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Records of a round, where the benchmark has some."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare what the lab does with another way, turn by turn, in a lab that it starts and removes."""
    if what not in BENCHMARKS:
        raise BadInput(f'no benchmark named "{what}"', nearest(what, list(BENCHMARKS)))
    with console.step(console.Steps(), f"bench {what}") as say:
        measured = measure(what, Effort(rounds=rounds, records=records), say)
    data = {
        "title": measured.title,
        "ratio": round(measured.ratio, 3),
        "ours": measured.ours,
        "theirs": measured.theirs,
        "median_s": {name: round(measured.median_s(name), 3) for name in measured.seconds},
        "seconds": measured.seconds,
        **measured.also,
    }

    def text() -> None:
        rows = [
            (name, f"{measured.median_s(name):.1f}", f"{min(all_):.1f}", f"{max(all_):.1f}", len(all_))
            for name, all_ in measured.seconds.items()
        ]
        console.table(
            measured.title, ("contestant", "median s", "best", "worst", "rounds"), rows, empty="no rounds"
        )
        console.line(f"\nratio of medians, {measured.ours} / {measured.theirs}: {measured.ratio:.2f}")
        for what_else, value in measured.also.items():
            console.line(f"{what_else}: {value:.1f}")

    console.show(data, as_json=json, text=text)
