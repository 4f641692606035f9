"""What a running lab holds, and how what a scenario added goes again."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from packaging.version import Version

from lab.errors import LabError
from lab.harness.parts import Parts
from lab.kafka import Cluster
from lab.mm2 import HEARTBEATS
from lab.wait import CLUSTER_ANSWERS_S, FORGOTTEN_S, SERVICES_HEALTHY_S, NotYet, wait_until

OFFSETS_CAN_BE_RESET: Final = Version("3.6")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The names of a lab's connectors, and of its topics by cluster."""

    connectors: frozenset[str]
    topics: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, lab: Parts) -> "Contents":
        return cls(
            connectors=frozenset(lab.connect.names() if lab.topology.has_connect else ()),
            topics={alias: frozenset(_topics(lab, alias)) for alias in lab.topology.roles.clusters},
        )


def restore(lab: Parts, before: Contents, *, say: Callable[[str], None]) -> None:
    """Remove the connectors, with their offsets, and the topics that were added since."""
    now = wait_until(
        lambda: Contents.of(lab),
        timeout_s=CLUSTER_ANSWERS_S,
        what="what there is now",
        transient=(LabError,),
        pause_s=1.0,
    )
    failed = _failures(partial(_forget, lab, name) for name in now.connectors - before.connectors)
    for node in lab.topology.mirror_makers:
        lab.project.stop(node)
    failed += _failures(
        partial(_remove_topics, lab.cluster(alias), but=topics, say=say)
        for alias, topics in before.topics.items()
    )
    for node in lab.topology.mirror_makers:
        lab.project.start(node, timeout_s=SERVICES_HEALTHY_S)
    if failed:
        raise failed[0]


def _topics(lab: Parts, alias: str) -> Iterator[str]:
    """Without those of a dedicated MM2, which hold all that it knows and go when all is restored."""
    for topic in lab.cluster(alias).topic_names():
        if not lab.topology.mirror_makers or not topic.endswith((".internal", HEARTBEATS)):
            yield topic


def _remove_topics(cluster: Cluster, *, but: frozenset[str], say: Callable[[str], None]) -> None:
    """Until they stay away: a client that still asks for one makes it again, where brokers create topics
    by themselves, as may a task that Connect calls gone and that has not ended yet.
    """

    def observe() -> bool | NotYet:
        added = [t for t in cluster.topic_names() if t not in but and not t.startswith("__")]
        try:
            cluster.delete_topics(*added)
        except LabError as error:
            say(error.message)
            raise
        return not added or NotYet(f"just deleted: {', '.join(added)}")

    wait_until(
        observe,
        timeout_s=FORGOTTEN_S,
        what=f'cluster "{cluster.alias}" has the topics it had',
        transient=(LabError,),
        pause_s=0.5,
    )


def _forget(lab: Parts, connector: str) -> None:
    if Version(lab.kafka_version) >= OFFSETS_CAN_BE_RESET:
        lab.connect.forget(connector)
    else:  # the name's offsets stay, so no later scenario may use it for a topic of the same name
        lab.connect.delete(connector)


def _failures(actions: Iterable[Callable[[], object]]) -> list[LabError]:
    """Does all of them, whatever becomes of some."""
    failed = []
    for action in actions:
        try:
            action()
        except LabError as error:
            failed.append(error)
    return failed
