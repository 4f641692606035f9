"""lab.security: which files a lab gets, who may read them, when they are made anew."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab import leases, security, topology
from lab.client_properties import parse, read
from lab.errors import LabError
from lab.security import certificates
from lab.security.certificates import Signed
from lab.security.material import RENEW, VALID

NOW = datetime.now(UTC)
BROKERS = ["kafka1", "kafka2", "kafka3", "source-1", "source-2", "source-3"]


@pytest.fixture
def secured() -> topology.Topology:
    return topology.load("dedicated-tls")


def write(secured: topology.Topology, now: datetime = NOW) -> None:
    leases.env_file("x").parent.mkdir(parents=True, exist_ok=True)
    security.write("x", secured, now=now)


def files() -> dict[str, bytes]:
    place = security.folder("x")
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


def test_a_topology_without_secured_listeners_gets_nothing() -> None:
    security.write("x", topology.load("basic-mirror"))
    assert not security.folder("x").exists()


def test_every_broker_gets_a_certificate_of_its_own(secured: topology.Topology) -> None:
    write(secured)

    stores = {broker: files()[f"{broker}/keystore.pem"].decode() for broker in BROKERS}
    assert len(set(stores.values())) == len(BROKERS)
    for broker, store in stores.items():
        signed = Signed.read(store, store)
        assert certificates.hosts_of(signed.certificate) == {broker, "localhost", "127.0.0.1"}


def test_nobody_else_may_read_anything(secured: topology.Topology) -> None:
    write(secured)

    place = security.folder("x")
    assert {p.stat().st_mode & 0o777 for p in place.rglob("*") if p.is_file()} == {0o600}
    assert {p.stat().st_mode & 0o777 for p in (place, *place.rglob("*")) if p.is_dir()} == {0o700}


def test_the_authority_s_key_is_in_no_folder_that_is_mounted(secured: topology.Topology) -> None:
    write(secured)

    key = files()["ca.key"]
    assert [name for name, content in files().items() if key.strip() in content] == ["ca.key"]


def test_what_is_good_stays(secured: topology.Topology) -> None:
    write(secured)
    before = files()

    write(secured, NOW + VALID - RENEW - timedelta(hours=1))

    assert files() == before


def test_what_will_soon_be_old_is_renewed_by_the_same_authority(secured: topology.Topology) -> None:
    write(secured)
    before = files()

    write(secured, NOW + VALID - RENEW + timedelta(hours=1))

    after = files()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {f"{broker}/keystore.pem" for broker in BROKERS}


def test_a_certificate_is_as_old_as_its_file(secured: topology.Topology) -> None:
    """Whoever began to run before that shows an older one."""
    write(secured)
    stores = {broker: security.folder("x") / broker / "keystore.pem" for broker in BROKERS}
    for store in stores.values():
        os.utime(store, (1_000, 1_000))
    stores[BROKERS[0]].unlink()

    write(secured)

    assert security.certified_at("x", BROKERS[0]) > 1_000
    assert [security.certified_at("x", broker) for broker in BROKERS[1:]] == [1_000] * (len(BROKERS) - 1)


def test_an_authority_that_will_soon_be_none_is_made_anew_with_all_that_hangs_on_it(
    secured: topology.Topology,
) -> None:
    write(secured)
    before = files()

    write(secured, NOW + timedelta(days=300))
    after = files()
    assert before["clients/truststore.jks"] != after["clients/truststore.jks"]
    assert after["ca.crt"] == after["kafka1/ca.crt"] == after["clients/ca.crt"]


def test_two_labs_share_no_secret(secured: topology.Topology) -> None:
    write(secured)
    mine = parse((security.folder("x") / "clients/secrets.properties").read_text())
    leases.env_file("y").parent.mkdir(parents=True)
    security.write("y", secured)

    theirs = parse((security.folder("y") / "clients/secrets.properties").read_text())
    assert mine.keys() == theirs.keys() == {"truststore.password", "api.key"}
    assert not {*mine.values()} & {*theirs.values()}


def test_tools_find_a_file_for_each_secured_listener(secured: topology.Topology) -> None:
    write(secured)

    tools = {name for name in files() if name.startswith("clients/") and name.endswith(".properties")}
    assert tools == {
        *("clients/source-tls.properties", "clients/source-sasl.properties", "clients/source.properties"),
        *("clients/target-tls.properties", "clients/target-sasl.properties", "clients/secrets.properties"),
    }
    sasl = parse(files()["clients/source-sasl.properties"].decode())
    assert sasl["bootstrap.servers"] == "source-1:9093,source-2:9093,source-3:9093"
    assert 'username="token"' in sasl["sasl.jaas.config"]


def test_the_exporter_s_file_is_one_that_the_lab_can_read(secured: topology.Topology) -> None:
    write(secured)

    found = read(security.folder("x") / "clients/source.properties")

    assert found.java == security.client("x", "SSL").java
    assert found.librdkafka["ssl.ca.pem"].strip() == files()["ca.crt"].decode().strip()


def test_the_lab_s_own_clients_log_in(secured: topology.Topology) -> None:
    write(secured)

    found = security.client("x", "SASL_SSL").librdkafka
    api_key = parse(files()["clients/secrets.properties"].decode())["api.key"]
    assert (found["security.protocol"], found["sasl.username"]) == ("SASL_SSL", "token")
    assert found["sasl.password"] == api_key
    assert api_key in files()["source-1/broker.properties"].decode()
    assert not security.client("x", "PLAINTEXT").librdkafka


def test_an_impostor_gets_certificates_that_nobody_should_trust(secured: topology.Topology) -> None:
    write(secured.with_profile("impostor"))

    flawed = {name: files()[f"impostor/{name}.pem"].decode() for name in ("expired", "stranger", "misnamed")}
    read_back = {name: Signed.read(pem, pem).certificate for name, pem in flawed.items()}
    assert read_back["expired"].not_valid_after_utc < NOW
    assert read_back["stranger"].issuer != read_back["expired"].issuer
    assert certificates.hosts_of(read_back["misnamed"]) == {"elsewhere.example"}
    assert not Path(security.folder("x") / "source-1/expired.pem").exists()


def test_clients_of_a_lab_without_its_files_are_told_what_to_do() -> None:
    with pytest.raises(LabError, match="No such file") as told:
        security.client("x", "SSL")

    assert told.value.hint == '"lab up TOPOLOGY --name x" makes it anew'
