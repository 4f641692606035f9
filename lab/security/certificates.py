"""A certificate authority of a lab's own, and what it signs, as PEM.

Elliptic curve keys: made in a millisecond, and every TLS version that Kafka speaks takes them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_BACKDATED: Final = timedelta(hours=1)  # clocks of containers and hosts differ


@dataclass(frozen=True)
class Signed:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def key_store_pem(self) -> str:
        """As Kafka reads it with ssl.keystore.type=PEM."""
        return self.key_pem + self.certificate_pem

    @classmethod
    def read(cls, certificate_pem: str, key_pem: str) -> "Signed":
        key = load_pem_private_key(key_pem.encode(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("not a key of the lab's own making")
        return cls(x509.load_pem_x509_certificate(certificate_pem.encode()), key)


def authority(name: str, *, now: datetime, valid: timedelta) -> Signed:
    """One that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name)
    certificate = (
        _begun(subject, subject, key.public_key(), now, now + valid)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Signed(certificate, key)


def issue(by: Signed, hosts: tuple[str, ...], *, now: datetime, until: datetime) -> Signed:
    """A certificate for a server under these names and addresses; clients may use it as theirs too."""
    key = ec.generate_private_key(ec.SECP256R1())
    authority_key = by.key.public_key()
    certificate = (
        _begun(_subject(hosts[0]), by.certificate.subject, key.public_key(), min(now, until), until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general(host) for host in hosts]), critical=False)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
            critical=False,
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key), critical=False)
        .sign(by.key, hashes.SHA256())
    )
    return Signed(certificate, key)


def hosts_of(certificate: x509.Certificate) -> set[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


def trust_store(certificate: x509.Certificate, password: str) -> bytes:
    """A store that Java opens as JKS or as PKCS12, with the one certificate under the alias "root"."""
    encryption = BestAvailableEncryption(password.encode())
    return pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(certificate, b"root")], encryption)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(until)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "mirror-lab"),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
