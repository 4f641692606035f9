"""A broker, a worker or MM2 itself does not run. What made it end is another rule's to say."""

from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import MM2, Observation

_KINDS: Final = (*MM2, "broker", "controller", "zookeeper")
_KILLED: Final = 137


def look(seen: Observation) -> Iterator[Finding]:
    for service in seen.services:
        if service.runs or service.kind not in _KINDS:
            continue
        paused = service.state == "paused"
        ended = f"exit code {service.exit_code}" + (", killed" if service.exit_code == _KILLED else "")
        last = [f"its last words: {entry.shown}" for entry in service.entries[-1:]]
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=f"{service.name} is {service.state}" + ("" if paused else f" ({ended})"),
            evidence=(f"{service.name} is {service.state}", *last),
            remedy="docker unpause its container: it neither works nor fails"
            if paused
            else "see what it said last, mend that, and start it again",
            commands=() if paused else (f"lab logs {service.name}", seen.up),
        )
