"""What undoes a fault, as data: written down before the fault is made, and done by whoever comes first.

That may be another process, long after the one that made the fault was killed. So an inverse knows containers
and addresses, never live objects; doing it twice, or before anything was done, is fine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from lab.errors import LabError


class Inverse(ABC):
    """A frozen dataclass of what JSON can hold."""

    kinds: ClassVar[dict[str, type[Inverse]]] = {}

    def __init_subclass__(cls) -> None:
        Inverse.kinds[cls.__name__] = cls

    @abstractmethod
    def undo(self) -> None: ...

    def clear(self) -> None:
        """What of it must be done before a lab starts, which starts what the fault has ended by itself."""
        self.undo()

    @abstractmethod
    def prove(self) -> str:
        """What shows that nothing of the fault is left, waited for; raises LabError."""


@dataclass(frozen=True, kw_only=True)
class Nothing(Inverse):
    """Of what cannot be undone: records that are gone stay gone."""

    why: str

    def undo(self) -> None:
        """There is nothing to do."""

    def prove(self) -> str:
        return f"nothing to undo: {self.why}"


def encode(inverse: Inverse) -> dict[str, Any]:
    return {"kind": type(inverse).__name__, **asdict(inverse)}  # type: ignore[call-overload]


def decode(written: dict[str, Any]) -> Inverse:
    settings = {key: _frozen(value) for key, value in written.items() if key != "kind"}
    try:
        return Inverse.kinds[written["kind"]](**settings)
    except (KeyError, TypeError) as error:
        raise LabError(
            f"a fault's inverse cannot be read: {written}", 'bring the lab down: "lab down"'
        ) from error


def _frozen(value: Any) -> Any:
    """JSON has lists where inverses have tuples."""
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, dict):
        return value
    return tuple(_frozen(part) for part in value)
