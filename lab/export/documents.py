"""YAML documents as Kubernetes' tools take them, written and read."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from lab.errors import BadInput

Document = Mapping[str, Any]


class _Dumper(yaml.SafeDumper):
    """Lists stand below their key with an indent, and texts of several lines as they are."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def write(documents: Sequence[Document]) -> str:
    """One stream of documents, as `kubectl apply -f -` reads it."""
    return "---\n".join(
        yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
        for document in documents
    )


def read(text: str) -> list[Document]:
    try:
        found = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise BadInput(f"not YAML: {' '.join(str(error).split())}", "mend the document") from error
    if not all(isinstance(document, dict) for document in found):
        raise BadInput("a document is not a mapping", "each begins with apiVersion and kind")
    return found


def named(name: str) -> str:
    """As Kubernetes takes names of objects: lower-case letters, digits, - and dots."""
    letters = (
        letter if (letter.isascii() and letter.isalnum()) or letter in ".-" else "-" for letter in name
    )
    return "".join(letters).lower().strip(".-") or "mm2"
