"""Certificates and secrets of a lab: made for it alone, in files that others cannot read.

files.py         where they are, who may read them, how the lab's own clients use them
material.py      they are made, and renewed when old
certificates.py  an authority, and what it signs
"""

from datetime import datetime

from lab.security.files import certified_at, client, folder, settings
from lab.topology import Topology

__all__ = ["certified_at", "client", "folder", "settings", "write"]


def write(lab: str, topology: Topology, *, now: datetime | None = None) -> None:
    """What a topology with secured listeners needs before its containers start; of others nothing."""
    if not topology.secured:
        return
    from lab.security import material  # it loads `cryptography`, which no other lab should wait for

    material.write(lab, topology, now=now)
