"""Can the engine still make a network? Address pools run out after about thirty.

Counting networks would be a guess, since pools are configurable and routes of the host (a VPN) take
addresses too. So one is made and removed; its label lets `lab prune` find it if this process dies
in between.
"""

import json
from typing import Final
from uuid import uuid4

from lab.setup.finding import Finding, Status
from lab.setup.host import Host
from lab.setup.reach import Reach, Reached

LABEL: Final = "io.mirror-lab"
NEEDED: Final = "the engine can make a network"
NO_ADDRESSES: Final = "address pool"  # "could not find an available, non-overlapping IPv4 address pool …"


def check_networks(host: Host, reached: Reached) -> Finding:
    """Make a network and remove it."""
    if reached.reach is not Reach.ANSWERS or not reached.endpoint.is_direct:
        found = "not tried: the engine cannot be asked directly"
        return Finding(name="networks", status=Status.NOTE, found=found, needed=NEEDED)
    name = f"mirror-lab-probe-{uuid4().hex[:8]}"
    request = json.dumps({"Name": name, "Labels": {LABEL: "true"}})
    try:
        made = host.ask(reached.endpoint, "POST", "/networks/create", body=request, timeout_s=3)
    except OSError as error:
        found = f"a network could not be made: {error}"
        return Finding(name="networks", status=Status.MISSING, found=found, needed=NEEDED, remedy="lab prune")
    if made.status != 201:
        remedy = "docker network prune" if NO_ADDRESSES in made.message else "look into the log of the engine"
        found = f"a network could not be made: {made.message}"
        return Finding(name="networks", status=Status.MISSING, found=found, needed=NEEDED, remedy=remedy)
    try:
        gone = host.ask(reached.endpoint, "DELETE", f"/networks/{name}", timeout_s=3).status == 204
    except OSError:
        gone = False
    if not gone:
        found = f'network "{name}" was made and could not be removed'
        return Finding(name="networks", status=Status.NOTE, found=found, needed=NEEDED, remedy="lab prune")
    return Finding(name="networks", status=Status.OK, found="one made and removed", needed=NEEDED)
