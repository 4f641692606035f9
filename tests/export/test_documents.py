"""lab.export.documents: YAML as kubectl takes it."""

import pytest

from lab.errors import BadInput
from lab.export import documents


@pytest.mark.parametrize(
    "text", ["yes", "1", "0x1f", "null", "1e3", "~", "a: b", "# c", "", " x", "é", "12:30"]
)
def test_texts_stay_texts(text: str) -> None:
    assert documents.read(documents.write([{"kind": text}])) == [{"kind": text}]


def test_texts_of_several_lines_are_readable() -> None:
    written = documents.write([{"data": {"a.properties": "b=c\nd=e\n"}}, {"kind": "x"}])

    assert written == "data:\n  a.properties: |\n    b=c\n    d=e\n---\nkind: x\n"


@pytest.mark.parametrize(
    ("text", "message"), [("a: [", "not YAML"), ("- a\n", "a document is not a mapping")]
)
def test_what_is_no_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        documents.read(text)


@pytest.mark.parametrize(
    ("name", "its"), [("source", "source"), ("US_East.1", "us-east.1"), ("-a-", "a"), ("ü", "mm2")]
)
def test_names_are_such_as_kubernetes_takes(name: str, its: str) -> None:
    assert documents.named(name) == its
