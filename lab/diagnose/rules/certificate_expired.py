"""A broker shows a certificate that is no longer valid, or not yet: no client speaks to it."""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.places import cluster_of

_SAID: Final = re.compile(
    r"CertificateExpiredException: (?P<when>NotAfter: .+)|CertificateNotYetValidException: "
    r"(?P<from>NotBefore: .+)"
)


def look(seen: Observation) -> Iterator[Finding]:
    for said in seen.said(_SAID)[:1]:
        since = said.match["when"] or said.match["from"]
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=f"the certificate of {cluster_of(seen, said)} is not valid now ({since})",
            evidence=(str(said),),
            remedy="renew the broker's certificate and restart the broker, or mend the clock of whichever is "
            "wrong; then restart MM2",
        )
