"""A dedicated MM2 that was killed still calls itself RUNNING in its topics, and `lab up` does not believe it.

Claim: `lab up` starts the node again, and ends when each connector says RUNNING of itself anew. One that ends
soon after its start fails `up` with the reason. It is made anew when its file has changed, and not else. A
broker whose certificate `lab up` has renewed shows the new one, though its container ran already and though
the lab was not whole.
"""

import ssl
import time
from pathlib import Path

import pytest

from lab import security
from lab.engine import EngineError
from lab.harness import Lab
from lab.mm2_status import Status
from lab.run import Run
from scenarios.dedicated import DEFAULT, changed, start_with

pytestmark = pytest.mark.topology("dedicated-tls")


def running(statuses: list[Status]) -> set[str]:
    return {status.name for status in statuses if status.state == "RUNNING"}


def test_what_a_killed_node_wrote_is_not_believed(lab: Lab) -> None:
    start_with(lab, DEFAULT)  # of a lab that was just restored MM2 is on its way
    wanted = {connector.name for connector in lab.deployed()}
    assert running(lab.statuses()) >= wanted
    lab.project.kill("mirror-maker")
    killed_ms = int(time.time() * 1000)
    assert running(lab.statuses()) >= wanted, "nobody takes back what it wrote"
    assert running(lab.dedicated.statuses(since_ms=killed_ms)) == set()

    start_with(lab, DEFAULT)

    assert running(lab.dedicated.statuses(since_ms=killed_ms)) >= wanted


def test_a_node_that_ends_at_once_is_told(lab: Lab, run: Run) -> None:
    """Its JVM opens the port that the health check looks at before MM2 has begun."""
    with pytest.raises(EngineError, match=r'^lab "[^"]+" did not come up: .*mirror-maker') as caught:
        start_with(lab, DEFAULT, LAB_MM2_HEAP="-Xmx16m -XX:+ExitOnOutOfMemoryError")
    run.save("told.txt", f"{caught.value.message}\n{caught.value.hint}\n")
    assert "what is there of it was kept" in (caught.value.hint or "")

    start_with(lab, DEFAULT, LAB_MM2_HEAP="-Xms128m -Xmx768m")
    assert running(lab.statuses()) >= {connector.name for connector in lab.deployed()}


def test_a_file_that_was_edited_is_read_by_the_next_up(lab: Lab, tmp_path: Path) -> None:
    path = changed(DEFAULT, {}, tmp_path / "edited.properties")

    def made_anew() -> set[str]:
        before = {box.service: box.id for box in lab.containers()}
        start_with(lab, path)
        return {box.service for box in lab.containers() if before[box.service] != box.id}

    assert made_anew() == {"mirror-maker", "exporter"}
    assert made_anew() == set()
    changed(DEFAULT, {"refresh.topics.interval.seconds": "7"}, path)
    assert made_anew() == {"mirror-maker", "exporter"}


BROKERS = ("source-1", "source-2", "source-3")


def shown(lab: Lab) -> list[str]:
    """The certificate that each broker of the source shows."""
    places = [lab.address(broker).partition(":") for broker in BROKERS]
    return [ssl.get_server_certificate((host, int(port))) for host, _, port in places]


def test_a_renewed_certificate_is_shown(lab: Lab) -> None:
    start_with(lab, DEFAULT)
    before = shown(lab)
    ran = {box.service: box.id for box in lab.containers()}
    (security.folder(lab.name) / "source-2" / "keystore.pem").unlink()
    lab.project.kill("exporter")

    start_with(lab, DEFAULT)

    after = shown(lab)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert {box.service: box.id for box in lab.containers()} == ran
    start_with(lab, DEFAULT)
    assert shown(lab) == after, "it is renewed once"
