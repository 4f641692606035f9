"""How the lab talks: steps and errors to stderr, results to stdout, as text or as one JSON object."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from typing import Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TextColumn
from rich.status import Status
from rich.table import Table

from lab.errors import LabError

UNKNOWN: Final = "–"  # noqa: RUF001 - a dash for people, where a number is not known
_PIPE_WIDTH: Final = 160  # without a terminal Rich would fold tables at 80 columns

# Rich reads NO_COLOR, TERM=dumb and whether the stream is a terminal by itself.
talk: Final = Console(stderr=True, highlight=False)
results: Final = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


class Steps:
    """One line per step: a spinner while it runs on a terminal, then a tick and its seconds."""

    def __init__(self, console: Console = talk) -> None:
        self._console = console
        self._spinner: Status | None = None

    def started(self, step: str) -> None:
        if self._console.is_terminal:
            self._spinner = self._console.status(escape(step))
            self._spinner.start()
        else:
            self._console.print(f"… {step}", markup=False, soft_wrap=True)

    def said(self, step: str, text: str) -> None:
        if self._spinner is not None:
            self._spinner.update(f"{escape(step)} [dim]{escape(text[:80])}[/dim]")

    def ended(self, step: str, seconds: float, *, failed: bool, note: str) -> None:
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None
        mark = "[red]✗[/red]" if failed else "[green]✓[/green]"
        extra = f" [dim]{escape(note)}[/dim]" if note else ""
        self._console.print(f"{mark} {escape(step)} [dim]{seconds:.1f} s[/dim]{extra}", soft_wrap=True)


@contextmanager
def step(steps: Steps, name: str) -> Iterator[Callable[[str], None]]:
    """A step of a command that leaves no run behind; gives what says how far it is."""
    begin = time.monotonic()
    steps.started(name)
    failed = True
    try:
        yield lambda text: steps.said(name, text)
        failed = False
    finally:
        steps.ended(name, time.monotonic() - begin, failed=failed, note="")


def show(data: Any, *, as_json: bool, text: Callable[[], None], error: LabError | None = None) -> None:
    """A command's result: `data` for programs, `text` for people; then the error that it ends with.

    Also when its reader has gone, as in `lab verify orders | head -1`: how it ends is part of the result.
    """
    if not as_json:
        with suppress(SystemExit):  # Rich's own end then
            text()
        if error is not None:
            raise error
        return
    body = data if error is None else {**data, **_told(error)}
    raw(json.dumps(body, indent=2, default=_plain) + "\n")
    if error is not None:  # the one object has it all
        raise typer.Exit(error.exit_code)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """A table, or one line saying that there is nothing; numbers, and None, are aligned to the right."""
    if not rows:
        results.print(f"[bold]{escape(title)}[/bold]: {escape(empty)}", soft_wrap=True)
        return
    results.print(f"[bold]{escape(title)}[/bold]", soft_wrap=True)  # a Table would fold it to its own width
    grid = Table(box=None, pad_edge=False, header_style="dim")
    for position, column in enumerate(columns):
        numeric = all(isinstance(row[position], int | float | None) for row in rows)
        grid.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(_cell(cell)) for cell in row))
    results.print(grid)


def _cell(value: object) -> str:
    return number(value) if value is None or isinstance(value, int) else str(value)


def number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def line(text: str) -> None:
    results.print(escape(text), soft_wrap=True)


def raw(text: str) -> None:
    """A document for another program: as it is, whatever the terminal."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # or Python would say so at its end, and give a code of its own
        with suppress(SystemExit):
            results.on_broken_pipe()


@contextmanager
def noted(failed: list[LabError]) -> Iterator[None]:
    """What fails with one of several keeps none of the others from what was asked for."""
    try:
        yield
    except LabError as error:
        failed.append(error)


def first_of(failed: Sequence[LabError]) -> LabError | None:
    """The error that a command ends with; the others are told before."""
    for error in failed[1:]:
        remark(error.message)
    return failed[0] if failed else None


def remark(text: str) -> None:
    """Something to know about a result; talk, so that it never gets into a document."""
    talk.print(f"[dim]note:[/dim] {escape(text)}", soft_wrap=True)


def suggest(command: str, why: str) -> None:
    """The command that most people want next; talk, not a result."""
    talk.print(f"[dim]next:[/dim] [bold]{escape(command)}[/bold] [dim]{escape(why)}[/dim]", soft_wrap=True)


def complain(error: LabError, *, as_json: bool) -> None:
    """Two lines: what, and what to do."""
    if as_json:
        raw(json.dumps(_told(error), indent=2) + "\n")
        return
    talk.print(f"[red]error:[/red] {escape(error.message)}", soft_wrap=True)
    if error.hint:
        talk.print(f"[yellow]hint:[/yellow] {escape(error.hint)}", soft_wrap=True)


def _told(error: LabError) -> dict[str, object]:
    return {"error": error.message, "hint": error.hint, "exit_code": error.exit_code}


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def terminal_option() -> list[str]:
    """Compose allocates a terminal for `exec` unless told not to; in a pipe there is none."""
    return [] if sys.stdin.isatty() and sys.stdout.isatty() else ["-T"]


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal for what takes its time; elsewhere one line when it starts."""
    if not talk.is_terminal:
        talk.print(f"… {what}", markup=False, soft_wrap=True)
        yield lambda done: None
        return
    with Progress(
        *Progress.get_default_columns(), TextColumn("{task.completed:,}"), console=talk, transient=True
    ) as bar:
        task = bar.add_task(escape(what), total=total)
        yield lambda done: bar.update(task, completed=done)
