"""A broker's certificate was signed by an authority that MM2's trust store does not have."""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.places import cluster_of

_SAID: Final = re.compile(
    r"PKIX path building failed|unable to find valid certification path"
    r"|PKIX path validation failed(?!.*\n?.*Certificate(?:Expired|NotYetValid))"
    r"|trustAnchors parameter must be non-empty"
)
_OF_DATES: Final = re.compile(r"Certificate(?:Expired|NotYetValid)Exception")


def look(seen: Observation) -> Iterator[Finding]:
    found = [said for said in seen.said(_SAID) if not _OF_DATES.search(said.entry.whole)]
    for said in found[:1]:
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=f"MM2 does not trust the certificate of {cluster_of(seen, said)}: its authority is not "
            f"in the "
            "trust store",
            evidence=(str(said),),
            remedy="put the certificate of that cluster's authority into the trust store that ssl.truststore."
            "location names (keytool -import -file ca.crt …), or point bootstrap.servers at the right "
            "cluster; "
            "then restart MM2",
        )
