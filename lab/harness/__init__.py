"""Lab: a running topology, the one object that a scenario holds. One file per concept:

lab.py       Lab: up, attach, and what one does with a lab that is up
settings.py  what a lab was started with, kept in its lease
coming.py    a lab comes up: images, services, answers from outside
parts.py     what is reached of a lab: clusters, Connect, Spark, containers, addresses, connectors
flows.py     what verification must know of a lab
overview.py  what `lab status` shows
observing.py what a diagnosis looks at, of a lab or of a saved run
exporting.py what an export needs of a running lab
breaking.py  faults of a lab: made, proved, undone; while one is open, other things wait
contents.py  what a lab holds, and how what was added goes again
ending.py    a lab goes away, its evidence saved before
"""

from lab.harness.coming import build_images
from lab.harness.ending import bring_down, forget, prune, save_evidence, stop_profile
from lab.harness.endpoints import Endpoint
from lab.harness.lab import Lab, Wish
from lab.harness.parts import PROJECT_PREFIX

__all__ = [
    "PROJECT_PREFIX",
    "Endpoint",
    "Lab",
    "Wish",
    "bring_down",
    "build_images",
    "forget",
    "prune",
    "save_evidence",
    "stop_profile",
]
