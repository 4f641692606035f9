"""MM2 and a listener do not speak the same security protocol: one with TLS or a password, the other without.

A broker with TLS hangs up on a plain client at its first request, and the client only says that it was
disconnected; or it takes what TLS answers for the size of an answer, and has no memory for that much. The
other way round the client gets an answer that is no TLS.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation
from lab.diagnose.places import cluster_of

_HUNG_UP: Final = re.compile(
    r"Cancelled in-flight API_VERSIONS request .*due to node -?\d+ being disconnected"
)
_NO_TLS: Final = re.compile(
    r"Unsupported or unrecognized SSL message|SSL peer shut down incorrectly"
    r"|terminated during authentication\. This may happen due to .*Firewall blocking Kafka TLS traffic"
)
_NO_SASL: Final = re.compile(
    r"Unexpected handshake request with client mechanism|Unexpected Kafka request of type METADATA "
    r"during SASL"
    r"|IllegalSaslStateException"
)
_AS_A_SIZE: Final = re.compile(r"OutOfMemoryError(?:.*\n)+?.*network\.NetworkReceive")
_OFTEN: Final = 3  # a broker that is stopped hangs up too, on each client once


def look(seen: Observation) -> Iterator[Finding]:
    for pattern, told in (
        (_NO_TLS, "MM2 speaks TLS to {cluster}, which answers without"),
        (_NO_SASL, "MM2 and {cluster} do not agree on SASL"),
        (_AS_A_SIZE, "a cluster answers MM2 with TLS, which it takes for the size of an answer"),
        (_HUNG_UP, "{cluster} hangs up on MM2's first request: it wants TLS or a login, and MM2 has none"),
    ):
        said = seen.said(pattern)
        if len(said) < (_OFTEN if pattern is _HUNG_UP else 1):
            continue
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=told.format(cluster=cluster_of(seen, said[0])),
            evidence=(str(said[0]), f"{len(said)} times in the last 30 s"),
            remedy="give MM2 the protocol of the listener that it was pointed at (security.protocol: "
            "PLAINTEXT, "
            "SSL or SASL_SSL), or the address of another listener; then restart MM2",
        )
        return
