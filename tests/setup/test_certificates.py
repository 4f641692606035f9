"""Builds get the bundle that the user named, else the host's own."""

from lab.setup.certificates import bundle_of, check_certificates
from lab.setup.finding import Status

from .conftest import Machine

PEM = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
HOSTS_OWN = "etc/ssl/certs/ca-certificates.crt"


def test_the_hosts_own_bundle_is_found(machine: Machine) -> None:
    path = machine.write(HOSTS_OWN, PEM * 2)
    finding = check_certificates(machine.host)
    assert bundle_of(machine.host) == path
    assert (finding.status, finding.found) == (Status.OK, f'"{path}", 2 certificates')


def test_the_named_bundle_comes_first(machine: Machine) -> None:
    machine.write(HOSTS_OWN, PEM)
    first, second = machine.write("a.pem", PEM), machine.write("b.pem", PEM)
    machine.change(env={"REQUESTS_CA_BUNDLE": str(second)})
    assert bundle_of(machine.host) == second
    machine.change(env={"REQUESTS_CA_BUNDLE": str(second), "SSL_CERT_FILE": str(first)})
    assert bundle_of(machine.host) == first


def test_a_named_bundle_that_holds_nothing_is_passed_over_and_said(machine: Machine) -> None:
    own = machine.write(HOSTS_OWN, PEM)
    machine.change(env={"SSL_CERT_FILE": str(machine.root / "gone.pem")})
    finding = check_certificates(machine.host)
    assert bundle_of(machine.host) == own
    assert (finding.status, finding.remedy) == (Status.NOTE, "unset SSL_CERT_FILE")


def test_no_bundle_at_all_is_a_note(machine: Machine) -> None:
    assert bundle_of(machine.host) is None
    assert check_certificates(machine.host).status is Status.NOTE
