"""Are the ports that the lab would publish on 127.0.0.1 free?"""

from typing import Final

from lab.leases import port_is_free
from lab.setup.finding import Finding, Status, Wanted

LOOPBACK: Final = "127.0.0.1"


def check_ports(wanted: Wanted) -> Finding:
    """A taken port blocks only when the user asked for just that one: the lab leases others."""
    if not wanted.ports:
        return Finding(name="ports", status=Status.OK, found="none asked for", needed="none")
    needed = f"free on {LOOPBACK}: {', '.join(str(port) for port in wanted.ports)}"
    taken = [port for port in wanted.ports if not port_is_free(port)]
    if not taken:
        return Finding(name="ports", status=Status.OK, found="all free", needed=needed)
    found = f"taken: {', '.join(str(port) for port in taken)}"
    remedy = f"ss -ltnp 'sport = :{taken[0]}'"  # shows who holds it
    if wanted.ports_fixed:
        return Finding(name="ports", status=Status.MISSING, found=found, needed=needed, remedy=remedy)
    found += " (the lab leases others instead)"
    return Finding(name="ports", status=Status.NOTE, found=found, needed=needed, remedy=remedy)
