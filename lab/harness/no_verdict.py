"""What fails while a topic is judged leaves no verdict: it must never end with the exit code of FAIL."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lab.errors import BadInput, HostNotReady, Interrupted, LabError, NotEnough
from lab.run import Run


@contextmanager
def no_verdict_if_it_fails(doing: str, run: Run | None = None) -> Iterator[None]:
    """Spark or a cluster that fails, and a defect of the lab, mean "not enough evidence", exit code 3."""
    try:
        yield
    except (BadInput, NotEnough, HostNotReady, Interrupted):
        raise
    except LabError as error:
        hint = error.hint or '"lab status" shows clusters and workers; verify again'
        raise NotEnough(error.message, hint) from error
    except Exception as error:
        message = f"{type(error).__name__}: {next(iter(str(error).splitlines()), 'no message')}"
        raise NotEnough(f"{doing} failed: {message}", f"{_where(run)}; verify again") from error


def _where(run: Run | None) -> str:
    if run is not None:
        with suppress(OSError):  # the disk may be full, and be what failed
            saved = run.save_another("traceback.txt", traceback.format_exc())
            return f"this may be a defect of the lab: its traceback is in {saved}"
    return "this may be a defect of the lab: report it with the command"
