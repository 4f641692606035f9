"""python -m lab.faults FILE SECONDS: undoes the fault of a file of the journal when its time is up."""

import sys
from contextlib import suppress
from pathlib import Path

import lab.faults  # noqa: F401 - whose inverses are known from here on
from lab.faults.journal import Entry
from lab.faults.limit import READY, keep


def main() -> None:
    path, seconds = sys.argv[1:]
    with suppress(BrokenPipeError):  # who started it may be dead already: then it is needed most
        print(READY, flush=True)  # noqa: T201
    keep(Entry(Path(path)), float(seconds))


if __name__ == "__main__":
    main()
