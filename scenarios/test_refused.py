"""What is not in order with TLS or a password is refused, never sidestepped, and `lab diagnose` names it.

Claim: a client does not speak to a broker whose certificate is expired, signed by a stranger, or for
another host; a broker does not speak to a client with a wrong password or without TLS. Neither falls back
to anything weaker. MM2 with such a file mirrors nothing, and ends at once where its worker for heartbeats
belongs to that cluster. Without one it goes on, with the tasks of the last file that was in order, and
complains. `lab diagnose` names the trouble first or second either way; with what it advises the records
that were written meanwhile arrive.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.harness import Lab, ending
from lab.run import Run
from lab.wait import RECORDS_ARRIVE_S
from scenarios.dedicated import DEFAULT, FILES, changed, restart, start_with
from scenarios.diagnosing import Doctor, flows, send, there

pytestmark = pytest.mark.topology("dedicated-tls")

TOPIC, REMOTE = "orders", "source.orders"
MM2, IN_ORDER = "mirror-maker", "impostor:9092"
TLS, SASL = "/run/secrets/source-tls.properties", "/run/secrets/source-sasl.properties"
WRONG = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="{user}" password="guessed";'
)
AT = "--bootstrap-server"
# how a tool tries it, and what it is told
TOOLS = {
    "expired": (f"{AT} impostor:9101 --command-config {TLS}", "CertificateExpiredException"),
    "wrong-ca": (f"{AT} impostor:9102 --command-config {TLS}", "PKIX path building failed"),
    "wrong-name": (f"{AT} impostor:9103 --command-config {TLS}", "No subject alternative DNS name matching"),
    "wrong-password": (f"{AT} source-1:9093 --command-config /tmp/wrong.properties", "Authentication failed"),
    # it may take what TLS answers for the size of a record, for which there is no memory
    "without-tls": (f"{AT} source-1:9092", "disconnected|OutOfMemoryError"),
}
SASL_FILE = FILES / "es-to-local.properties"
QUIET = {"target->source.emit.heartbeats.enabled": "false"}
Changes = Mapping[str, str | None]
# of MM2: the rule that must name it; the file, and two ways to go wrong with it
TROUBLES: Mapping[str, tuple[str, Path, Changes, Changes]] = {
    "expired": (
        "certificate_expired",
        DEFAULT,
        {"source.bootstrap.servers": "impostor:9101"},
        {"source.bootstrap.servers": "impostor:9101", **QUIET},
    ),
    "wrong-ca": (
        "certificate_authority",
        DEFAULT,
        {"source.bootstrap.servers": "impostor:9102"},
        {"source.ssl.truststore.location": None, "source.ssl.truststore.password": None, **QUIET},
    ),
    "wrong-name": (
        "certificate_name",
        DEFAULT,
        {"source.bootstrap.servers": "impostor:9103"},
        {"source.bootstrap.servers": "impostor:9103", **QUIET},
    ),
    "wrong-password": (
        "password",
        SASL_FILE,
        {"source.sasl.jaas.config": WRONG.format(user="token")},
        {"source.sasl.jaas.config": WRONG.format(user="nobody"), **QUIET},
    ),
    "without-tls": (
        "security_protocol",
        DEFAULT,
        {"source.security.protocol": "PLAINTEXT"},
        {"target.security.protocol": "SSL", "target.ssl.truststore.location": "/home/truststore.jks"},
    ),
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
    said = lab.shell(MM2, f"timeout 30 kafka-topics.sh {options} --list 2>&1; echo exit code $?")
    assert re.search(told, said), said
    assert not said.endswith("exit code 0")


@pytest.mark.parametrize("how", TROUBLES)
def test_mm2_mirrors_nothing_and_diagnose_says_why(lab: Lab, run: Run, file: Path, how: str) -> None:
    doctor = Doctor(lab)
    flows(lab, TOPIC, REMOTE)
    doctor.says_nothing()
    arrived = there(lab, REMOTE)

    rule, base, first, second = TROUBLES[how]
    changed(base, first, file)
    restart(lab)
    sent = send(lab, TOPIC)
    doctor.says(rule)
    assert there(lab, REMOTE) == arrived

    # Without a worker of that cluster's own MM2 starts the tasks that it had before, from its configs' topic.
    changed(base, second, file)
    restart(lab)
    doctor.says(rule)

    changed(DEFAULT, {}, file)
    restart(lab)
    lab.target.wait_for_records(REMOTE, at_least=sent, timeout_s=RECORDS_ARRIVE_S)
