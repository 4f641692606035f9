"""What a fault is: settings that are checked against a lab and give an act, which is done, proved and undone.

The contract, for all faults in `lab.faults.contract`: check → the inverse in the journal, synced → inject →
prove → hold, prove again → undo → prove undone. A fault that cannot be proved raises.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from lab.connect import Connect
from lab.engine import Container, Project
from lab.errors import HostNotReady, NotEnough
from lab.faults.inverse import Inverse
from lab.kafka import Cluster
from lab.topology import Topology


class FaultNotObserved(NotEnough):
    """A fault did not happen, or did not last: what was seen under it says nothing about it."""


class FaultNotPossible(HostNotReady):
    """This machine cannot make the fault, as a probe has found."""


class Ground(Protocol):
    """What a fault asks of a lab."""

    name: str
    topology: Topology
    ports: Mapping[str, int]

    @property
    def project(self) -> Project: ...
    @property
    def connect(self) -> Connect: ...
    def cluster(self, alias: str) -> Cluster: ...
    def containers(self) -> list[Container]: ...
    def require_service(self, service: str) -> None: ...
    def address(self, service: str) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What tells one fault's doings from all others', and when they must be over."""

    id: str
    limit_s: float


class Act(Protocol):
    """A fault aimed at what is there now. Until `inject` nothing has been changed."""

    @property
    def what(self) -> str:
        """In a few words, e.g. "kill kafka-source-1"."""

    @property
    def inverse(self) -> Inverse:
        """What undoes it, whether or not it came to be."""

    def inject(self) -> None: ...

    def prove(self) -> str:
        """What shows that it is in force; raises FaultNotObserved. Asked at its begin and at its end."""


class Fault(Protocol):
    """Settings; its docstring's first line says what it does."""

    name: ClassVar[str]
    images: ClassVar[tuple[str, ...]]  # that it runs something in, by kind
    lasts: ClassVar[bool]  # until it is undone; what happens in a moment is over when it has happened

    def check(self, lab: Ground, mark: Mark) -> Act:
        """Refuse what cannot be, and find what is meant. Changes nothing."""
