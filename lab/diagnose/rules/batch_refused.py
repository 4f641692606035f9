"""A topic takes less than MM2's producer sends at once: the batch is split and refused again, for ever.

The producer splits it into batches of `batch.size`, which are as large as the one that was refused. Nothing
fails: the task is RUNNING, and only the log tells.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation, Said

_SAID: Final = re.compile(
    r"on topic-partition (?P<topic>\S+)-\d+, splitting and retrying .*Error: MESSAGE_TOO_LARGE"
)
_GOES_ON: Final = 10  # times; of a batch that is only a little too large a few splits are enough
_STILL: Final = timedelta(seconds=5)


def look(seen: Observation) -> Iterator[Finding]:
    by_topic: dict[str, list[Said]] = {}
    for said in seen.said(_SAID):
        by_topic.setdefault(said.match["topic"], []).append(said)
    for topic, its in by_topic.items():
        newest = its[0]
        if len(its) < _GOES_ON or not newest.service.is_recent(newest.entry, _STILL):
            continue
        yield Finding(
            likelihood=Likelihood.LIKELY,
            what=f'topic "{topic}" refuses the batches of MM2\'s producer, which splits them and sends them '
            "again for ever; nothing more arrives there",
            evidence=(str(newest), f"{len(its)} times in the last 30 s"),
            remedy=f'raise max.message.bytes of "{topic}" to that of the source topic, and above the '
            "producer's batch.size (16,384 by default). If records do not flow then, restart the task, or a "
            "dedicated MM2: the thread of its producer may have ended",
            commands=tuple(f"lab mm2 restart {name}" for name in _connectors(seen, newest)),
        )


def _connectors(seen: Observation, said: Said) -> Iterator[str]:
    if not seen.properties:
        yield from (one.name for one in seen.deployed if one.name == said.entry.connector)
