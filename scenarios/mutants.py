"""Documents with one mistake each: a field that nobody knows, or something else than a place takes."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lab.export.documents import Document

UNKNOWN: Final = "canary"
# What anybody may write into: there no field is unknown, and few values are wrong.
_FREE: Final = ("config", "labels", "data", "stringData")
_Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Mutant:
    document: Document
    place: str  # of the mistake, e.g. "spec.clusters[0].tls.canary"


def unknown_fields(document: Document) -> Iterator[Mutant]:
    """One in each mapping, at every level."""
    for path in _paths(document):
        if isinstance(_at(document, path), dict) and not _is_free(path):
            mutant = copy.deepcopy(document)
            _at(mutant, path)[UNKNOWN] = "x"
            yield Mutant(mutant, _named((*path, UNKNOWN)))


def wrong_types(document: Document) -> Iterator[Mutant]:
    """A list for a mapping, a mapping for anything else, a number for a text, a text for a number."""
    for path in _paths(document):
        for wrong in _wrong(_at(document, path)) if path else ():
            mutant = copy.deepcopy(document)
            _at(mutant, path[:-1])[path[-1]] = wrong
            yield Mutant(mutant, _named(path))


def _wrong(value: object) -> Iterator[object]:
    yield ["x"] if isinstance(value, dict) else {"x": 1}
    if isinstance(value, str):
        yield 7
    if isinstance(value, int):  # a bool too
        yield from ("x", str(value).lower())


def _paths(node: object, path: _Path = ()) -> Iterator[_Path]:
    yield path
    if isinstance(node, dict) and not _is_free(path):
        for key, value in node.items():
            yield from _paths(value, (*path, key))
    if isinstance(node, list):
        for number, value in enumerate(node):
            yield from _paths(value, (*path, number))


def _is_free(path: _Path) -> bool:
    return bool(path) and path[-1] in _FREE


def _at(document: Document, path: _Path) -> Any:
    found: Any = document
    for part in path:
        found = found[part]
    return found


def _named(path: _Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]
