"""Assembles the commands, and turns every way in which one can end into an exit code."""

import os
from importlib import import_module
from typing import Annotated, Any, Final

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

# The help shows commands under these titles; by module.
PANELS: Final = {
    "Labs": ("labs", "status"),
    "Records": ("data", "lag"),
    "MM2": ("mm2", "internals", "groups", "sync_offsets"),
    "Proof and trouble": ("verify", "diagnose", "faults", "runs", "bench"),
    "This machine": ("host",),
}

_HELP: Final = ["-h", "--help"]


class Program(typer.Typer):
    """Typer's, but for a detail of its help: a flag takes no value, so no type is shown beside it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _without_types_of_flags(typer.main.get_command(self))(*args, **kwargs)


def program(command: str = "") -> Program:
    """The program with the module of one command, or with all if it is in none of them."""
    app = Program(
        help="Real Kafka clusters with MirrorMaker 2 on one machine, to learn on, to break, and to verify.",
        no_args_is_help=True,
        context_settings={"help_option_names": _HELP},
    )
    app.callback()(_common)  # with this a single command keeps its name
    one = [module for module, its in COMMANDS.items() if command in its]
    for title, modules in PANELS.items():
        for module in modules:
            if one in ([], [module]):
                _register(app, module, title)
    return app


def _register(app: typer.Typer, module: str, title: str) -> None:
    commands, groups = len(app.registered_commands), len(app.registered_groups)
    import_module(f"lab.cli.{module}").register(app)
    for made in app.registered_commands[commands:]:
        made.rich_help_panel = title
    for group in app.registered_groups[groups:]:
        group.rich_help_panel = title


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # loads parsers of e-mail, which no other command needs

        console.line(f"mirror-lab {metadata.version('mirror-lab')}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and end.")
    ] = False,
) -> None:
    """What the program takes before a command."""


def _without_types_of_flags(command: Any) -> Any:
    for below in getattr(command, "commands", {}).values():
        _without_types_of_flags(below)
    helping = command.get_help_option(typer.Context(command, help_option_names=_HELP))  # made here, and kept
    for option in (*command.params, helping):
        if getattr(option, "is_bool_flag", False):
            option.metavar = ""
    return command


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
    told = _out_of_range(error) or getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lab"
    return BadInput(" ".join(told.split()).rstrip("."), f'"{command} --help" shows what it takes')


def _out_of_range(error: TyperException) -> str | None:
    """Both ends at once; the library names one, and of "nan" the wrong one."""
    option = getattr(error, "param", None)
    low, high = (getattr(option, end, None) for end in ("min", "max"))
    if option is None or low is None or not hasattr(error, "param_hint"):
        return None
    wanted = f"of {low} or more" if high is None else f"from {low} to {high}"
    return f"Invalid value for '{option.opts[0]}': not a number {wanted}"
