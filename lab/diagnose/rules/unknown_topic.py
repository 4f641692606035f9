"""MM2's clients are told UNKNOWN_TOPIC_OR_PARTITION again and again.

For a few seconds it is nothing: a topic was just created, or a leader is being elected. Otherwise one of
three: the topic is not there, nobody leads its partitions, or MM2 is sent to another cluster than the one
it asked for.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from lab.diagnose.finding import Finding, Likelihood
from lab.diagnose.observation import Observation, Said

_SAID: Final = re.compile(
    r"(?P<client>Producer|Consumer) clientId=.*(?:[{ ](?P<topic>[\w.-]+)=(?:UNKNOWN_TOPIC_OR_PARTITION|"
    r"LEADER_NOT_AVAILABLE)|unknown topic or partition error in fetch for partition (?P<fetched>[\w.-]+)-\d)"
)
_GOES_ON: Final = timedelta(seconds=5)  # clients ask again ten times a second
_AT_TARGET: Final = (
    "somebody deleted it. MM2 creates topics of the target when it looks for topics: restart it, or wait for "
    "refresh.topics.interval.seconds"
)
_AT_SOURCE: Final = (
    "create it again with as many partitions, or take it out of MM2's topics. Of a topic that is created "
    "again MM2 skips what comes before its old position, unless its offsets are reset"
)


def look(seen: Observation) -> Iterator[Finding]:
    said = seen.said(_SAID)
    for client, topic in dict.fromkeys(map(_what, said)):
        its = [s for s in said if _what(s) == (client, topic)]
        if _goes_on(its):
            yield _judge(seen, topic, "target" if client == "Producer" else "source", its)


def _goes_on(its: list[Said]) -> bool:
    """For seconds, and still. A log that somebody kept may be of lines that were picked out."""
    newest, oldest, until = its[0].entry.at, its[-1].entry.at, its[0].service.until
    if newest is None or oldest is None or until is None:
        return True
    return newest - oldest >= _GOES_ON and until - newest <= _GOES_ON


def _what(said: Said) -> tuple[str, str]:
    return said.match["client"], said.match["topic"] or said.match["fetched"]


def _judge(seen: Observation, topic: str, side: str, its: list[Said]) -> Finding:
    evidence = (str(its[0]), f"{len(its)} times in the last 30 s")
    of_side = [
        one.connector.source_alias if side == "source" else one.connector.target_alias
        for one in seen.deployed
    ]
    cluster = next((seen.clusters[alias] for alias in of_side if alias in seen.clusters), None)
    where = f'cluster "{cluster.alias}"' if cluster is not None else f"MM2's {side}"
    if cluster is None or cluster.error:
        return Finding(
            likelihood=Likelihood.POSSIBLE,
            what=f'{where} does not tell MM2 who leads topic "{topic}"',
            evidence=evidence,
            remedy="see whether the topic is there, whether its partitions have leaders, and whether the "
            "brokers' advertised.listeners lead to the cluster that was meant",
        )
    found = cluster.topics.get(topic)
    if found is None:
        return Finding(
            likelihood=Likelihood.CERTAIN,
            what=f'{where} has no topic "{topic}", and MM2 works on it',
            evidence=evidence,
            remedy=_AT_TARGET if side == "target" else _AT_SOURCE,
            commands=_restart(seen) if side == "target" else (),
        )
    if found.leaderless:
        return Finding(
            likelihood=Likelihood.CERTAIN,
            what=f'nobody leads {found.leaderless} of the {found.partitions} partitions of "{topic}" '
            f"in {where}",
            evidence=evidence,
            remedy="start the brokers that hold the partition's replicas",
            commands=tuple(f"lab logs {s.name}" for s in seen.services if s.kind == "broker" and not s.runs),
        )
    return Finding(
        likelihood=Likelihood.POSSIBLE,
        what=f'{where} has topic "{topic}" with leaders, and MM2 is told otherwise',
        evidence=evidence,
        remedy="if it was just created or a leader was being elected, wait a few seconds. If it goes on, MM2 "
        "speaks to another cluster: see the brokers' advertised.listeners",
    )


def _restart(seen: Observation) -> tuple[str, ...]:
    if seen.properties:
        return ()
    return tuple(f"lab mm2 restart {one.name}" for one in seen.sources)
