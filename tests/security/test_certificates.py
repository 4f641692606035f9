"""lab.security.certificates: what is signed is what TLS clients accept, and nothing else is."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import SSLContext, SSLError

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from lab.security import certificates
from lab.security.certificates import Signed

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=90)
HOSTS = ("broker", "localhost", "127.0.0.1")


@pytest.fixture(scope="module")
def authority() -> Signed:
    return certificates.authority("lab x", now=NOW, valid=timedelta(days=365))


def verify(leaf: Signed, by: Signed, *, host: str = "broker", at: datetime = NOW) -> None:
    verifier = PolicyBuilder().store(Store([by.certificate])).time(at)
    verifier.build_server_verifier(x509.DNSName(host)).verify(leaf.certificate, [])


def test_a_client_that_trusts_the_authority_accepts_the_server(authority: Signed) -> None:
    leaf = certificates.issue(authority, HOSTS, now=NOW, until=LATER)

    verify(leaf, authority)
    verify(leaf, authority, host="localhost")
    assert certificates.hosts_of(leaf.certificate) == set(HOSTS)


@pytest.mark.parametrize("how", ["another authority", "another name", "too late", "too early"])
def test_a_client_refuses_what_is_not_in_order(authority: Signed, how: str) -> None:
    leaf = certificates.issue(authority, HOSTS, now=NOW, until=LATER)
    stranger = certificates.authority("somebody else", now=NOW, valid=timedelta(days=365))
    asked = {
        "another authority": {"by": stranger},
        "another name": {"by": authority, "host": "elsewhere.example"},
        "too late": {"by": authority, "at": LATER + timedelta(seconds=1)},
        "too early": {"by": authority, "at": NOW - timedelta(days=1)},
    }[how]

    with pytest.raises(VerificationError):
        verify(leaf, **asked)  # type: ignore[arg-type]


def test_an_expired_certificate_can_be_made() -> None:
    yesterday = NOW - timedelta(days=1)
    authority = certificates.authority("lab x", now=NOW - timedelta(days=2), valid=timedelta(days=365))
    leaf = certificates.issue(authority, HOSTS, now=NOW, until=yesterday)

    verify(leaf, authority, at=yesterday - timedelta(minutes=5))
    with pytest.raises(VerificationError):
        verify(leaf, authority)


def test_a_key_store_is_one_file_that_openssl_loads(tmp_path: Path, authority: Signed) -> None:
    from ssl import PROTOCOL_TLS_SERVER

    path = tmp_path / "keystore.pem"
    path.write_text(certificates.issue(authority, HOSTS, now=NOW, until=LATER).key_store_pem)

    SSLContext(PROTOCOL_TLS_SERVER).load_cert_chain(path)

    path.write_text(authority.key_pem)
    with pytest.raises(SSLError):
        SSLContext(PROTOCOL_TLS_SERVER).load_cert_chain(path)


def test_what_was_written_can_be_read_again(authority: Signed) -> None:
    read = Signed.read(authority.certificate_pem, authority.key_pem)

    assert read.certificate == authority.certificate
    assert read.key_pem == authority.key_pem
    assert load_pem_private_key(read.key_pem.encode(), None)


def test_the_trust_store_opens_with_its_password_only(authority: Signed) -> None:
    store = certificates.trust_store(authority.certificate, "right")

    assert [c.certificate for c in load_pkcs12(store, b"right").additional_certs] == [authority.certificate]
    with pytest.raises(ValueError, match="password"):
        load_pkcs12(store, b"wrong")
