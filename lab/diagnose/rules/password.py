"""A cluster refuses MM2's user or password."""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.places import cluster_of

_SAID: Final = re.compile(
    r"SaslAuthenticationException: Authentication failed"
    r"|failed authentication due to: (?:Authentication failed|.*invalid credentials)"
    r"|SaslAuthenticationException: .*invalid credentials"
)


def look(seen: Observation) -> Iterator[Finding]:
    for said in seen.said(_SAID)[:1]:
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=f"{cluster_of(seen, said)} refuses MM2's user or password",
            evidence=(str(said),),
            remedy="mend user name and password of sasl.jaas.config, or the file that it refers to with "
            "${file:…}; an API key may have been revoked. Then restart MM2",
        )
