"""A connector was told to rest, and still does: it mirrors nothing, and fails nowhere."""

from collections.abc import Iterator

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation


def look(seen: Observation) -> Iterator[Finding]:
    for deployed in seen.deployed:
        status = deployed.status
        if status is not None and status.at_rest:
            yield Finding(
                likelihood=Likelihood.POSSIBLE,
                what=f'connector "{status.name}" is {status.state}',
                evidence=(str(status),),
                remedy="let it go on, unless somebody wants it so",
                commands=(f"lab mm2 resume {status.name}",),
            )
