"""What can go wrong that the user can act on, and the exit code that each kind ends with.

    LabError          1  it did not work, or a claim is broken
    ├── BadInput      2  refused before anything was created
    ├── NotEnough     3  not enough evidence to judge
    ├── HostNotReady  4  the host lacks something; `lab doctor` says what to do
    └── Interrupted 130  Ctrl-C or SIGTERM, after cleaning up

Such an error is two lines on stderr: the message (what), the hint (what to do). Anything else that
escapes is a bug of the lab and keeps its traceback.
"""

from typing import ClassVar


class LabError(Exception):
    """It did not work, or a claim is broken."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(LabError):
    """The user asked for something that cannot be; nothing was created."""

    exit_code = 2


class NotEnough(LabError):
    """There is not enough evidence to say PASS or FAIL."""

    exit_code = 3


class HostNotReady(LabError):
    """The machine lacks something that the lab needs."""

    exit_code = 4


class Interrupted(LabError):
    """Ctrl-C or SIGTERM arrived and what had been started was removed."""

    exit_code = 130


def nearest(name: str, known: list[str], *, more: str = "") -> str:
    """A hint for a mistyped name: the closest known one, or all of them; then `more`."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f'did you mean "{close[0]}"? {more}'.rstrip()
    return f"known: {', '.join(sorted(known)) or 'none'}" + (f"; {more}" if more else "")
