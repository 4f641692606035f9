"""How `lab groups` tells what a switch would cost, and which options do not go together."""

import pytest

from lab.cli import groups
from lab.cli.program import exit_code
from lab.switching import Compared, Side, Switch

Captured = pytest.CaptureFixture[str]


def side(committed: int | None, *, end: int | None = 100, state: str = "empty") -> Side:
    return Side(cluster="b", state=state, topic="t", committed=committed, end=end)


def compared(target: Side, switch: Switch | None, starts_at: int | None) -> Compared:
    return Compared(
        group="app",
        partition=0,
        source=side(50),
        target=target,
        checkpoint=None,
        starts_at=starts_at,
        switch=switch,
    )


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (compared(side(40), Switch(again=1_200, skipped=0, exact=True), 40), "reads 1,200 again"),
        (compared(side(40), Switch(again=0, skipped=3, exact=True), 40), "skips 3 not read on the source"),
        (compared(side(40), Switch(again=0, skipped=0, exact=True), 40), "goes on exactly there"),
        (
            compared(side(40), Switch(again=4, skipped=5, exact=False), 40),
            "reads at most 4 again and skips at most 5 not read on the source",
        ),
        (compared(side(None), None, None), "starts where auto.offset.reset says"),
        (
            compared(side(None), Switch(again=2, skipped=0, exact=True), 40),
            "not synced yet; from its checkpoint: reads 2 again",
        ),
        (
            compared(side(40), Switch(again=None, skipped=None, exact=False, reason="gone"), 40),
            "not known: gone",
        ),
    ],
)
def test_what_a_switch_means_in_words(row: Compared, told: str) -> None:
    assert groups._row(row)[-1] == told


def test_a_row_has_both_sides_and_an_object_their_lags() -> None:
    row = compared(side(40, state="stable"), None, 40)

    assert groups._row(row)[:-1] == ("app", "t", 0, 50, 50, "empty", 40, 60, "stable")
    data = groups._data(row)
    assert (data["source"]["lag"], data["target"]["lag"], data["from_checkpoint"]) == (50, 60, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--compare", "--cluster", "b"], "--compare is about two clusters"),
        (["--source", "a"], "--source goes with --compare"),
    ],
)
def test_options_that_do_not_go_together_are_bad_input(
    capsys: Captured, options: list[str], message: str
) -> None:
    assert exit_code(["groups", *options]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}\n")
