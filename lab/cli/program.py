"""Assembles the commands, and turns every way in which one can end into an exit code."""

import os
from importlib import import_module
from typing import Final

import typer
from typer.exceptions import TyperException

from lab.cli import console
from lab.errors import BadInput, Interrupted, LabError
from lab.project import REGISTRY, registry

# Loading all of them, with the clients that they use, would take longer than most commands.
COMMANDS: Final = {
    "labs": ("list", "up", "logs", "open", "down", "prune", "exec"),
    "status": ("status",),
    "data": ("topics", "produce", "consume"),
    "host": ("doctor", "images"),
    "verify": ("verify",),
    "lag": ("lag",),
    "internals": ("checkpoints", "offset-syncs", "heartbeats"),
    "groups": ("groups",),
    "sync_offsets": ("sync-offsets",),
    "diagnose": ("diagnose",),
    "bench": ("bench",),
    "runs": ("runs", "report"),
    "mm2": ("mm2",),
    "faults": ("fault",),
}


def program(command: str = "") -> typer.Typer:
    """The program with the module of one command, or with all if it is in none of them."""
    app = typer.Typer(
        help="Real Kafka clusters with MirrorMaker 2 on one machine, to learn on, to break, and to verify.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(lambda: None)  # with this a single command keeps its name
    for module in [name for name, its in COMMANDS.items() if command in its] or COMMANDS:
        import_module(f"lab.cli.{module}").register(app)
    return app


def exit_code(arguments: list[str]) -> int:
    """Run one command; every error that a user can cause becomes two lines and a code."""
    if prefix := registry():  # Compose puts it right before an image's name
        os.environ[REGISTRY] = prefix
    # What follows `exec` belongs to another program.
    as_json = "--json" in arguments and arguments[0] != "exec"
    try:
        app = program(arguments[0] if arguments else "")
        code = app(arguments, prog_name="lab", standalone_mode=False)
    except LabError as error:
        console.complain(error, as_json=as_json)
        return error.exit_code
    except typer.Exit as exit_:
        return int(exit_.exit_code)
    except TyperException as error:
        if not _usage(error).message:  # help was asked for by giving nothing, and has been printed
            return BadInput.exit_code
        console.complain(_usage(error), as_json=as_json)
        return BadInput.exit_code
    except (KeyboardInterrupt, typer.Abort):
        console.complain(Interrupted("interrupted"), as_json=as_json)
        return Interrupted.exit_code
    except SystemExit:  # typer's own end when the reader has gone, as in `lab topics | head`
        return 0
    return code if isinstance(code, int) else 0


def _usage(error: TyperException) -> BadInput:
    told = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lab"
    return BadInput(" ".join(told.split()).rstrip("."), f'"{command} --help" shows what it takes')
