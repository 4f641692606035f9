"""What is not in order with TLS or a password is refused, never sidestepped, and `lab diagnose` names it.

Claim: a client does not speak to a broker whose certificate is expired, signed by a stranger, or for another
host; a broker does not speak to a client with a wrong password or without TLS. Neither falls back to anything
weaker. MM2 with such a file mirrors nothing; `lab diagnose` names the trouble first or second; with what it
advises the records that were written meanwhile arrive.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lab.diagnose import diagnose

from lab.harness import Lab, ending, observe
from lab.run import Run
from lab.wait import RECORDS_ARRIVE_S, NotYet, wait_until
from scenarios.dedicated import DEFAULT, FILES, changed, restart, start_with

pytestmark = pytest.mark.topology("dedicated-tls")

TOPIC, REMOTE = "orders", "source.orders"
MM2, IN_ORDER = "mirror-maker", "impostor:9092"
TLS, SASL = "/run/secrets/source-tls.properties", "/run/secrets/source-sasl.properties"
WRONG = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="token" password="guessed";'
)
LOGS_SAY_S, DIAGNOSED_S = 60.0, 10.0
AT = "--bootstrap-server"
# how a tool tries it, and what it is told
TOOLS = {
    "expired": (f"{AT} impostor:9101 --command-config {TLS}", "CertificateExpiredException"),
    "wrong-ca": (f"{AT} impostor:9102 --command-config {TLS}", "PKIX path building failed"),
    "wrong-name": (f"{AT} impostor:9103 --command-config {TLS}", "No subject alternative DNS name matching"),
    "wrong-password": (f"{AT} source-1:9093 --command-config /tmp/wrong.properties", "Authentication failed"),
    "without-tls": (f"{AT} source-1:9092", "disconnected"),
}
# of MM2: the file, what is changed in it, and the rule that must name it
TROUBLES: Mapping[str, tuple[Path, Mapping[str, str | None], str]] = {
    "expired": (DEFAULT, {"source.bootstrap.servers": "impostor:9101"}, "certificate_expired"),
    "wrong-ca": (DEFAULT, {"source.bootstrap.servers": "impostor:9102"}, "certificate_authority"),
    "wrong-name": (DEFAULT, {"source.bootstrap.servers": "impostor:9103"}, "certificate_name"),
    "wrong-password": (
        FILES / "es-to-local.properties",
        {"source.sasl.jaas.config": WRONG},
        "password",
    ),
    "without-tls": (DEFAULT, {"source.security.protocol": "PLAINTEXT"}, "security_protocol"),
}


@pytest.fixture(scope="module")
def file(lab: Lab, run: Run) -> Iterator[Path]:
    """The properties file that is mounted, to be rewritten in place."""
    path = changed(DEFAULT, {}, run.path / "mm2.properties")
    start_with(lab, path, profiles=("impostor",))
    lab.source.create_topic(TOPIC)
    lab.shell(MM2, f'sed \'s/ password="[^"]*"/ password="guessed"/\' {SASL} >/tmp/wrong.properties')
    yield path
    ending.stop_profile(lab.name, "impostor")
    start_with(lab, DEFAULT)


def test_no_listener_of_the_source_is_without_tls(lab: Lab) -> None:
    assert set(lab.topology.protocols("source").values()) == {"SSL", "SASL_SSL"}


@pytest.mark.parametrize("how", TOOLS)
def test_a_tool_is_refused(lab: Lab, file: Path, how: str) -> None:
    listed = f"kafka-topics.sh {AT} {IN_ORDER} --command-config {TLS} --list && echo fine"
    assert lab.shell(MM2, listed).endswith("fine")
    options, told = TOOLS[how]
    # "--list" of what cannot be reached may take a minute to give up; what it logs comes at once
    said = lab.shell(MM2, f"timeout 8 kafka-topics.sh {options} --list 2>&1; echo exit code $?")
    assert told in said
    assert not said.endswith("exit code 0")


@pytest.mark.parametrize("how", TROUBLES)
def test_mm2_mirrors_nothing_and_diagnose_says_why(lab: Lab, file: Path, how: str) -> None:
    arrived = send(lab)
    lab.target.wait_for_records(REMOTE, at_least=arrived, timeout_s=RECORDS_ARRIVE_S)
    assert diagnose(observe(lab)) == []

    base, changes, rule = TROUBLES[how]
    changed(base, changes, file)
    restart(lab)
    sent = send(lab)
    assert rule in wait_until(lambda: first_two(lab, rule), timeout_s=LOGS_SAY_S, what=f"{rule} is diagnosed")
    assert there(lab) == arrived

    changed(DEFAULT, {}, file)
    restart(lab)
    lab.target.wait_for_records(REMOTE, at_least=sent, timeout_s=RECORDS_ARRIVE_S)


def first_two(lab: Lab, wanted: str) -> list[str] | NotYet:
    begin = time.monotonic()
    found = [finding.rule for finding in diagnose(observe(lab))]
    assert time.monotonic() - begin < DIAGNOSED_S
    return found[:2] if wanted in found else NotYet(str(found))


def send(lab: Lab) -> int:
    """One more record; how many there are now."""
    producer = lab.source.producer()
    producer.produce(TOPIC, value=b"order")
    assert producer.flush(30) == 0
    return sum(offsets.end for offsets in lab.source.offsets(TOPIC).values())


def there(lab: Lab) -> int:
    return sum(offsets.end for offsets in lab.target.offsets(REMOTE).values())
