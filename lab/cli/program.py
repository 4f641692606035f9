"""Assembles the commands, and turns every way in which one can end into an exit code."""

import typer
from typer.exceptions import TyperException

from lab.cli import bench, console, data, host, labs, lag, mm2, runs, verify
from lab.errors import BadInput, Interrupted, LabError

app = typer.Typer(
    help="Real Kafka clusters with MirrorMaker 2 on one machine, to learn on, to break, and to verify.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
labs.register(app)
data.register(app)
host.register(app)
verify.register(app)
lag.register(app)
bench.register(app)
runs.register(app)
app.add_typer(mm2.app, name="mm2", help="MM2's connectors on Connect.")


def exit_code(arguments: list[str]) -> int:
    """Run one command; every error that a user can cause becomes two lines and a code."""
    # What follows `exec` belongs to another program.
    as_json = "--json" in arguments and arguments[0] != "exec"
    try:
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
