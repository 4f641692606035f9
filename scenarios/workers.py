"""Connect's workers: started again with another setting, and which of them does not lead the group."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lab import client_properties
from lab.harness import Lab, Wish
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until

PROPERTIES = "/etc/kafka-connect/kafka-connect.properties"


@contextmanager
def workers_with(lab: Lab, variable: str, value: str, *, key: str) -> Iterator[None]:
    """For as long as the block, with another value of a variable, which is `key` in their files."""
    (before,) = _values(lab, key)
    try:
        _start_again(lab, variable, value, key)
        yield
    finally:
        _start_again(lab, variable, before, key)


def _start_again(lab: Lab, variable: str, value: str, key: str) -> None:
    topology = lab.topology.name
    wish = Wish(topology=topology, name=lab.name, kafka=lab.kafka_version, variables={variable: value})
    Lab.up(wish).close()
    assert _values(lab, key) == {value}


def _values(lab: Lab, key: str) -> set[str]:
    """Of all workers."""
    files = (lab.shell(worker, f"cat {PROPERTIES}") for worker in lab.topology.workers)
    return {client_properties.parse(file)[key] for file in files}


def follower(lab: Lab, connector: str) -> str:
    """The worker that does not lead the group; each of two has one of the connector's two tasks.

    A worker that has just started joins the group later than it answers, and is then given its share.
    """
    workers = lab.topology.workers

    def observe() -> bool | NotYet:
        on = sorted(task.worker for task in lab.connect.status(connector).tasks)
        return on == sorted(f"{worker}:8083" for worker in workers) or NotYet(f"tasks on {on}")

    wait_until(observe, timeout_s=RECORDS_ARRIVE_S, what="each worker has one of the tasks")
    leader = re.findall(r"leaderUrl='http://([\w-]+):8083/'", lab.project.logs(workers[0]))[-1]
    return next(worker for worker in workers if worker != leader)
