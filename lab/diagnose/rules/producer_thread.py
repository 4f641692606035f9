"""The thread of a task's producer ended with an error: the task is RUNNING, and sends nothing any more.

An exception fails the task; an error such as a stack that overflows ends the thread, and nobody asks for it.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation, Said

_ENDED: Final = re.compile(
    r"Uncaught exception in thread 'kafka-producer-network-thread \| [^']+'"
    r"(?:.|\n)*?\b(?P<error>[\w.]+(?:Error|Exception))"
)
_CREATED: Final = "Creating task "  # said of a task that starts, also again


def look(seen: Observation) -> Iterator[Finding]:
    for said in reversed(seen.said(_ENDED, within=None)):
        if _began_again(said):
            continue
        name, error = said.entry.connector, said.match["error"].rpartition(".")[2]
        whose = f'a task of connector "{name}"' if name else "a task"
        yield Finding(
            likelihood=Likelihood.CERTAIN,
            what=f"{whose} is RUNNING and sends nothing any more: its producer's thread ended with {error}",
            evidence=(str(said),),
            remedy="restart the task, or a dedicated MM2; what it had not sent comes then, some of it twice",
            commands=() if seen.properties or not name else (f"lab mm2 restart {name}",),
        )


def _began_again(said: Said) -> bool:
    entries = said.service.entries
    later = entries[entries.index(said.entry) + 1 :]
    return any(e.connector == said.entry.connector and e.text.startswith(_CREATED) for e in later)
