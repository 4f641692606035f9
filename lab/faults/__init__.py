"""Faults: ways of breaking a lab on purpose, each of which proves that it happened, and that it ended.

    contract.py    inject, heal: what every fault goes through
    fault.py       what a fault is; FaultNotObserved, FaultNotPossible
    inverse.py     what undoes one, as data        journal.py    where that is written down before
    limit.py       the process that undoes it when its time is up, whoever was killed
    victims.py     whom it hits        probes.py    whether something answers, and how quickly
    containers.py  sidecar.py  link.py  topics.py    what several faults have in common
    packets.py  disk.py  topic_limit.py    what undoes a partition, a full disk, a limit of records

Each other file is one fault.
"""

from typing import Final

from lab.faults.contract import Injected, clear, heal, inject, wait_until_in_sync
from lab.faults.cut_link import CutLink
from lab.faults.delete_records import DeleteRecords
from lab.faults.disk_full import DiskFull
from lab.faults.fault import Act, Fault, FaultNotObserved, FaultNotPossible, Ground, Mark
from lab.faults.journal import Entry, Span, entries, open_entries, spans
from lab.faults.kill import Kill
from lab.faults.narrow_link import NarrowLink
from lab.faults.partition import Partition
from lab.faults.pause import Pause
from lab.faults.recreate_topic import RecreateTopic
from lab.faults.refuse_records import RefuseRecords
from lab.faults.reset_link import ResetLink
from lab.faults.restart import Restart
from lab.faults.slow_link import SlowLink
from lab.faults.stop import Stop
from lab.faults.victims import Brokers, Controller, Leader, Service, Services, Victim, WorkerOf, Workers

FAULTS: Final[dict[str, type[Fault]]] = {
    fault.name: fault
    for fault in (
        *(Kill, Stop, Pause, Restart, Partition, SlowLink, NarrowLink, CutLink, ResetLink),
        *(DiskFull, DeleteRecords, RecreateTopic, RefuseRecords),
    )
}

__all__ = [
    "FAULTS",
    "Act",
    "Brokers",
    "Controller",
    "CutLink",
    "DeleteRecords",
    "DiskFull",
    "Entry",
    "Fault",
    "FaultNotObserved",
    "FaultNotPossible",
    "Ground",
    "Injected",
    "Kill",
    "Leader",
    "Mark",
    "NarrowLink",
    "Partition",
    "Pause",
    "RecreateTopic",
    "RefuseRecords",
    "ResetLink",
    "Restart",
    "Service",
    "Services",
    "SlowLink",
    "Span",
    "Stop",
    "Victim",
    "WorkerOf",
    "Workers",
    "clear",
    "entries",
    "heal",
    "inject",
    "open_entries",
    "spans",
    "wait_until_in_sync",
]
