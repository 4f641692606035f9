"""Where the files of a lab's security are, who may read them, and how the lab's own clients use them.

Everything is readable by one user only, the one that the containers run as. `material.py` makes the files.
"""

import os
from pathlib import Path
from typing import Final

from lab import client_properties, leases
from lab.client_properties import ClientProperties
from lab.errors import LabError

USER: Final = "token"  # as IBM's Event Streams calls whoever shows an API key
CLIENTS: Final = "clients"
KEY_STORE: Final = "keystore.pem"
_IMAGES_USER: Final = 1000  # in the lab's own images


def folder(lab: str) -> Path:
    return leases.env_file(lab).parent / "security"


def certified_at(lab: str, service: str) -> float:
    """When the service's certificate was made, in seconds since 1970."""
    return (folder(lab) / service / KEY_STORE).stat().st_mtime


def settings(lab: str) -> dict[str, str]:
    """For Compose: the folder that is mounted, and the user who can read it."""
    return {"LAB_SECURITY": str(folder(lab)), "LAB_USER": str(_reader())}


def client(lab: str, protocol: str) -> ClientProperties:
    """How the lab's own clients speak to a listener of that protocol."""
    if protocol == "PLAINTEXT":
        return ClientProperties()
    place = folder(lab)
    try:
        properties = {
            "security.protocol": protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": (place / "ca.crt").read_text(),
        }
        if protocol == "SASL_SSL":
            properties |= login(secrets(place)["api.key"])
    except OSError as error:
        raise LabError(
            f"{error.filename}: {error.strerror}", f'"lab up TOPOLOGY --name {lab}" makes it anew'
        ) from error
    found, problems = client_properties.translate(properties, place)
    if problems:
        raise AssertionError(problems)
    return found


def secrets(place: Path) -> dict[str, str]:
    return client_properties.parse((place / CLIENTS / "secrets.properties").read_text())


def login(api_key: str) -> dict[str, str]:
    """What a client says of itself."""
    line = client_properties.login_line("PLAIN", USER, api_key)
    return {"sasl.mechanism": "PLAIN", "sasl.jaas.config": line}


def _reader() -> int:
    """The user in the containers who can read what the lab's user wrote for nobody else; never root."""
    return os.getuid() or _IMAGES_USER


def write(path: Path, text: str, *, owned: bool = True) -> None:
    write_bytes(path, text.encode(), owned=owned)


def write_bytes(path: Path, content: bytes, *, owned: bool = True) -> None:
    """Never readable by others, not even for a moment; all at once."""
    path.parent.mkdir(exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    if os.getuid() == 0 and owned:
        os.chown(temporary, _reader(), -1)
        if path.parent.name != "security":
            os.chown(path.parent, _reader(), -1)
    temporary.replace(path)
