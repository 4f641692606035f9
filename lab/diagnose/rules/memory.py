"""Connect ran out of memory: its tasks buffer whole fetches of both sides, 50 MB each by default."""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import MM2, Observation, Service

_SAID: Final = re.compile(r"OutOfMemoryError: (?P<of>Java heap space|GC overhead limit exceeded|[^\n(]+)")
_HEAP: Final = {"connect": "LAB_CONNECT_HEAP", "mirror-maker": "LAB_MM2_HEAP"}
_ANSWER_OF_TLS: Final = "network.NetworkReceive"  # taken for the size of an answer: there is enough memory
_SHARE: Final = 2 / 3  # of a container's memory is heap; the rest is for threads, buffers and the agent
_MB: Final = 2**20


def look(seen: Observation) -> Iterator[Finding]:
    for service in seen.services:
        said = [
            s
            for s in seen.said(_SAID, within=None)
            if s.service is service and _ANSWER_OF_TLS not in s.entry.whole
        ]
        if service.kind not in MM2 or not (service.oom_killed or said):
            continue
        limit = f"the container's limit of {service.memory_bytes // _MB:,} MB"
        lacking = f"more than {limit}, and was killed for it" if service.oom_killed else said[0].match["of"]
        yield Finding(
            likelihood=Likelihood.LIKELY if service.runs else Likelihood.CERTAIN,
            what=f"{service.name} ran out of memory: {lacking}",
            evidence=(
                f"{service.name} is {service.state}, exit code {service.exit_code}",
                *(str(s) for s in said[:1]),
            ),
            remedy="give it a heap that holds the fetches of all its tasks and fits into its container "
            "(KAFKA_HEAP_OPTS), or let it fetch less (source.consumer.fetch.max.bytes, max.poll.records)",
            commands=_commands(seen, service),
        )


def _commands(seen: Observation, service: Service) -> tuple[str, ...]:
    variable = _HEAP[service.kind]
    if variable not in seen.variables:
        return ()
    heap_mb = int(service.memory_bytes * _SHARE) // _MB
    return (f"{seen.up} --set {variable}=-Xmx{heap_mb}m",)
