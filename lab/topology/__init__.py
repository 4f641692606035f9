"""What exists in a lab: services, ports, clusters, workers. Read once from compose/<name>/, then frozen.

Compose YAML holds the containers, its extension key `x-lab` the roles. Everything that follows from
the containers (addresses, ports, memory) is derived from them here and written down nowhere else.
Clusters that the lab did not start are named by their addresses instead; nothing of them is derived.

    model.py     Topology: frozen data, and what follows from it
    roles.py     the key `x-lab`
    services.py  the services, with what they extend
    document.py  a YAML file
    files.py     a topology's folder: read and checked as a whole
"""

from lab.topology.files import load, names, read
from lab.topology.model import (
    LINK,
    MM2_DIGEST,
    MM2_PROPERTIES,
    Port,
    Service,
    Topology,
    TopologyError,
    interpolate,
)
from lab.topology.roles import External, Roles

__all__ = [
    "LINK",
    "MM2_DIGEST",
    "MM2_PROPERTIES",
    "External",
    "Port",
    "Roles",
    "Service",
    "Topology",
    "TopologyError",
    "interpolate",
    "load",
    "names",
    "read",
]
