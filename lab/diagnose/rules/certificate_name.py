"""A broker's certificate is good, and for another host than the one that MM2 asked for."""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.places import cluster_of

_SAID: Final = re.compile(
    r"No subject alternative (?:DNS )?names? (?:matching (?:IP address )?(?P<host>\S+) found|present)"
    r"|No name matching (?P<name>\S+) found"
)


def look(seen: Observation) -> Iterator[Finding]:
    for said in seen.said(_SAID)[:1]:
        host = said.match["host"] or said.match["name"] or "that host"
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=f'the certificate of {cluster_of(seen, said)} is not for the name "{host}"',
            evidence=(str(said),),
            remedy="ask for the broker by a name that is in its certificate (bootstrap.servers, and the "
            "broker's advertised.listeners), or issue one with this name; then restart MM2",
        )
