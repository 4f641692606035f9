"""Which bundle of CA certificates the image builds get.

Where TLS is inspected on the way, the inspecting CA is in the host's own bundle, so builds get that.
Whether it is so on this host need not be known.
"""

from pathlib import Path
from typing import Final

from lab.setup.finding import Finding, Status
from lab.setup.host import Host

VARIABLES: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
# Debian and its kin; Fedora and its kin; macOS and Alpine.
PLACES: Final = (
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ssl/cert.pem",
)
NEEDED: Final = "a readable bundle for builds behind a TLS-inspecting proxy"


def _count(path: Path) -> int:
    """How many certificates it holds; 0 when it cannot be read."""
    try:
        return path.read_bytes().count(b"-----BEGIN CERTIFICATE-----")
    except OSError:
        return 0


def bundle_of(host: Host) -> Path | None:
    """The first of the named and the usual files that holds a certificate."""
    named = [Path(host.env[variable]) for variable in VARIABLES if host.env.get(variable)]
    return next((path for path in (*named, *(host.root / place for place in PLACES)) if _count(path)), None)


def ca_bundle() -> Path | None:
    """The bundle that image builds get as a secret, or None: then they keep their own."""
    return bundle_of(Host())


def check_certificates(host: Host) -> Finding:
    """Never blocks: on an open network the images' own certificates do."""
    bundle = bundle_of(host)
    unusable = [v for v in VARIABLES if host.env.get(v) and not _count(Path(host.env[v]))]
    found = f'"{bundle}", {_count(bundle)} certificates' if bundle else "none: builds trust their own list"
    if unusable:
        found = f'{unusable[0]} names "{host.env[unusable[0]]}", which holds no certificate; used: {found}'
        remedy = f"unset {unusable[0]}"
        return Finding(name="CA bundle", status=Status.NOTE, found=found, needed=NEEDED, remedy=remedy)
    if bundle is None:
        remedy = "install the package ca-certificates"
        return Finding(name="CA bundle", status=Status.NOTE, found=found, needed=NEEDED, remedy=remedy)
    return Finding(name="CA bundle", status=Status.OK, found=found, needed=NEEDED)
