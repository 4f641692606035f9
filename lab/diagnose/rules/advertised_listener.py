"""A broker sends MM2 to an address that MM2 cannot reach: its advertised listener is not for MM2.

The first connection works, since that address is MM2's own choice; Kafka's clients number such nodes below
zero. The nodes that brokers tell of are numbered as brokers are.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.places import addresses

_SAID: Final = re.compile(
    r"Connection to node (?P<id>\d+) \((?P<host>[^/()\s]*)/?(?P<ip>[^()\s]*?):(?P<port>\d+)\) could not be "
    r"established|Error connecting to node (?P<name>[^\s:]+):(?P<at>\d+) \(id: (?P<node>\d+)"
)
_LOOPBACK: Final = re.compile(r"localhost|127\.|::1|0\.0\.0\.0")


def look(seen: Observation) -> Iterator[Finding]:
    given = {address for address, _ in addresses(seen)}
    told: set[str] = set()
    for said in seen.said(_SAID):
        match = said.match
        host = match["host"] or match["ip"] or match["name"]
        address = f"{host}:{match['port'] or match['at']}"
        service = seen.service(host)
        # A broker that MM2 was told of, or that is one of the lab's, is down: that is another trouble.
        if address in given or (service is not None and not service.runs) or address in told:
            continue
        told.add(address)
        itself = ": that is MM2's own machine" if _LOOPBACK.match(host) else ""
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=f"a broker sends MM2 to {address}, where nobody answers{itself}",
            evidence=(str(said), f"MM2 was given {', '.join(sorted(given)) or 'other addresses'}"),
            remedy="give the broker an advertised.listeners that MM2 can resolve and reach, or let MM2 "
            "use the "
            "listener that has one (bootstrap.servers)",
        )
