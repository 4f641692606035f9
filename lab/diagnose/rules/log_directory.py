"""A process may not write where it keeps its log: MM2's own log file, or a broker's data.

MM2 and Connect run on without the file. A broker whose only data folder fails ends.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import MM2, Observation

_FILE: Final = re.compile(
    r"mkdir: cannot create directory ['‘]?(?P<made>[^'’:]+)['’]?: "  # noqa: RUF001 - as mkdir quotes
    r"|setFile\(null,\s?true\) call failed\.(?:\s.*)?\s.*FileNotFoundException: (?P<file>\S+) \("
    r"|Unable to create file (?P<other>\S+)"
    r"|FileNotFoundException: (?P<plain>\S+\.log) \((?:Permission denied|No such file|Read-only)"
)
_DATA: Final = re.compile(
    r"(?:because all log dirs in|Failed to create or validate data directory|Unable to read .*in log "
    r"directory"
    r"|in (?:log )?dir(?:ectory)?|Stopping serving logs in dir) (?P<dir>/\S+?)[,.]?(?:\s|$)(?s:.*)"
    r"(?P<why>AccessDenied|Permission denied|Read-only|have failed|No space left)"
    r"|Shutdown broker because all log dirs in (?P<all>\S+) have failed"
)
_BROKER: Final = ("broker", "controller")


def look(seen: Observation) -> Iterator[Finding]:
    for said in seen.said(_FILE, within=None)[:1]:
        path = next(filter(None, said.match.groups()), "its log")
        yield Finding(
            likelihood=Likelihood.CERTAIN,
            what=f"{said.service.name} cannot write its log to {path}; it runs on without that file",
            evidence=(str(said),),
            remedy="name a folder that it may write to, e.g. export LOG_DIR=/tmp/logs, and restart it",
            commands=_commands(seen, said.service.kind),
        )
    for said in seen.said(_DATA, by=_BROKER, within=None)[:1]:
        path = said.match["dir"] or said.match["all"]
        yield Finding(
            likelihood=Likelihood.POSSIBLE if said.service.runs else Likelihood.CERTAIN,
            what=f"{said.service.name} cannot write its data to {path}",
            evidence=(str(said), f"{said.service.name} is {said.service.state}"),
            remedy=f"give {path} back to the user of the broker, with room on its disk, and start the broker",
        )


def _commands(seen: Observation, kind: str) -> tuple[str, ...]:
    if kind not in MM2 or "LAB_MM2_LOG_DIR" not in seen.variables:
        return ()
    return (f"{seen.up} --set LAB_MM2_LOG_DIR=/tmp/logs",)
