"""What the lab needs of its host: the doctor's checks, and the mends for a Debian machine."""

from lab.setup.certificates import ca_bundle
from lab.setup.examine import examine
from lab.setup.finding import Finding, Status, Wanted
from lab.setup.mend import mend
from lab.setup.ready import engine_address, require_engine, require_memory
from lab.setup.registry import registry_answers

__all__ = [
    "Finding",
    "Status",
    "Wanted",
    "ca_bundle",
    "engine_address",
    "examine",
    "mend",
    "registry_answers",
    "require_engine",
    "require_memory",
]
