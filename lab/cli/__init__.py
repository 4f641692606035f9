"""The command `lab`: parses arguments, calls the harness, prints, and decides the exit code.

Nothing below this package prints or exits. Signals are handled before anything else is imported,
which takes half a second.
"""

import sys
from typing import Final

from lab.interruption import ignore_interruptions, treat_sigterm_as_ctrl_c

_NEVER_HALF: Final = ("down", "prune")  # two seconds each; stopped in the middle they would leave the rest


def main(argv: list[str] | None = None) -> None:
    """Run one command and exit with its code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] and arguments[0] in _NEVER_HALF:
        ignore_interruptions()
    else:
        treat_sigterm_as_ctrl_c()
    try:
        from lab.cli.program import exit_code

        sys.exit(exit_code(arguments))
    except KeyboardInterrupt:  # while importing; later ones are told in words
        sys.exit(130)
