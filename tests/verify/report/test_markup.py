"""Nothing from outside becomes markup."""

import xml.etree.ElementTree as ET

import pytest

from lab.verify.report.markup import el, join, words


def test_an_element_is_written_as_it_is() -> None:
    assert el("text", words("a & b"), x=1.25, y=2.0, class_="unit", text_anchor="end", id=None) == (
        '<text x="1.2" y="2" class="unit" text-anchor="end">a &amp; b</text>'
    )


def test_a_void_element_has_no_end() -> None:
    assert el("meta", name="viewport", content="x") == '<meta name="viewport" content="x">'


@pytest.mark.parametrize("quote", ['"', "'", "<", ">", "&"])
def test_attributes_are_escaped(quote: str) -> None:
    assert ET.fromstring(el("g", id=f"a{quote}b")).attrib == {"id": f"a{quote}b"}  # noqa: S314 - our own


@pytest.mark.parametrize("code", [0x00, 0x08, 0x0B, 0x1F, 0x7F, 0x9F, 0x202E, 0x2066, 0xD800, 0xFFFE, 0xFFFF])
def test_what_cannot_be_shown_stands_as_its_code(code: int) -> None:
    shown = words(f"a{chr(code)}b")

    assert shown == f"a\\u{code:04x}b"
    assert shown.encode()


def test_other_writing_is_kept() -> None:
    assert words("größer 注文 🙂\n") == "größer 注文 🙂\n"


def test_long_text_is_cut_before_it_is_escaped() -> None:
    assert words("<<<<", at_most=3) == "&lt;&lt;…"


def test_join_escapes_what_stands_between() -> None:
    assert join([words("a"), words("b")], "<") == "a&lt;b"
